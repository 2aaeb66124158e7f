# The clock was a year ahead and is set back.  Periodic work goes on, and does not
# wait until the clock gets there again.  Windows beside a clock that is set forward
# and back, before the server's start and while it runs.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('clock', "leaderboard.maintenance_interval = '1s'\nleaderboard.notify_interval = '100ms'\n");
my $clock = $node->basedir . '/clock';
my $library = $node->basedir . '/clock.so';

system_or_bail($ENV{CC} // 'cc', '-shared', '-fPIC', '-o', $library, "$FindBin::RealBin/clock.c");

# In one step: a reader finds this or that.
sub set_clock
{
	my ($offset) = @_;

	unlink "$clock.new";
	append_to_file("$clock.new", "$offset\n");
	rename "$clock.new", $clock or die "rename: $!";
	return;
}

sub start
{
	my ($server) = @_;
	local %ENV = (
		%ENV,
		LD_PRELOAD => $library,
		LB_TEST_CLOCK => $clock);

	$server->start;
	return;
}

set_clock('+31536000');
start($node);

# Work: a window ends, and a watched rank changes.
sub works
{
	my ($name) = @_;

	$node->safe_psql('postgres', qq{
		SELECT lb_open_window('tourney:$name', starts => now() - interval '1 s', ends => now() + interval '1 s', late => '0');
		INSERT INTO player_score_windows VALUES (1, 'tourney:$name', 10);
		SELECT count(*) FROM lb_submit(1, 10)});
	ok($node->poll_query_until('postgres', qq{SELECT count(*) = 1 FROM lb_closed WHERE board = 'tourney:$name'}),
		"$name: a window is closed");
	ok($node->poll_query_until('postgres', q{SELECT last_scores = ARRAY[lb_score(1)::text] FROM lb_watched}),
		"$name: what is watched is compared");
	return;
}

for my $db ('postgres', 'other')
{
	$node->safe_psql('postgres', 'CREATE DATABASE other') if $db eq 'other';
	$node->safe_psql($db, 'CREATE EXTENSION leaderboard; SELECT lb_create_tables()');
	wait_ready($node, $db);
	$node->safe_psql($db, q{SELECT lb_watch('global')});
}
works('ahead');
my $before = $node->safe_psql('postgres', 'SELECT extract(epoch FROM now())');
set_clock('+0');
cmp_ok($node->safe_psql('postgres', 'SELECT extract(epoch FROM now())'), '<', $before - 31500000, 'it is set back');
works('back');

# The notifier ends to make room.
ok(retry_accessed($node, 'DROP DATABASE other'), 'a database can be dropped');
$node->stop;

# Windows that end in some minutes, hours and days.
my ($hour, $month) = (3600, 31 * 86400);
my %keys = ('tourney:minutes' => '10 minutes', 'tourney:hours' => '5 hours', 'tourney:days' => '20 days');

$node = lb_node('windows', "leaderboard.maintenance_interval = '1h'\n");
set_clock(0);
start($node);
$node->safe_psql('postgres', q{
	CREATE EXTENSION leaderboard;
	SELECT lb_create_tables(), lb_create_leaderboard('kills', windows => '{}');
	DELETE FROM lb_window;
	CREATE FUNCTION waits() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS $$ BEGIN
		PERFORM pg_advisory_xact_lock_shared(1);
		RETURN NULL;
	END $$;
	CREATE TRIGGER waits AFTER INSERT ON lb_closed FOR EACH ROW EXECUTE FUNCTION waits()});
$node->safe_psql('postgres', "SELECT lb_open_window('$_', starts => now() - interval '1 hour', ends => now() + interval '$keys{$_}', late => '0')") for sort keys %keys;
wait_ready($node, 'postgres');

# The windows that a submit counts in.
sub open_windows
{
	return $node->safe_psql('postgres', q{SELECT string_agg(board, ' ' ORDER BY board) FROM lb_submit(1, 1) WHERE applied AND board <> 'global'});
}

sub closed_windows
{
	return $node->safe_psql('postgres', q{SELECT COALESCE(string_agg(board, ' ' ORDER BY board), '') FROM lb_closed});
}

sub set_interval
{
	my ($interval) = @_;

	$node->append_conf('postgresql.conf', "leaderboard.maintenance_interval = '$interval'\n");
	$node->reload;
	return;
}

# Have the launcher look at everything: a build begins with that, and it has ended what
# it did then when it starts the next.
sub launcher_looks
{
	$node->safe_psql('postgres', q{SELECT lb_rebuild('global')}) for 1 .. 2;
	return;
}

my $all = join(' ', sort keys %keys);
is(open_windows(), $all, 'all windows are open');

# While the server runs, for less time than the worker needs to come.
for my $step (1200, 6 * $hour, $month)
{
	my $offset = -s $node->logfile;

	set_clock($step);
	launcher_looks();
	my $log = qr/LOG:  the clock was set forward by (\d+) seconds/;

	# It has read two clocks, one after the other.
	$node->wait_for_log($log, $offset);
	my ($seconds) = slurp_file($node->logfile, $offset) =~ $log;
	cmp_ok(abs($seconds - $step), '<=', 60, "$step s ahead: the log has it");
	isnt(open_windows() // '', $all, "$step s ahead: windows accept no submits by that clock");
	set_clock(0);
	launcher_looks();
	is(closed_windows(), '', "$step s ahead and back: no window is closed");
	is(open_windows(), $all, "$step s ahead and back: all accept submits");
}

# At the server's start.
for my $step ($month, -$month)
{
	$node->stop;
	set_clock($step);
	start($node);
	wait_ready($node, 'postgres');
	launcher_looks();
	set_clock(0);
	launcher_looks();
	is(closed_windows(), '', "$step s at the start: no window is closed");
	is(open_windows(), $all, "$step s at the start: all accept submits");
}

# A transaction that has begun before the clock was set back.
my $session = open_session($node, 'postgres', on_error_stop => 1);
$session->query_safe('BEGIN; SELECT now()');
set_clock(-7200);
is($session->query_safe(q{SELECT bool_and(applied) FROM lb_submit(1, 1)}), 't', 'submits of an open transaction count');
$session->query_safe('COMMIT');

# Waiting for a build ends after its time, though the clock is set back.
my $launcher = launcher_pid($node);
set_clock(0);
ok($node->poll_query_until('postgres', "SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $launcher"), 'the launcher sleeps');
kill 'STOP', $launcher;
$node->safe_psql('postgres', q{
	CREATE TABLE late (player_id bigint PRIMARY KEY, score bigint);
	SELECT lb_create_board('late', 'late')});
my $waiting = $session->query_safe('SELECT pg_backend_pid()') =~ s/\s//gr;
$session->query_until(qr/waiting/, "\\echo waiting\nSELECT lb_wait_ready('20 s');\n");
$node->poll_query_until('postgres', "SELECT query LIKE '%lb_wait_ready%' AND wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $waiting")
  or die 'no session waits';
set_clock(-$month);
ok($node->poll_query_until('postgres', "SELECT state = 'idle' FROM pg_stat_activity WHERE pid = $waiting"),
	'lb_wait_ready() ends');
kill 'CONT', $launcher;
set_clock(0);
wait_ready($node, 'postgres');

# What is over by the clock is closed.
set_interval('1s');
set_clock(1200);
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM lb_closed}), 'a window is over');
is(closed_windows(), 'tourney:minutes', 'no other is closed');
is(open_windows(), 'tourney:days tourney:hours', 'the others accept submits');

