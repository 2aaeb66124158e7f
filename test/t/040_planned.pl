# Plans that use boards where there may be none: a standby and its promotion, a
# database without the extension, the extension without the library or with another
# version of it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $query = 'SELECT count(*), max(score) FROM player_scores WHERE score > 50';

# What runs $query: a board, or the plan without one.
sub plan_of
{
	my ($run, $what) = @_;
	my $plan = $run->("EXPLAIN (COSTS OFF) $what");

	return $plan =~ /Leaderboard Aggregate/ ? 'board' : $plan =~ /Aggregate/ ? 'plain' : $plan;
}

# A session's answer is that of a session that uses no board, and comes from where it
# should.
sub answers
{
	my ($node, $run, $from, $name, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	$what //= $query;
	is($run->($what), $node->safe_psql('postgres', "SET leaderboard.enable_planner = off; $query"), "$name: right");
	is(plan_of($run, $what), $from, "$name: by $from");
	return;
}

my $primary = lb_node('primary', 'leaderboard.enable_planner = on', allows_streaming => 1);
my $new = sub { return $primary->safe_psql('postgres', $_[0]) };

# A database without the extension, which a session remembers.
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE TABLE player_scores (player_id bigint PRIMARY KEY, score bigint NOT NULL);
	INSERT INTO player_scores SELECT i, i % 100 FROM generate_series(1, 1000) AS i});
my $session = open_session($primary, 'postgres');
my $old = sub { return $session->query($_[0]) };
$old->("SET plan_cache_mode = force_generic_plan; PREPARE q AS $query");
answers($primary, $old, 'plain', 'without the extension');
answers($primary, $old, 'plain', 'prepared without it', 'EXECUTE q');
$primary->safe_psql('postgres', q{
	CREATE EXTENSION leaderboard;
	SELECT lb_create_board('global', 'player_scores')});
wait_ready($primary, 'postgres');
$primary->safe_psql('postgres', 'ANALYZE player_scores');
answers($primary, $old, 'board', 'with it');
answers($primary, $old, 'board', 'prepared', 'EXECUTE q');

# Another version of it, and none any more.
my $version = $primary->safe_psql('postgres', q{SELECT extversion FROM pg_extension WHERE extname = 'leaderboard'});
$primary->safe_psql('postgres', q{UPDATE pg_extension SET extversion = '0.0.9' WHERE extname = 'leaderboard'});
answers($primary, $new, 'plain', 'another version');
$primary->safe_psql('postgres', "UPDATE pg_extension SET extversion = '$version' WHERE extname = 'leaderboard'");
answers($primary, $new, 'board', 'the version again');
$primary->safe_psql('postgres', 'DROP EXTENSION leaderboard CASCADE; INSERT INTO player_scores VALUES (1001, 777)');
answers($primary, $old, 'plain', 'dropped, prepared', 'EXECUTE q');
answers($primary, $old, 'plain', 'dropped');
$primary->safe_psql('postgres', q{
	CREATE EXTENSION leaderboard;
	SELECT lb_create_board('global', 'player_scores')});
wait_ready($primary, 'postgres');
answers($primary, $old, 'board', 'created again, prepared', 'EXECUTE q');

# The index answers, and is counted.
$old->('SELECT lb_stat_reset()');
$old->($query);
is($old->(q{SELECT planned_reads, planned_queries FROM lb_stat_board WHERE board = 'global'}), '1|0', 'counted');

# Without the library, or with it in one session only.
$session->quit;
$primary->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$primary->restart;
answers($primary, $new, 'plain', 'not preloaded');
is($primary->safe_psql('postgres', "LOAD 'leaderboard'; $query"), $new->($query), 'loaded into a session');
$primary->append_conf('postgresql.conf', "shared_preload_libraries = 'leaderboard'");
$primary->restart;
wait_ready($primary, 'postgres');
answers($primary, $new, 'board', 'preloaded again');

# A standby has boards of its own.  A session, its prepared statement and its cursor go
# on when it is promoted.
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
$primary->wait_for_catchup($standby);
ok($standby->poll_query_until('postgres', "SELECT lb_wait_ready('100 ms')"), 'standby: its boards are ready');
$session = open_session($standby, 'postgres');
$old->("SET plan_cache_mode = force_generic_plan; PREPARE q AS $query");
answers($standby, $old, 'board', 'standby');
answers($standby, $old, 'board', 'standby, prepared', 'EXECUTE q');
$old->("BEGIN ISOLATION LEVEL REPEATABLE READ; DECLARE c SCROLL CURSOR FOR $query");
my $before = $old->('FETCH c');
$primary->stop;
$standby->promote;
wait_ready($standby, 'postgres');
$standby->safe_psql('postgres', 'INSERT INTO player_scores VALUES (1002, 999)');
is($old->('MOVE ABSOLUTE 0 c; FETCH c'), $before, 'a cursor of the recovery');
is($old->($query), $before, 'a snapshot of the recovery');
$old->('COMMIT');
answers($standby, $old, 'board', 'promoted');
is($old->('EXECUTE q'), $old->($query), 'promoted, prepared');
is($standby->safe_psql('postgres', 'SELECT * FROM lb_verify()'), '', 'index and table are equal');
$session->quit;
$standby->stop;
done_testing();
