# Each background process is terminated, and killed, in each of its phases, while a session
# writes: boards are ready again and equal to their tables, windows are closed and rewards
# paid once, and what is watched is notified.

use strict;
use warnings;

use FindBin;
use IPC::Run;
use lib "$FindBin::RealBin/../../t";
use LbStandby;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Sessions that write or read pass the points.
$ENV{PGOPTIONS} = '-c leaderboard.pause_at=';

my $players = 1000;
my $node = lb_node('primary', <<'END', allows_streaming => 1);
autovacuum = off
max_worker_processes = 24
max_parallel_maintenance_workers = 2
min_parallel_table_scan_size = 0
leaderboard.maintenance_interval = 1s
leaderboard.notify_interval = 50ms
END
$node->start;
fill($node, 'postgres', $players);
$node->safe_psql('postgres', q{
	CREATE TABLE seen (score integer);
	INSERT INTO seen SELECT g % 1000 FROM generate_series(1, 20000) g;
	CREATE TABLE cut (player_id integer PRIMARY KEY, score integer NOT NULL);
	INSERT INTO cut SELECT g, g FROM generate_series(1, 5000) g;
	SELECT lb_create_board('seen', 'seen', keeps => 'counts'), lb_create_board('cut', 'cut');
	CREATE TABLE paid (key text);
	CREATE FUNCTION pay(key text, standings jsonb) RETURNS void LANGUAGE sql AS 'INSERT INTO public.paid VALUES (key)';
	SELECT lb_open_window('month', 'monthly', keep => '100 years', late => '1 day');
	SELECT lb_set_reward('month', 'pay(text, jsonb)');
	SELECT lb_watch_member(1)});
ready($node, 'postgres', 'made');

sub activity
{
	my ($where) = @_;

	return "FROM pg_stat_activity WHERE backend_type = 'leaderboard $where'";
}

# The two sessions that stop processes in turn: the lock is the first one's.
my @holders;

sub hold
{
	my ($db) = @_;

	@holders = map { open_session($node, $db) } 1 .. 2;
	$holders[0]->query('SELECT pg_advisory_lock(20260411)');
	return;
}

# Let those that wait go on to their next point.
sub step
{
	$holders[1]->query_until(qr/asks/, "\\echo asks\nSELECT pg_advisory_lock(20260411);\n");
	$node->poll_query_until('postgres', q{
		SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND NOT granted)})
	  or die 'the lock has no queue';
	$holders[0]->query('SELECT pg_advisory_unlock(20260411)');
	$holders[1]->query('SELECT 1');
	@holders = reverse @holders;
	return;
}

sub let_go
{
	my ($crashed) = @_;

	if ($crashed)
	{
		$_->{run}->kill_kill for @holders;
	}
	else
	{
		$_->quit for @holders;
	}
	@holders = ();
	return;
}

# A process of a kind that waits at a point.
sub stopped
{
	my ($kind) = @_;
	my $who = $kind eq 'parallel worker' ? q{FROM pg_stat_activity WHERE backend_type = 'parallel worker'} : activity($kind);

	$node->poll_query_until('postgres', "SELECT count(*) > 0 $who AND wait_event = 'advisory'")
	  or die "no $kind has stopped";
	return $node->safe_psql('postgres', "SELECT min(pid) $who AND wait_event = 'advisory'");
}

# Workers that connect to a database take its setting.
sub pause_workers
{
	my ($points, $kind) = @_;

	$node->safe_psql('postgres', $points eq '' ? 'ALTER DATABASE postgres RESET leaderboard.pause_at' :
		  "ALTER DATABASE postgres SET leaderboard.pause_at = '$points'");
	return if $points eq '';
	$node->poll_query_until('postgres', 'SELECT count(*) = 0 ' . activity($kind)) or die "a $kind does not end";
	return;
}

# Processes that stay have what the postmaster had when they started.
sub pause_next
{
	my ($points) = @_;
	local $ENV{PGOPTIONS} = '';

	$node->safe_psql('postgres', "ALTER SYSTEM SET leaderboard.pause_at = '$points'");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT current_setting('leaderboard.pause_at') = '$points'") or die 'the setting does not come';
	return;
}

my $turn = 0;
my $month = 202000;

