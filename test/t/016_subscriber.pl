# A subscriber's boards: workers of logical replication write to their tables, with
# two-phase commits, row triggers alone, and TRUNCATE.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = lb_node('publisher', "wal_level = logical\nlogical_decoding_work_mem = 64kB", allows_streaming => 'logical');
my $subscriber = lb_node('subscriber', "max_worker_processes = 16\nlogical_decoding_work_mem = 64kB", allows_streaming => 'logical');
$_->start for ($publisher, $subscriber);

# The publisher has no boards, the subscriber no rows.
$publisher->safe_psql('postgres', q{
CREATE TABLE player_scores (player_id bigint PRIMARY KEY, score bigint NOT NULL, updated_at timestamptz NOT NULL DEFAULT '2026-01-01');
CREATE TABLE player_score_windows (player_id bigint, window_key text, score bigint NOT NULL, updated_at timestamptz NOT NULL DEFAULT '2026-01-01',
	PRIMARY KEY (player_id, window_key));
INSERT INTO player_scores SELECT g, (g * 7919) % 201 FROM generate_series(1, 600) g;
INSERT INTO player_score_windows SELECT g, 'weekly:' || g % 7, g * 31 % 50 FROM generate_series(1, 600) g;
CREATE TABLE accounts (account uuid, tank text, score numeric(10,2), PRIMARY KEY (tank, account));
INSERT INTO accounts SELECT md5((g / 3)::text)::uuid, repeat('t', 20 + g % 3) || g, g % 17 * 0.01 FROM generate_series(1, 200) g;
CREATE PUBLICATION p FOR TABLE player_scores, player_score_windows, accounts});
$subscriber->safe_psql('postgres', q{CREATE EXTENSION leaderboard; SELECT lb_create_tables();
CREATE TABLE accounts (account uuid, tank text, score numeric(10,2), PRIMARY KEY (tank, account));
SELECT lb_create_board('accounts', 'accounts', 'account, tank')});
wait_ready($subscriber, 'postgres');
my $connstr = $publisher->connstr . ' dbname=postgres';

# Only a subscription that was made with it has two_phase; with it none streams.
my $n = 0;

sub subscribe
{
	my ($options) = @_;

	$n++;
	$subscriber->safe_psql('postgres',
		"CREATE SUBSCRIPTION s$n CONNECTION '$connstr' PUBLICATION p WITH ($options)");
	$subscriber->wait_for_subscription_sync($publisher, "s$n");
	if ($options =~ /two_phase = on/)
	{
		$publisher->poll_query_until('postgres', "SELECT two_phase FROM pg_replication_slots WHERE slot_name = 's$n'")
		  or die 'two_phase is not on';
	}
	return;
}

sub unsubscribe
{
	$subscriber->safe_psql('postgres', "DROP SUBSCRIPTION s$n");
	return;
}

sub caught_up
{
	$publisher->wait_for_catchup("s$n");
	return;
}

# Everything is right, equal to the publisher's, and by index.
sub look
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $sums = 'SELECT count(*), sum(player_id * score) FROM player_scores UNION ALL'
	  . ' SELECT count(*), sum(player_id * score + length(window_key)) FROM player_score_windows UNION ALL'
	  . ' SELECT count(*), sum(score * ascii(account::text) + length(tank)) FROM accounts';

	right($subscriber, 'postgres', $what);
	is( $subscriber->safe_psql('postgres', q{
			SELECT count(*) FROM (SELECT row(account, tank)::text AS member,
				row_number() OVER (ORDER BY score DESC, account, tank COLLATE "C") AS r FROM accounts) s
			WHERE r IS DISTINCT FROM lb_rank_key(member, 'accounts')}),
		'0', "$what: ranks of accounts are right");
	is($subscriber->safe_psql('postgres', $sums), $publisher->safe_psql('postgres', $sums), "$what: equal to the publisher's");
	return is( $subscriber->safe_psql('postgres', q{
			SELECT lb_stat_reset();
			SELECT count(lb_rank(player_id)) >= 0 FROM player_scores WHERE player_id % 50 = 1;
			SELECT sum(query_reads) FROM lb_stat_board}),
		"\nt\n0", "$what: no read by its query");
}

