# Boards beside a server without the library, over time: random writes, TRUNCATE, another
# column, kills of either server, and a failover of the main one that loses what the small
# server already had.  Afterwards the foreign tables show what PostgreSQL computes from the
# main server's tables.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use LbBeside;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($main, $small) = beside_nodes();
my $players = 4000;

fill_game($main, $players);
my $config = config($main, $small, 'lives', boards());
my ($rc, $out, $err) = beside($config);
is($rc, 0, 'made') or diag($err);
same($main, $small, 'made');

# The subscription of the small server has a worker that streams.
sub streams
{
	my ($node) = @_;

	return $node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_replication WHERE application_name = 'beside' AND state = 'streaming'});
}

sub tables
{
	my ($node) = @_;

	return $node->safe_psql('game', q{SELECT md5(string_agg(t::text, ' ' ORDER BY id)) FROM (SELECT id, name, country, tier::text, score, reached_at, banned FROM player) t
		UNION ALL SELECT md5(string_agg(t::text, ' ' ORDER BY player, game)) FROM s.score t});
}

for my $round (1 .. 3)
{
	stop_game_writers(start_game_writers($main, $players, count => 150));
	same($main, $small, "random writes, round $round");
	is(tables($small), tables($main), "random writes, round $round: the tables are equal");
}

# What DDL and large changes of the main server do.
as_app($main, 'TRUNCATE player');
same($main, $small, 'truncated');
is(as_app($main, 'SELECT count(*) FROM ranked'), '0', '... no ranks');
as_app($main, q{INSERT INTO player (id, name, country, tier, score) SELECT md5(g::text)::uuid, 'p' || g, 'FR', 'gold', g % 50 FROM generate_series(1, 4000) g});
same($main, $small, 'filled again');
as_app($main, 'TRUNCATE s.score; INSERT INTO s.score SELECT g, \'go\', g % 9 FROM generate_series(1, 2000) g');
same($main, $small, 'a partitioned table truncated');
as_app($main, q{ALTER TABLE player ADD COLUMN level int NOT NULL DEFAULT 7; UPDATE player SET level = score, score = score + 1});
same($main, $small, 'a column added');
as_app($main, q{ALTER TABLE player DROP COLUMN note; UPDATE player SET score = 3 WHERE country = 'FR'});
same($main, $small, 'a column dropped that does not travel');
as_app($main, q{ALTER TABLE player ALTER score DROP NOT NULL, ALTER name DROP NOT NULL; UPDATE player SET name = NULL, score = NULL WHERE score % 7 = 3; CREATE INDEX ON player (score); VACUUM FULL player});
same($main, $small, 'constraints dropped, an index, the table rewritten');
as_app($main, q{UPDATE player SET name = 'x', score = 1 WHERE score IS NULL});
same($main, $small, 'no score is null');

# A prepared rank over all that follows, as an application has one.
my $asks = open_session($main, 'game', extra_params => [ '-U', 'app' ]);
my $id = as_app($main, 'SELECT id FROM player WHERE NOT banned LIMIT 1');
$asks->query("PREPARE q(uuid) AS SELECT rank FROM ranked WHERE id = \$1; SET plan_cache_mode = force_generic_plan");
my $truth = "SELECT rank FROM (SELECT id, rank() OVER (ORDER BY score DESC) FROM player WHERE NOT banned AND score IS NOT NULL) s WHERE id = '$id'";
is($asks->query("EXECUTE q('$id')"), as_app($main, $truth), 'a prepared rank');

# The small server is killed while clients write, and comes back.
my $writers = start_game_writers($main, $players);
for my $round (1 .. 2)
{
	$small->stop('immediate');
	my $error = $main->psql('game', "SELECT rank FROM ranked WHERE id = '$id'", extra_params => [ '-U', 'app' ]);
	isnt($error, 0, "small server killed, round $round: a rank is an error");
	$small->start;
	ok(streams($main), "small server killed, round $round: it follows again");
}
stop_game_writers($writers);
same($main, $small, 'the small server was killed');
is(tables($small), tables($main), '... the tables are equal');
is($asks->query("EXECUTE q('$id')"), as_app($main, $truth), '... the same session asks on');
$small->restart;
same($main, $small, 'the small server was restarted');