sub change
{
	$turn++;
	$node->safe_psql('postgres', qq{
		UPDATE player_scores SET score = 1000 + $turn WHERE player_id = 1;
		UPDATE player_scores SET score = (score * 31 + player_id) % 500 WHERE player_id % 20 = $turn % 20 AND player_id > 1;
		DELETE FROM player_score_windows WHERE player_id % 50 = $turn % 50 AND window_key LIKE 'weekly:%';
		INSERT INTO seen SELECT g FROM generate_series(1, 10) g});
	return;
}

# Rows of a window that is over.
sub close_one
{
	$month++;
	$node->safe_psql('postgres', "INSERT INTO player_score_windows SELECT p, 'month:$month', p FROM generate_series(1, 3) p");
	return;
}

# All is well: with the boards, with the windows that are over, and with what is watched.
sub well
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	change();
	ready($node, 'postgres', $what);
	is($node->safe_psql('postgres', q{
			SELECT lb_count('seen') = count(*) AND lb_rank_of_score(500, 'seen') = count(*) FILTER (WHERE score > 500) + 1 FROM seen}),
		't', "$what: a board of counts is right");
	ok($node->poll_query_until('postgres', qq{SELECT count(*) = $month - 202000 FROM paid}), "$what: rewards are paid");
	is($node->safe_psql('postgres', q{
			SELECT count(*) = count(DISTINCT key) FROM paid;
			SELECT count(*) FROM lb_closed FULL JOIN (SELECT board, string_agg(place || ':' || member || ':' || score, ' ' ORDER BY place) AS standings FROM lb_archive GROUP BY board) a USING (board)
			WHERE standings IS DISTINCT FROM '1:3:3 2:2:2 3:1:1'}), "t\n0", "$what: closed and paid once");

	# The state that is recorded is sent in the same transaction.
	ok($node->poll_query_until('postgres', q{SELECT last_ranks = '{1}' AND last_scores = ARRAY[(SELECT score::text FROM player_scores WHERE player_id = 1)] FROM lb_watched}),
		"$what: what is watched is known");
	return;
}

