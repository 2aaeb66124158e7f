# A commit waits for a synchronous standby that does not come: its record is
# written, and it is still running.  Readers do not see it, and writers of its rows
# wait for it.  However the wait ends, all changes are there afterwards.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

# No transaction but those of the test: the last part compares what snapshots say of
# them.
my $node = lb_node('synchronous', "fsync = off\nautovacuum = off\nleaderboard.maintenance_interval = 0", allows_streaming => 1);
$node->start;
fill($node, 'postgres', 600);
ready($node, 'postgres', 'made');

# Sessions of the tests do not wait for the standby, unless they say so.  Background
# workers have the server's setting.
$ENV{PGOPTIONS} = '-c synchronous_commit=local';
$node->append_conf('postgresql.conf', q{synchronous_standby_names = 'nobody'});
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT current_setting('synchronous_standby_names') = 'nobody'}),
	'commits wait for a standby');

# The scan prunes pages.  So the build's transaction has written WAL, but its commit
# does not wait.
$node->safe_psql('postgres', q{
	CREATE TABLE dead (id integer PRIMARY KEY, score integer NOT NULL, pad text);
	INSERT INTO dead SELECT g, g, repeat('x', 300) FROM generate_series(1, 2000) g;
	SELECT lb_create_board('dead', 'dead')});
ready($node, 'postgres', 'dead rows');
$node->safe_psql('postgres', 'UPDATE dead SET score = score + 1');
is($node->safe_psql('postgres', q{SET statement_timeout = '10min'; SELECT lb_rebuild('dead'); SELECT count(*) FROM lb_verify('dead')}),
	"\n0", 'a board is built while no standby is there');
$node->safe_psql('postgres', 'DROP TABLE dead');

my $changes = q{
	UPDATE player_scores SET score = 5000 WHERE player_id = 7;
	DELETE FROM player_scores WHERE player_id = 8;
	INSERT INTO player_scores VALUES (1001, 6000);
	UPDATE player_score_windows SET window_key = 'daily:1' WHERE player_id % 50 = 1};
my $put_back = q{
	DELETE FROM player_scores WHERE player_id > 1000;
	INSERT INTO player_scores VALUES (8, 8), (7, 7) ON CONFLICT (player_id) DO UPDATE SET score = EXCLUDED.score;
	DELETE FROM player_score_windows WHERE window_key = 'daily:1';
	INSERT INTO player_score_windows SELECT g, 'weekly:3', g FROM generate_series(1, 600, 50) g ON CONFLICT DO NOTHING};

# Start something in a session of its own.
sub start_session
{
	my ($sql) = @_;
	my $session = open_session($node, 'postgres');

	$session->query_until(qr/now/, "\\echo now\n$sql;\n");
	return $session;
}

sub waiting
{
	my ($what, $n) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return ok( $node->poll_query_until('postgres',
			"SELECT count(*) = $n FROM pg_stat_activity WHERE wait_event = 'SyncRep'"),
		$what);
}

# A look, also by a snapshot from before; by the index, if it can.
sub look
{
	my ($what, $session, $query) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $before = $session->query($query);

	right($node, 'postgres', $what);
	is($session->query($query), $before, "$what: and for a snapshot from before");
	my ($got, $want) = map { [split /\n/] } split /--\n?/, $before;
	is_deeply($got, $want, "$what: which is what the query says");
	return;
}

# The answers of the index, and those of SQL.
my $both = q{
	SELECT count(*), coalesce(sum(lb_rank(player_id) * player_id), 0), lb_count(), lb_count('daily:1'), lb_rank(7) FROM player_scores;
	SELECT '--';
	SELECT count(*), coalesce(sum(r * player_id), 0), count(*), (SELECT count(*) FROM player_score_windows WHERE window_key = 'daily:1'),
		max(r) FILTER (WHERE player_id = 7)
	FROM (SELECT player_id, row_number() OVER (ORDER BY score DESC, updated_at, player_id) AS r FROM player_scores) s};

sub by_index
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return is( $node->safe_psql('postgres', q{
			SELECT lb_stat_reset();
			SELECT count(lb_rank(player_id)) > 0 FROM player_scores WHERE player_id < 20;
			SELECT index_reads > 10, query_reads FROM lb_stat_board WHERE board = 'global'}),
		"\nt\nt|0", "$what: by the index");
}

