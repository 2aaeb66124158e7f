# A board that has no room even for its definition, since its database's share of
# the memory is used up: changes of its rows are kept nowhere.  Builds of its own
# database wait for transactions that may have made such changes; those of other
# databases do not.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

# Builds wait for the transactions of autovacuum, too.
my $node = lb_node('main', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', <<'END');
CREATE EXTENSION leaderboard;
CREATE TABLE t AS SELECT i AS player_id, i AS score FROM generate_series(1, 100) i;
ALTER TABLE t ADD PRIMARY KEY (player_id);
SELECT lb_create_board('t', 't');
CREATE DATABASE small;
ALTER DATABASE small SET leaderboard.database_memory = '64kB';
END
is($node->safe_psql('postgres', 'SELECT lb_wait_ready()'), 't', 'ready');
$node->safe_psql('small', <<'END');
CREATE EXTENSION leaderboard;
CREATE TABLE s (player_id bigint PRIMARY KEY, score int);
SELECT count(lb_create_board('s' || i, 's')) FROM generate_series(1, 100) i;
INSERT INTO s VALUES (1, 1);
END

# A transaction that has begun between two of such.
my $open = open_session($node, 'postgres', on_error_stop => 1);
$open->query_safe('BEGIN; SELECT pg_current_xact_id()');
$node->safe_psql('small', 'INSERT INTO s VALUES (2, 2)');
$node->safe_psql('postgres', 'ALTER DATABASE small RESET leaderboard.database_memory');

my ($rc, $stdout, $stderr) = $node->psql('small', "SELECT lb_rebuild('s1')");
isnt($rc, 0, 'a build in the database does not overlook them');
like($stderr, qr/changes are unknown/, 'and says why');
($rc, $stdout, $stderr) = $node->psql('postgres', "SELECT lb_rebuild('t')");
is($rc, 0, 'a build in another database is not concerned');
is($stderr, '', 'and says nothing');
$open->query_safe('COMMIT');
$open->quit;

$node->safe_psql('small', 'SELECT lb_rebuild()');
is($node->safe_psql('small', "SELECT count(*) FROM lb_stat_board WHERE state = 'ready'"),
	'100', 'all boards are ready when it has ended');
is($node->safe_psql('small', 'SELECT count(*) FROM lb_verify()'), '0',
	'and equal to their table');

# Rows of windows that are over, in databases with a trigger that does not end: one
# that is cancelled, and one that catches that; and one with many steps that are slow.
sub tenant
{
	my ($db, $body) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, qq{
		CREATE EXTENSION leaderboard;
		SELECT lb_create_tables();
		SELECT lb_open_window('daily', keep => '1000 years');
		SELECT lb_submit(1, 1, at => '2026-04-09')});
	wait_ready($node, $db);
	$node->safe_psql($db, qq{
		CREATE FUNCTION body() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN $body RETURN OLD; END \$\$;
		CREATE TRIGGER body BEFORE DELETE ON player_score_windows FOR EACH ROW EXECUTE FUNCTION body()});
	return;
}

sub over
{
	my ($db) = @_;

	$node->safe_psql($db, q{UPDATE lb_window SET keep = '1 day' WHERE name = 'daily'});
	return;
}

# A database among these whose worker is in the trigger, and the worker.
sub visited
{
	my $in = join ', ', map { "'$_'" } @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my ($db, $pid) = split /\|/, $node->safe_psql('postgres', qq{
			SELECT datname, pid FROM pg_stat_activity
			WHERE datname IN ($in) AND backend_type = 'leaderboard maintenance' AND wait_event = 'PgSleep' LIMIT 1});

		return ($db, $pid) if defined $pid;
		select undef, undef, undef, 0.1;
	}
	die "no worker is in the trigger of $in";
}