# The main server is killed while clients write.
$writers = start_game_writers($main, $players);
$main->stop('immediate');
stop_game_writers($writers, failure => 1);
$main->start;
ok(streams($main), 'main server killed: the subscription goes on');
stop_game_writers(start_game_writers($main, $players, count => 50));
same($main, $small, 'the main server was killed');
is(tables($small), tables($main), '... the tables are equal');

# Failover.  The standby has not received the last writes, which the small server has; it
# has no slot.
my $standby = PostgreSQL::Test::Cluster->new('standby');
$main->backup('base');
$standby->init_from_backup($main, 'base', has_streaming => 1);
$standby->start;
$main->wait_for_catchup($standby);
stop_game_writers(start_game_writers($main, $players, count => 30));
$main->wait_for_catchup($standby);
$standby->stop;
stop_game_writers(start_game_writers($main, $players, count => 30));
as_app($main, q{INSERT INTO player (id, name, country, score) VALUES (md5('lost')::uuid, 'lost', 'FR', 5000); DELETE FROM player WHERE name = 'p7'; UPDATE player SET score = score + 1});
same($main, $small, 'before the failover');
$main->stop('immediate');
$standby->start;
$standby->promote;
isnt(tables($small), tables($standby), 'failover: the small server has what the new main server has lost');
# Writes come at once, before anybody has thought of the boards.
stop_game_writers(start_game_writers($standby, $players, count => 30));
my $moved = config($standby, $small, 'moved', boards());
($rc, $out, $err) = beside($moved);
isnt($rc, 0, 'failover: the slot is gone');
like($err, qr/run with --repair/, '... it says what to do');
is($small->safe_psql('game', q{SELECT bool_and(state = 'ready') FROM leaderboard.lb_stat_board}), 't', '... the boards are ready meanwhile');
$writers = start_game_writers($standby, $players);
my $built = $small->safe_psql('game', q{SELECT lb.relfilenode FROM pg_class lb WHERE relname = 'player'});
($rc, $out, $err) = beside($moved, '--repair');
is($rc, 0, 'repaired, while clients write') or diag($err);
stop_game_writers($writers);
same($standby, $small, 'after the failover');
is(tables($small), tables($standby), '... the tables are equal');
is($small->safe_psql('game', q{SELECT relfilenode FROM pg_class WHERE relname = 'player'}), $built, '... and the table was not copied');
is($small->safe_psql('game', q{SELECT count(*) FROM player WHERE name = 'lost'}), '0', '... what was lost is gone here, too');
stop_game_writers(start_game_writers($standby, $players, count => 50));
same($standby, $small, 'after the failover, later');

# A slot that survives, on a server with another address: no repair.
$standby->restart;
($rc, $out, $err) = beside($moved);
is($rc, 0, 'the slot survives') or diag($err);
same($standby, $small, 'the slot survives');

# A slot that was lost, since it kept too much WAL.
$small->stop;
$standby->append_conf('postgresql.conf', 'max_slot_wal_keep_size = 1MB');
$standby->reload;
for my $i (1 .. 4)
{
	stop_game_writers(start_game_writers($standby, $players, count => 5));
	$standby->safe_psql('game', 'SELECT pg_switch_wal(); CHECKPOINT');
}
is($standby->safe_psql('game', 'SELECT wal_status FROM pg_replication_slots'), 'lost', 'a slot is lost');
$small->start;
($rc, $out, $err) = beside($moved);
like($err, qr/run with --repair/, '... it says what to do');
($rc, $out, $err) = beside($moved, '--repair');
is($rc, 0, '... repaired') or diag($err);
same($standby, $small, 'a slot was lost');
is(tables($small), tables($standby), '... the tables are equal');

# A subscription that was dropped by mistake, while the tables went on.
$small->safe_psql('game', 'DROP SUBSCRIPTION beside');
stop_game_writers(start_game_writers($standby, $players, count => 20));
($rc, $out, $err) = beside($moved);
like($err, qr/run with --repair/, 'no subscription: it says what to do');
($rc, $out, $err) = beside($moved, '--repair');
is($rc, 0, '... repaired') or diag($err);
same($standby, $small, 'no subscription');
is(tables($small), tables($standby), '... the tables are equal');

$_->stop for ($small, $standby);
for my $node ($main, $small, $standby)
{
	unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, $node->name . ': nothing bad in the log');
}
unlike(slurp_file($_->logfile), qr/@{[ quotemeta password() ]}/, $_->name . ': no password in the log') for ($main, $small, $standby);
done_testing();