my %changes = (
	update => 'UPDATE player_scores SET score = score + 17 WHERE player_id % 3 = 1; UPDATE accounts SET score = score + 0.07 WHERE length(tank) = 22',
	all => 'UPDATE player_scores SET score = -score; UPDATE player_scores SET score = 7 - score WHERE player_id < 100',
	delete => 'DELETE FROM player_scores WHERE player_id % 4 = 2; INSERT INTO player_scores SELECT g, g FROM generate_series(2, 300, 4) g;
		DELETE FROM accounts WHERE score < 0.05',
	key => q{UPDATE player_scores SET player_id = player_id + 1000 WHERE player_id % 10 = 5; UPDATE accounts SET tank = tank || 'x' WHERE score > 0.1},
	windows => q{UPDATE player_score_windows SET window_key = 'daily:1' WHERE player_id % 5 = 1; DELETE FROM player_score_windows WHERE window_key = 'weekly:3'},
	subtransactions => q{UPDATE player_scores SET score = 33 WHERE player_id % 9 = 1;
		SAVEPOINT s; DELETE FROM player_scores WHERE player_id < 50; ROLLBACK TO s;
		SAVEPOINT s; UPDATE player_scores SET score = score + 1 WHERE player_id < 50; RELEASE s},
	large => 'INSERT INTO player_scores SELECT g, g % 100 FROM generate_series(2001, 8000) g; UPDATE player_scores SET score = score + 1',
	smaller => 'DELETE FROM player_scores WHERE player_id > 2000',
	truncate => 'TRUNCATE player_score_windows, accounts; INSERT INTO accounts SELECT md5(g::text)::uuid, g, g % 5 FROM generate_series(1, 100) g; INSERT INTO player_score_windows SELECT g, \'tourney:\' || g % 3, g % 9 FROM generate_series(1, 400) g');
my @order = qw(update all delete key windows subtransactions large smaller truncate);

for my $options ('two_phase = on', 'two_phase = off', 'two_phase = off, streaming = on')
{
	$subscriber->safe_psql('postgres', 'TRUNCATE player_scores, player_score_windows, accounts');
	subscribe($options);
	look("$options: copied");

	for my $name (@order)
	{
		my $what = "$options, $name";
		my $crash = $name eq 'delete' && $options =~ /two_phase = on/;
		my $old = $crash ? undef : open_session($subscriber, 'postgres');
		my $look = 'SELECT lb_count(), sum(lb_rank(player_id) * player_id), sum(r * player_id) FROM'
		  . ' (SELECT player_id, row_number() OVER (ORDER BY score DESC, updated_at, player_id) AS r,'
		  . ' count(*) OVER () AS n FROM player_scores WHERE score < 1000000000) s WHERE player_id % (n / 300 + 1) = 0';

		$old->query('BEGIN ISOLATION LEVEL REPEATABLE READ') if $old;
		my $before = $old ? $old->query($look) : undef;
		$publisher->safe_psql('postgres', "BEGIN; $changes{$name}; ROLLBACK");
		if ($options =~ /two_phase = on/)
		{
			my $has = q{SELECT count(*) FROM pg_prepared_xacts};

			$publisher->safe_psql('postgres', "BEGIN; $changes{$name}; PREPARE TRANSACTION 'x'");
			caught_up();
			is($subscriber->safe_psql('postgres', $has), '1', "$what: prepared");
			if ($name ne 'truncate')
			{
				right($subscriber, 'postgres', "$what: prepared");
				is($old->query($look), $before, "$what: prepared, for a snapshot from before") if $old;
			}
			$publisher->safe_psql('postgres', q{ROLLBACK PREPARED 'x'});
			caught_up();
			is($subscriber->safe_psql('postgres', $has), '0', "$what: rolled back");
			right($subscriber, 'postgres', "$what: rolled back");
			$publisher->safe_psql('postgres', "BEGIN; $changes{$name}; PREPARE TRANSACTION 'y'");
			caught_up();
			is($subscriber->safe_psql('postgres', $has), '1', "$what: prepared again");
			# Over a crash of the subscriber
			if ($crash)
			{
				$subscriber->stop('immediate');
				$subscriber->start;
				right($subscriber, 'postgres', "$what: prepared, after a crash");
			}
			$publisher->safe_psql('postgres', q{COMMIT PREPARED 'y'});
		}
		else
		{
			$publisher->safe_psql('postgres', "BEGIN; $changes{$name}; COMMIT");
		}
		caught_up();
		right($subscriber, 'postgres', "$what: committed");
		if ($old)
		{
			is($old->query($look), $before, "$what: committed, for a snapshot from before") if $name ne 'truncate';
			$old->quit;
		}
		# What is prepared while the table is emptied, or over a crash, is built.
		wait_ready($subscriber, 'postgres');
		ok($subscriber->poll_query_until('postgres', q{SELECT bool_and(state = 'ready') FROM lb_stat_board}), "$what: boards are ready");
		look("$what: committed");
		is($subscriber->safe_psql('postgres', 'SELECT * FROM lb_verify()'), '', "$what: index and table are equal");
		$publisher->safe_psql('postgres', 'UPDATE player_scores SET player_id = player_id - 1000 WHERE player_id BETWEEN 1001 AND 2000')
		  if $name eq 'key';
	}
	caught_up();
	ready($subscriber, 'postgres', $options);
	unsubscribe();
}

$_->stop for ($subscriber, $publisher);
for my $node ($subscriber, $publisher)
{
	unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, $node->name . ': nothing bad in the log');
}
done_testing();
