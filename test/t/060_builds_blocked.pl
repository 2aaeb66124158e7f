# What keeps a build from going on: commands that lock a database, sessions that hold a
# lock and wait for the build, an error that every attempt ends with.  None of it keeps
# builds of other databases waiting.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbStandby;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('blocked', <<'END', allows_streaming => 1);
autovacuum = off
deadlock_timeout = 200ms
leaderboard.build_workers = 1
leaderboard.maintenance_interval = 0
leaderboard.notify_interval = 100ms
END
$node->start;

for my $db ('slow', 'other')
{
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, q{
		CREATE EXTENSION leaderboard;
		CREATE TABLE scores (id bigint PRIMARY KEY, score bigint);
		INSERT INTO scores SELECT g, g FROM generate_series(1, 100) g;
		SELECT lb_create_board('plain', 'scores')});
	ok(boards_ready($node, $db), "$db: ready");
}

# The sessions in a database, of a kind of process and in a wait event.
sub comes
{
	my ($db, $type, $event, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return ok( $node->poll_query_until('postgres', qq{
			SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = '$db' AND backend_type = '$type' AND wait_event = '$event'}),
		$what);
}

# Other databases have their builds, and a worker for them.
sub others_build
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return is($node->safe_psql('other', q{SET statement_timeout = '5min'; SELECT lb_rebuild('plain'); SELECT lb_count('plain')}),
		"\n100", "$what: another database has its build");
}

my $session = open_session($node, 'postgres');

#
# Code of a user keeps a build from noticing that a command waits for the database.
#

$node->safe_psql('slow', q{
	CREATE TABLE stop ();
	INSERT INTO stop DEFAULT VALUES;
	CREATE FUNCTION slowly(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_sleep(600) FROM public.stop; RETURN $1; END $$;
	SELECT lb_create_board('slow', 'scores', rank_by => 'slowly(score) DESC')});
comes('slow', 'leaderboard worker', 'PgSleep', 'a build runs code of a user');
my $renamed;
for (1 .. 20)
{
	# PostgreSQL itself gives up after 5 s.
	$renamed = $session->query(q{BEGIN; ALTER DATABASE slow RENAME TO gone; SELECT 'renamed'});
	last if $session->{stderr} !~ /being accessed by other users/;
	$session->query('ROLLBACK');
	$session->{stderr} = '';
}
is($renamed, 'renamed', 'ALTER DATABASE need not wait for it');

# The next attempt must not wait for the lock either, in the only place for a build.
others_build('a locked database');
is($session->query(q{ROLLBACK; SELECT 'unlocked'}), 'unlocked', 'the database is unlocked');
comes('slow', 'leaderboard worker', 'PgSleep', 'the build begins again');
$node->safe_psql('slow', 'DELETE FROM stop');
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE backend_type = 'leaderboard worker'});
ok(boards_ready($node, 'slow'), 'it ends');
is($node->safe_psql('slow', q{SELECT lb_rank(100, 'slow'), lb_rank(1, 'slow')}), '1|100', 'the board answers');
$node->safe_psql('slow', q{SELECT lb_drop_board('slow')});

# Builds that run such code take all workers but the last, which is for other databases.
$node->append_conf('postgresql.conf', 'leaderboard.build_workers = 3');
$node->reload;
$node->safe_psql('slow', q{
	INSERT INTO stop DEFAULT VALUES;
	SELECT lb_create_board('slow' || i, 'scores', rank_by => 'slowly(score) DESC') FROM generate_series(1, 4) i});
ok($node->poll_query_until('postgres', q{
		SELECT count(*) = 2 FROM pg_stat_activity WHERE datname = 'slow' AND backend_type = 'leaderboard worker' AND wait_event = 'PgSleep'}),
	'two builds run code of a user');
others_build('slow builds');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE datname = 'slow' AND backend_type = 'leaderboard worker'}), '2',
	'the third place is not for this database');
$node->safe_psql('slow', 'DELETE FROM stop');
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE backend_type = 'leaderboard worker'});
ok(boards_ready($node, 'slow'), 'all are built at last');
$node->safe_psql('slow', q{SELECT lb_drop_board('slow' || i) FROM generate_series(1, 4) i});
$node->append_conf('postgresql.conf', 'leaderboard.build_workers = 1');
$node->reload;

# So would one behind a command that itself waits for the lock.
my $inside = open_session($node, 'slow');
my $waiter = open_session($node, 'postgres');

$session->query(q{BEGIN; COMMENT ON DATABASE slow IS 'a lock that others can share'});
$waiter->query_until(qr/waits/, "\\echo waits\nALTER DATABASE slow RENAME TO gone;\n");
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'ALTER DATABASE%'}),
	'a command waits for the lock');
$inside->query(q{SELECT lb_rebuild('plain')});
like($inside->{stderr}, qr/Reason: a command has locked the database/, 'no worker waits behind it');
others_build('a command that waits');
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'ALTER DATABASE%' AND pid <> pg_backend_pid()});
$session->query('ROLLBACK');
$_->quit for $inside, $waiter;
ok(boards_ready($node, 'slow'), 'its boards are ready');

#
# The notifier waits for a synchronous standby.
#