# The clock is a month ahead for long: what is closed stays so, and can be opened again
# where nothing was removed.
set_clock($month);
ok($node->poll_query_until('postgres', q{SELECT count(*) = 3 AND count(removed_at) = 2 FROM lb_closed}), 'all windows are over, two long ago');
set_interval('1h');
set_clock(0);
is(open_windows(), '', 'closed windows accept no submits');
my ($reopen) = slurp_file("$FindBin::RealBin/../../docs/operations.md") =~ /^## The server's clock.*?^```sql\n(.*?)^```/ms;
$node->safe_psql('postgres', $reopen);
is(open_windows(), 'tourney:days', 'a window is open again');
set_interval('1s');
set_clock(21 * 86400);
ok($node->poll_query_until('postgres', q{SELECT count(*) = 3 FROM lb_closed}), 'it is closed again');
is($node->safe_psql('postgres', q{SELECT a.score = lb_score(1, 'tourney:days')::text FROM lb_archive a WHERE board = 'tourney:days'}), 't',
	'with the standings of then');

# While the worker closes windows: it reads the clock again for each of them.
sub in_the_middle
{
	my (@windows) = @_;
	my $worker = q{FROM pg_stat_activity WHERE backend_type = 'leaderboard maintenance' AND wait_event = 'advisory'};

	set_interval('1h');
	$session->query_safe('SELECT pg_advisory_lock(1)');
	for (@windows)
	{
		my ($window, $board) = @$_;

		$node->safe_psql('postgres', qq{
			SELECT lb_open_window('$window', starts => now() - interval '1 hour', ends => now() + interval '2 hours', late => '0');
			SELECT count(*) FROM lb_submit(1, 1, leaderboard => '$board')});
	}
	set_clock(3 * $hour);
	set_interval('1s');
	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 $worker"), "$windows[0][0]: the worker is in the middle");
	return $node->safe_psql('postgres', "SELECT pid $worker");
}

sub ends
{
	my ($pid) = @_;

	$session->query_safe('SELECT pg_advisory_unlock(1)');
	ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"), 'the visit ends');
	return;
}

set_clock(0);
my $pid = in_the_middle([ 'tourney:a', 'global' ], [ 'tourney:b', 'global' ]);
set_clock(0);
ends($pid);
is($node->safe_psql('postgres', q{SELECT count(*) FROM lb_closed WHERE board IN ('tourney:a', 'tourney:b')}), '1',
	'set back: the next window is not over');

$pid = in_the_middle([ 'tourney:c', 'global' ], [ 'kills/tourney:d', 'kills' ]);
set_interval('1h');
launcher_looks();
set_clock($month);
ends($pid);
is($node->safe_psql('postgres', q{SELECT count(*) FROM lb_closed WHERE board = 'kills/tourney:d'}), '0',
	'set forward: the visit closes no other window');

is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_verify()'), '0', 'boards and tables agree');
$session->quit;
$node->stop;
done_testing();