# How many rounds there were between the first visits to a database: those in which
# another one was visited.
sub rounds_between
{
	my ($db, $other, $visits, $offset) = @_;
	my %oid = map { $_ => $node->safe_psql('postgres', "SELECT oid FROM pg_database WHERE datname = '$_'") } $db, $other;
	my $start = 'starting background worker process "leaderboard maintenance for database ';
	my @rounds;

	$node->wait_for_log(qr/(?:$start$oid{$db}".*){$visits}/s, $offset);
	for (substr(slurp_file($node->logfile), $offset) =~ /$start(\d+)"/g)
	{
		last if @rounds == $visits;
		push @rounds, 0 if $_ == $oid{$db};
		$rounds[-1]++ if @rounds && $_ == $oid{$other};
	}
	pop @rounds;
	return @rounds;
}

my $for_ever = 'LOOP PERFORM pg_sleep(1000); END LOOP;';
tenant('sleeps', $for_ever);
tenant('catches', 'LOOP BEGIN PERFORM pg_sleep(1000); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP;');
tenant('other', '');
over('sleeps');
over('catches');
my $log = -s $node->logfile;
$node->append_conf('postgresql.conf', "log_min_messages = debug1\nleaderboard.maintenance_interval = '1s'\nleaderboard.maintenance_timeout = '1s'\n");
$node->reload;
$node->wait_for_log(qr/WARNING: .*window "daily:20260409": canceling statement due to statement timeout/, $log);
$node->wait_for_log(qr/terminating background worker "leaderboard maintenance/, $log);
over('other');
ok($node->poll_query_until('other', q{SELECT count(*) = 1 FROM lb_closed WHERE removed_at IS NOT NULL}),
	'the window of another database is closed and removed');
is($node->safe_psql('sleeps', 'SELECT count(*) FROM player_score_windows'), '1', 'that of the first keeps its row');
for my $db ('sleeps', 'catches')
{
	my @rounds = rounds_between($db, 'other', 4, $log);

	ok($rounds[0] >= 1 && $rounds[1] >= 2 && $rounds[2] >= 4, "$db: more and more rounds pass without it: @rounds");
}
$node->append_conf('postgresql.conf', "log_min_messages = warning\n");
$node->reload;

# Other leaderboards of the database.
$node->safe_psql('sleeps', q{
	SELECT lb_create_leaderboard('kills', windows => '{}'), lb_open_window('kills/daily', 'daily', keep => '1 day');
	SELECT lb_wait_ready();
	INSERT INTO kills_score_windows VALUES (1, 'kills/daily:20260409', 1)});
ok($node->poll_query_until('sleeps', q{SELECT count(*) = 1 FROM lb_closed WHERE board LIKE 'kills%' AND removed_at IS NOT NULL}),
	'the windows of its other leaderboards are closed and removed');

# A step that does not even look for interrupts.  The worker has seconds only: it may have
# begun to end when it is stopped.
my $pid;
for (1 .. 20)
{
	(undef, $pid) = visited('catches');
	$log = -s $node->logfile;
	kill 'STOP', $pid;
	last if $node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE pid = $pid AND wait_event = 'PgSleep'") eq '1';
	kill 'CONT', $pid;
	$pid = undef;
}
ok(defined $pid, 'the worker is in the trigger');
$node->wait_for_log(qr/WARNING:  the leaderboard maintenance for database "catches" does not end/, $log);
$node->safe_psql('other', q{INSERT INTO player_score_windows (player_id, window_key, score) VALUES (1, 'daily:20260410', 1)});
ok($node->poll_query_until('other', q{SELECT count(*) = 2 FROM lb_closed WHERE removed_at IS NOT NULL}), 'it does not keep the worker from others');
kill 'CONT', $pid;
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"), 'it ends when it looks');

# Many steps, none of which takes too long.
tenant('slow', 'PERFORM pg_sleep(0.4);');
$node->safe_psql('slow', q{
	INSERT INTO player_score_windows (player_id, window_key, score)
	SELECT 1, 'daily:' || to_char(date '2020-01-01' + g, 'YYYYMMDD'), 1 FROM generate_series(1, 1000) g});
over('slow');
visited('slow');
$node->safe_psql('other', q{INSERT INTO player_score_windows (player_id, window_key, score) VALUES (1, 'daily:20260411', 1)});
ok($node->poll_query_until('other', q{SELECT count(*) = 3 FROM lb_closed WHERE removed_at IS NOT NULL}), 'another database has its turn');
cmp_ok($node->safe_psql('slow', 'SELECT count(*) FROM player_score_windows'), '>', 0, 'before the first one has ended');
$node->safe_psql('slow', 'DROP TRIGGER body ON player_score_windows');
ok($node->poll_query_until('slow', 'SELECT count(*) = 0 FROM player_score_windows'), 'which goes on, and ends');
is($node->safe_psql($_, 'SELECT count(*) FROM lb_verify()'), '0', "$_: boards and tables agree") for 'sleeps', 'catches', 'other', 'slow';

# Without a limit, while the worker is in the trigger.
$node->append_conf('postgresql.conf', "leaderboard.maintenance_timeout = 0\n");
$node->reload;
# It may come to either of them first.
my @left = ('sleeps', 'catches');
while (@left)
{
	my ($db) = visited(@left);

	($rc, $stdout, $stderr) = $node->psql('postgres', "DROP DATABASE $db");
	is($rc, 0, "$db: the database can be dropped: $stderr");
	@left = grep { $_ ne $db } @left;
}
$node->stop;
done_testing();