# Ways in which the wait can end
my %endings = (
	'cancelled' => sub { $node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'}) },
	'terminated' => sub { $node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'}) },
	'released' => sub {
		$node->safe_psql('postgres', q{ALTER SYSTEM SET synchronous_standby_names = ''});
		$node->reload;
	});
my %statements = (
	'commit' => "SET synchronous_commit = on; BEGIN; $changes; COMMIT",
	'prepare' => "SET synchronous_commit = on; BEGIN; $changes; PREPARE TRANSACTION 'p'",
	'commit prepared' => "BEGIN; $changes; PREPARE TRANSACTION 'p'; SET synchronous_commit = on; COMMIT PREPARED 'p'",
	# Settled by its owner alone
	'large' => 'SET synchronous_commit = on; BEGIN; UPDATE player_scores SET score = 5000 WHERE player_id = 7;'
	  . ' INSERT INTO player_scores SELECT g, -g FROM generate_series(1001, 6000) g; COMMIT');

for my $ending (sort keys %endings)
{
	for my $statement (sort keys %statements)
	{
		my $what = "$statement, $ending";
		my $old = open_session($node, 'postgres');

		$old->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
		$old->query($both);

		my $first = start_session($statements{$statement});
		waiting("$what: waits", 1);
		is($node->safe_psql('postgres', q{SELECT lb_rank(1001), lb_count() = count(*), count(*) FROM player_scores}),
			'|t|600', "$what: not seen");
		look("$what: while it waits", $old, $both);
		by_index("$what: while it waits");

		# Others write other rows; one writes the same, and waits.
		$node->safe_psql('postgres', 'UPDATE player_scores SET score = score + 1 WHERE player_id BETWEEN 20 AND 40');
		my $second = start_session('UPDATE player_scores SET score = score + 1 WHERE player_id = 7');
		ok( $node->poll_query_until('postgres',
				q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE%'}),
			"$what: another writer waits");
		look("$what: while another writer waits", $old, $both);
		if ($ending eq 'cancelled' && $statement =~ /commit|large/)
		{
			$node->safe_psql('postgres', 'SELECT lb_rebuild()');
			look("$what: built meanwhile", $old, $both);
		}

		$endings{$ending}->();
		waiting("$what: has ended", 0);
		if ($statement eq 'prepare')
		{
			look("$what: prepared", $old, $both);
			$node->safe_psql('postgres', "COMMIT PREPARED 'p'");
		}
		is($second->query('SELECT lb_score(7)'), '5001', "$what: the other writer goes on");
		look("$what: afterwards", $old, $both);
		is($node->safe_psql('postgres', q{SELECT lb_rank(7), lb_rank(1001) IS NOT NULL}),
			$statement eq 'large' ? '1|t' : '2|t', "$what: everything is there");
		$old->query('COMMIT');
		$first->quit if $ending ne 'terminated';
		$second->quit;
		$old->quit;
		ready($node, 'postgres', $what);
		by_index("$what: afterwards");
		if ($ending eq 'released')
		{
			$node->safe_psql('postgres', 'ALTER SYSTEM RESET synchronous_standby_names');
			$node->reload;
			$node->poll_query_until('postgres', q{SELECT current_setting('synchronous_standby_names') = 'nobody'});
		}
		$node->safe_psql('postgres', $put_back);
		ready($node, 'postgres', "$what: put back");
	}
}

# While it is being prepared a transaction runs twice: the next snapshot has as
# many running ones as the first, though another has ended.
$node->safe_psql('postgres', 'CREATE TABLE other (x integer)');
my ($one, $other, $reader) = map { open_session($node, 'postgres') } 1 .. 3;

$one->query('BEGIN; INSERT INTO other VALUES (1)');
$other->query('BEGIN; UPDATE player_scores SET score = 5000 WHERE player_id = 7');
$node->safe_psql('postgres', 'SELECT pg_current_xact_id()');
$reader->query('BEGIN; DECLARE c CURSOR FOR SELECT lb_rank(7), pg_snapshot_xmax(pg_current_snapshot())');
$other->query('COMMIT');
my ($rank, $xmax) = split /\|/, $reader->query('FETCH c');
isnt($rank, '1', 'the snapshot of before');
$one->query_until(qr/now/, "SET LOCAL synchronous_commit = on;\n\\echo now\nPREPARE TRANSACTION 'twice';\n");
waiting('being prepared', 1);
is( $reader->query('SELECT lb_rank(7), pg_snapshot_xmax(pg_current_snapshot())'),
	"1|$xmax", 'the snapshot of after');
$endings{cancelled}->();
waiting('prepared', 0);
is($reader->query('SELECT lb_rank(7)'), '1', 'and of later');
$_->quit for $reader, $other, $one;
$node->safe_psql('postgres', "ROLLBACK PREPARED 'twice'");
$node->safe_psql('postgres', $put_back);
ready($node, 'postgres', 'prepared in two places');

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log');
done_testing();