$node->safe_psql('slow', q{SELECT lb_watch('plain')});
$node->append_conf('postgresql.conf', q{synchronous_standby_names = 'nobody'});
$node->reload;
$ENV{PGOPTIONS} = '-c synchronous_commit=local';
ok($node->poll_query_until('postgres', q{SELECT current_setting('synchronous_standby_names') = 'nobody'}), 'there is no standby');
# The checkpointer tells those that commit.
$node->safe_psql('postgres', 'CHECKPOINT');
$node->safe_psql('slow', 'UPDATE scores SET score = 1000 WHERE id = 1');
comes('slow', 'leaderboard notifier', 'SyncRep', 'the notifier waits for a standby');
others_build('a notifier that waits');
retry_accessed($node, 'ALTER DATABASE slow RENAME TO quiet');
pass('ALTER DATABASE need not wait for it');
retry_accessed($node, 'ALTER DATABASE quiet RENAME TO slow');
$node->append_conf('postgresql.conf', q{synchronous_standby_names = ''});
$node->reload;
delete $ENV{PGOPTIONS};
ok($node->poll_query_until('postgres', q{SELECT current_setting('synchronous_standby_names') = ''}), 'no standby is wanted');
$node->safe_psql('slow', q{SELECT lb_unwatch('plain')});

#
# A session holds a lock that a build needs beside that of the table, and waits for the
# build.  The deadlock detector sees nothing of that wait.
#

my $first = open_session($node, 'slow');
my $second = open_session($node, 'slow');

$first->query(q{BEGIN; SELECT count(*), lb_count('plain') FROM scores});
$second->query_until(qr/locks/, "\\echo locks\nBEGIN; LOCK TABLE lb_board; LOCK TABLE scores;\n");
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'LOCK TABLE scores%'}),
	'one session has locked lb_board, and waits for another');
is($first->query(q{SELECT lb_rebuild('plain'); SELECT 'built'}), '', 'that one waits for a build in vain');
$first->query('ROLLBACK');
$second->query('ROLLBACK');
$_->quit for $first, $second;
ok(boards_ready($node, 'slow'), 'the board is ready');

# Members that are not in the table's own pages.
$node->safe_psql('slow', q{
	CREATE TABLE texts (id text PRIMARY KEY, score bigint, pad text) WITH (toast_tuple_target = 128);
	ALTER TABLE texts ALTER id SET STORAGE EXTERNAL, ALTER pad SET STORAGE EXTERNAL;
	INSERT INTO texts SELECT repeat(md5(g::text), 12), g, repeat('x', 2500) FROM generate_series(1, 100) g;
	SELECT lb_create_board('texts', 'texts')});
ok(boards_ready($node, 'slow'), 'members that are toasted');
fails_with($node, 'slow', q{BEGIN; REINDEX TABLE texts; SELECT lb_rebuild('texts')}, '55P03', qr/Reason: the table is locked/, 'a toast table is locked');
ok(boards_ready($node, 'slow'), 'members that are toasted, later');
verified_in('slow', 'after waits');

#
# Each attempt ends with the same error.  They come less and less often, and the board
# says why it has no index.
#

$node->safe_psql('slow', q{
	CREATE TABLE large (id bigint PRIMARY KEY, score bigint);
	INSERT INTO large SELECT g, g FROM generate_series(1, 100000) g;
	ALTER DATABASE slow SET temp_file_limit = '100kB';
	ALTER DATABASE slow SET maintenance_work_mem = '1MB'});
$node->safe_psql('slow', q{SELECT lb_create_board('large', 'large')});
ok($node->poll_query_until('slow', q{SELECT state = 'offline' AND reason LIKE 'the build has ended with an error%' FROM lb_stat_board WHERE board = 'large'}),
	'an error ends the build');
is($node->safe_psql('slow', q{SELECT lb_rank(1, 'large')}), '100000', 'the query answers');
fails_with($node, 'slow', q{SELECT lb_rebuild('large')}, '55000', qr/the build has ended with an error/, 'lb_rebuild() says so');
others_build('an error');
$node->safe_psql('slow', 'ALTER DATABASE slow RESET temp_file_limit');
ok(boards_ready($node, 'slow'), 'the error is gone, and the board is built');
verified_in('slow', 'at the end');
$session->quit;

#
# Workers that cannot enter the boards of their database come again; other databases have
# no visit for that.
#

# The line that says that a worker has started in a database
sub start_of
{
	my $oid = $node->safe_psql('postgres', "SELECT oid FROM pg_database WHERE datname = '$_[0]'");

	return qr/starting background worker process "leaderboard worker for database $oid"/;
}

$node->safe_psql('postgres', 'CREATE DATABASE quiet');
$node->safe_psql($_, "BEGIN; LOCK TABLE lb_board; PREPARE TRANSACTION '$_'") for 'slow', 'other';
$node->append_conf('postgresql.conf', 'log_min_messages = debug1');
$node->stop;

my $place = -s $node->logfile;

$node->start;
for my $db ('slow', 'other')
{
	my $start = start_of($db);

	ok($node->wait_for_log(qr/(?:$start.*){3}/s, $place), "$db: a worker comes again");
}

my $quiet = start_of('quiet');

is(scalar(() = slurp_file($node->logfile, $place) =~ /$quiet/g), 1, 'not in other databases');
$node->safe_psql($_, "ROLLBACK PREPARED '$_'") for 'slow', 'other';
for my $db ('slow', 'other')
{
	ok($node->poll_query_until($db, q{SELECT bool_and(state = 'ready') FROM lb_stat_board}), "$db: its boards are built without a read");
	verified_in($db, "$db, after lost visits");
}

sub verified_in
{
	my ($db, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return is($node->safe_psql($db, 'SELECT * FROM lb_verify_key()'), '', "$what: lb_verify()");
}

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log');
done_testing();