# Signal a process that has stopped, and wait until it is gone.
sub signal
{
	my ($signal, $pid, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	kill $signal, $pid;
	# One that does not look for signals in the middle of its work goes on first.
	let_go($signal eq 'KILL') if $signal eq 'KILL' || $what =~ /^(launcher|applier)/;
	ok(runs_without($node, $pid), "$what: it is gone");
	let_go(0) if @holders;
	return;
}

# The processes that build, and the maintenance worker.
for my $signal ('TERM', 'KILL')
{
	for my $point ('visit', 'claim', 'resolved', 'build', 'scan', 'packed', 'install', 'ready')
	{
		my $kind = $point eq 'scan' ? 'parallel worker' : 'worker';
		my $what = "$kind, $signal at $point";

		hold('postgres');
		pause_workers($point, 'worker');
		my $rebuild = IPC::Run::start([ 'psql', '-X', '-q', '-c', 'SELECT lb_rebuild()', '-d', $node->connstr('postgres') ],
			'<', \undef, '>', \my $output, '2>', \my $error);
		my $pid = stopped($kind);
		pause_workers('');
		# It holds the locks of a board while it installs its index.
		change() if $point ne 'install';
		# A lock that it holds keeps signals back.
		$holders[0]->query('SELECT pg_advisory_unlock(20260411)') if $point eq 'install' && $signal eq 'TERM' && kill $signal, $pid;
		signal($signal, $pid, $what);
		$rebuild->finish;
		well($what);
	}
}

for my $signal ('TERM', 'KILL')
{
	for (
		[ 'closed', "SELECT EXISTS (SELECT FROM lb_closed WHERE board = 'month:\$')" ],
		[ 'noted', "SELECT attempts = 1 AND paid_at IS NULL FROM lb_payout WHERE board = 'month:\$'" ],
		[ 'paid', "SELECT EXISTS (SELECT FROM lb_payout WHERE board = 'month:\$' AND paid_at IS NOT NULL)" ])
	{
		my ($phase, $query) = @$_;
		my $what = "maintenance, $signal when $phase";
		my $pid;

		pause_workers('step', 'maintenance');
		hold('postgres');
		close_one();
		$query =~ s/\$/$month/g;
		for (1 .. 200)
		{
			$pid = stopped('maintenance');
			last if $node->safe_psql('postgres', $query) eq 't';
			step();
		}
		is($node->safe_psql('postgres', $query), 't', "$what: it is there");
		pause_workers('');
		change();
		signal($signal, $pid, $what);
		well($what);
	}
}

# Those that stay: how the process comes to the point with something to do.
my $used = q{SELECT used FROM lb_stat_memory WHERE datname = 'postgres'};
my $used_before;
# Commits that are left to the applier.
my $settle = q{
	DO $$ BEGIN FOR i IN 2 .. 61 LOOP
		UPDATE player_scores SET score = (score * 31 + i) % 500 WHERE player_id = i; COMMIT;
	END LOOP; END $$};
my @residents = (
	[ 'launcher', 'orders', sub {
			# It has nothing to do, and then memory to give back.
			$node->reload;
			stopped('launcher');
			$used_before = $node->safe_psql('postgres', $used);
			$node->safe_psql('postgres', 'ALTER TABLE cut DISABLE TRIGGER ALL');
			step();
		}, sub {
			my ($what) = @_;

			ok($node->poll_query_until('postgres', "SELECT ($used) < $used_before - 100000"), "$what: the memory comes back");
			$node->safe_psql('postgres', q{
				ALTER TABLE cut ENABLE TRIGGER ALL;
				SELECT lb_drop_board('cut');
				INSERT INTO cut SELECT g, g FROM generate_series(1, 5000) g ON CONFLICT DO NOTHING;
				SELECT lb_create_board('cut', 'cut')});
		} ],
	[ 'launcher', 'xid', sub {
			$node->safe_psql('postgres', 'TRUNCATE cut');
		}, sub { } ],
	[ 'launcher', 'left', sub {
			$node->safe_psql('postgres', q{
				BEGIN; UPDATE player_scores SET score = score + 1 WHERE player_id < 9; PREPARE TRANSACTION 'left'; COMMIT PREPARED 'left'});
		}, sub { } ],
	[ 'applier', 'backlog', sub {
			# One that has just begun is not known at once: until then commits apply all.
			for (1 .. 100)
			{
				$node->safe_psql('postgres', $settle);
				last if $node->safe_psql('postgres', 'SELECT EXISTS (SELECT ' . activity('applier') . " AND wait_event = 'advisory')") eq 't';
			}
		}, sub { } ],
	[ 'notifier', 'watches', sub { }, sub { } ],
	[ 'notifier', 'notified', sub {
			stopped('notifier');
			$node->safe_psql('postgres', 'UPDATE player_scores SET score = score + 5000 WHERE player_id = 1');
			step();
		}, sub { } ]);

sub residents_are_there
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return ok($node->poll_query_until('postgres', q{
			SELECT array_agg(backend_type ORDER BY backend_type) = '{leaderboard applier,leaderboard launcher,leaderboard notifier}'
			FROM pg_stat_activity WHERE backend_type IN ('leaderboard applier', 'leaderboard launcher', 'leaderboard notifier')}),
		"$what: each process is there once");
}

pause_next($residents[0][1]);
$node->restart;
for my $i (0 .. $#residents)
{
	my ($kind, $point, $come, $then) = @{ $residents[$i] };

	for my $signal ('TERM', 'KILL')
	{
		my $what = "$kind, $signal at $point";

		residents_are_there("before $what");
		hold($kind eq 'notifier' ? 'postgres' : 'template1');
		$come->();
		my $pid = stopped($kind);
		change();
		pause_next($i < $#residents ? $residents[ $i + 1 ][1] : 'notified,forget') if $signal eq 'KILL';
		signal($signal, $pid, $what);
		$then->($what);
		well($what);
	}
}

# A notifier finds no watches.  When it has forgotten the database, it finds a watch that
# was committed before, and is terminated.
my $what = 'notifier, TERM when it has forgotten';
hold('postgres');
stopped('notifier');
$node->safe_psql('postgres', 'SELECT lb_unwatch_member(1)');
step();
stopped('notifier');
step();
my $pid = stopped('notifier');
is($node->safe_psql('postgres', "SELECT xact_start IS NULL FROM pg_stat_activity WHERE pid = $pid"), 't', "$what: it has not yet");
$node->safe_psql('postgres', 'SELECT lb_watch_member(1)');
step();
is(stopped('notifier'), $pid, "$what: it has");
signal('TERM', $pid, $what);
well($what);
pause_next('');

# The launcher is terminated while its workers are at work.  The next one does not know
# of them.
$what = 'launcher, TERM with workers';
hold('postgres');
pause_workers('packed,step', 'maintenance');
close_one();
my $output;
my $rebuild = IPC::Run::start([ 'psql', '-X', '-q', '-c', 'SELECT lb_rebuild()', '-d', $node->connstr('postgres') ],
	'<', \undef, '>', \$output, '2>', \my $error);
stopped($_) for 'worker', 'maintenance';
kill 'TERM', launcher_pid($node);
ok($node->poll_query_until('postgres', 'SELECT count(*) = 2 ' . activity('maintenance') . q{ AND wait_event = 'advisory'}), "$what: another worker comes");
change();
pause_workers('');
let_go(0);
$rebuild->finish;
well($what);
residents_are_there($what);

# A build's worker is terminated after its index has been installed.  An old transaction is
# open, and no other one ends.
$what = 'worker, TERM with a new index';
my ($old, $planner) = map { open_session($node, 'postgres') } 1 .. 2;
$old->query('BEGIN; SELECT pg_current_xact_id()');
hold('postgres');
pause_workers('packed,ready', 'worker');
$node->safe_psql('postgres', q{
	CREATE TABLE fresh (player_id integer PRIMARY KEY, score integer NOT NULL);
	INSERT INTO fresh SELECT g, g FROM generate_series(1, 5000) g;
	SELECT lb_create_board('fresh', 'fresh')});
$pid = stopped('worker');
is(state($node, 'postgres', 'fresh'), 'building', "$what: it is not yet");
$planner->query('SET leaderboard.enable_planner = on; SET enable_sort = off; SET plan_cache_mode = force_generic_plan; PREPARE q AS SELECT player_id FROM fresh WHERE player_id % 2 = 0 ORDER BY score DESC, player_id LIMIT 3');
unlike($planner->query('EXPLAIN EXECUTE q'), qr/Leaderboard/, "$what: a plan without it");
step();
is(stopped('worker'), $pid, "$what: it is installed");
signal('TERM', $pid, $what);
is($node->safe_psql('postgres', q{SELECT state, reason FROM lb_stat_board WHERE board = 'fresh'}), 'ready|', "$what: the board is ready");
like($planner->query('EXPLAIN EXECUTE q'), qr/Leaderboard/, "$what: a plan with it");
ok($node->poll_query_until('postgres', q{SELECT lb_stat_reset(); SELECT lb_count('fresh'); SELECT index_reads > 0 FROM lb_stat_board WHERE board = 'fresh'}, "\n5000\nt"),
	"$what: the index answers");
$old->query('COMMIT');
$_->quit for $old, $planner;
pause_workers('');
well($what);

# A standby is promoted while it has no launcher.
$what = 'launcher, TERM before a promotion';
$node->safe_psql('postgres', q{
	CREATE UNLOGGED TABLE quick (player_id integer PRIMARY KEY, score integer);
	SELECT lb_create_board('quick', 'quick')});
$node->safe_psql('postgres', 'ALTER SYSTEM RESET leaderboard.pause_at');
my $primary = $node;
$node = standby_of($primary, 'standby', "leaderboard.pause_at = 'begun'");
$node->start;
caught_up($primary, $node);
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM lb_stat_board WHERE board = 'quick' AND state = 'offline'}),
	"$what: a board that a standby cannot build");
hold('template1');
$pid = launcher_pid($node);
kill 'TERM', $pid;
ok(runs_without($node, $pid), "$what: it is gone");
stopped('launcher');
$primary->stop('immediate');
$node->safe_psql('postgres', 'SELECT pg_promote()');
let_go(0);
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM lb_stat_board WHERE board = 'quick' AND state = 'ready'}), "$what: it is built");
$node->safe_psql('postgres', 'INSERT INTO quick VALUES (1, 1)');
well($what);
$node->stop;
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|signal (4|6|11)\b|did not hold/, 'nothing bad in the log of ' . $_->name) for $primary, $node;
done_testing();
