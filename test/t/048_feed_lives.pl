# Whether a standby has seen all changes: lives of its primary that end, with the library
# and without, and the setting off and on.  While it may have missed some, its reads run
# their queries; after that it builds again, if it has to.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbStandby;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = lb_node('primary', <<'END', allows_streaming => 1);
autovacuum = off
leaderboard.maintenance_interval = 0
leaderboard.feed_standbys = auto
END
$primary->start;
fill($primary, 'postgres', 40);
install_oracle($primary, 'postgres');
$primary->safe_psql('postgres', 'CREATE TABLE other (x integer)');

# A setting that is meant for users does not disturb our processes.
$primary->safe_psql('postgres', q{ALTER ROLE CURRENT_USER SET default_transaction_isolation = 'read committed'});
my $standby = standby_of($primary, 'standby', "default_transaction_isolation = 'serializable'");
$standby->start;

my $n = 0;

# Transactions of all kinds.  The first ten players are for others, which may stay open.
sub change
{
	$n++;
	$primary->safe_psql('postgres', qq{
		UPDATE player_scores SET score = score + (player_id * $n) % 17 WHERE player_id > 10;
		DELETE FROM player_scores WHERE player_id = 100 + $n - 1;
		INSERT INTO player_scores VALUES (100 + $n, $n);
		UPDATE player_score_windows SET window_key = 'weekly:' || (player_id + $n) % 3, score = score + 1 WHERE player_id > 10;
		BEGIN; UPDATE player_scores SET score = 100 + $n WHERE player_id = 11 + $n % 29; SAVEPOINT s;
		UPDATE player_scores SET score = 1000 WHERE player_id = 12; ROLLBACK TO s; COMMIT});
	return;
}

# A commit that changes no board.
sub commit
{
	$primary->safe_psql('postgres', 'INSERT INTO other VALUES (1)');
	return;
}

my $built;

sub follows
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	same($primary, $standby, $what);
	$built = builds($standby);
	return;
}

# ... with the index that it had.
sub follows_on
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	same($primary, $standby, $what);
	return is(builds($standby), $built, "$what: nothing was built");
}

# ... with a new one.
sub builds_again
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	same($primary, $standby, $what);
	isnt(builds($standby), $built, "$what: boards were built");
	$built = builds($standby);
	return;
}

# The standby may have missed changes.
sub by_query
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	caught_up($primary, $standby);
	same_by($standby, 'postgres', 'query', $what);
	return is($standby->safe_psql('postgres', q{SELECT DISTINCT state, reason FROM lb_stat_board WHERE board IN ('global', '*')}),
		'offline|the standby may have missed changes', "$what: the boards' state");
}

# The primary is down.
sub down
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return same_by($standby, 'postgres', 'index', "$what: while it is down");
}

# Set something for the primary's next start, or reload.
sub conf
{
	my (%settings) = @_;

	$primary->adjust_conf('postgresql.conf', $_, "'$settings{$_}'") for keys %settings;
	return;
}

follows('at first');
change();
follows_on('changes');

#
# The primary stops and starts, and crashes.  Prepared transactions go on.
#

for my $mode ('fast', 'immediate')
{
	my $what = "stopped ($mode)";

	$primary->safe_psql('postgres', qq{
		BEGIN; UPDATE player_scores SET score = 5000 WHERE player_id = 3; PREPARE TRANSACTION 'commit_$mode';
		BEGIN; UPDATE player_scores SET score = 6000 WHERE player_id = 4; DELETE FROM player_scores WHERE player_id = 5; PREPARE TRANSACTION 'abort_$mode'});
	my $session = open_session($primary, 'postgres');
	$session->query('BEGIN; UPDATE player_scores SET score = 7000 WHERE player_id = 6');
	follows_on("$what: before");
	$primary->stop($mode);
	$session->{run}->kill_kill;
	down($what);
	$primary->start;
	follows_on("$what: started");
	change();
	follows_on("$what: goes on");
	$primary->safe_psql('postgres', "COMMIT PREPARED 'commit_$mode'; ROLLBACK PREPARED 'abort_$mode'");
	follows_on("$what: prepared transactions end");
	change();
	follows_on("$what: and then");
	verified($what, $primary, $standby);
}
crash($primary, 'checkpointer');
change();
follows_on('the primary restarts by itself');

#
# The primary without the library
#

conf(shared_preload_libraries => '');
$primary->restart;
caught_up($primary, $standby);
down('without the library');
conf(shared_preload_libraries => 'leaderboard');
$primary->restart;
follows_on('a life without the library and without changes');
change();
follows_on('a life without the library and without changes, and then');

conf(shared_preload_libraries => '');
$primary->restart;
change();
by_query('without the library: changes');
$primary->stop;
same_by($standby, 'postgres', 'query', 'without the library: stopped');
conf(shared_preload_libraries => 'leaderboard');
$primary->start;
builds_again('after the library was absent');
change();
follows_on('after the library was absent, and then');

# A commit that changes nothing of ours looks like any other.
conf(shared_preload_libraries => '');
$primary->restart;
commit();
by_query('without the library: a commit');
conf(shared_preload_libraries => 'leaderboard');
$primary->restart;
builds_again('after the library was absent, and a commit');

# So does a PREPARE.
conf(shared_preload_libraries => '');
$primary->restart;
$primary->safe_psql('postgres', q{BEGIN; UPDATE player_scores SET score = 8000 WHERE player_id = 7; PREPARE TRANSACTION 'p'});
by_query('without the library: prepared');
conf(shared_preload_libraries => 'leaderboard');
$primary->restart;
caught_up($primary, $standby);
change();
caught_up($primary, $standby);

# Boards of its table wait for its end, on both.
same_by($standby, 'postgres', 'any', 'prepared without the library');
$primary->safe_psql('postgres', q{COMMIT PREPARED 'p'});
boards_ready($primary, 'postgres');
builds_again('prepared without the library, committed');
change();
follows_on('prepared without the library, and then');
verified('the library was absent', $primary, $standby);

#
# The setting
#

# Wait until the standby may have missed changes, or not.
sub set_feed
{
	my ($to, $state) = @_;

	conf('leaderboard.feed_standbys' => $to);
	$primary->reload;
	ok( $standby->poll_query_until('postgres',
			qq{SELECT bool_and((reason IS NOT DISTINCT FROM 'the standby may have missed changes') = ($state)) FROM lb_stat_board WHERE board IN ('global', '*')}),
		"feed_standbys = $to: the standby knows");
	return;
}

# Boards of a database that is dropped meanwhile are forgotten, those of a new one found.
$primary->safe_psql('postgres', 'CREATE DATABASE gone');
fill($primary, 'gone', 20);
caught_up($primary, $standby);
ok(boards_ready($standby, 'gone'), 'another database');
set_feed('off', 'true');
by_query('switched off');

# A board that says what its reads do there; the option has come with WAL.
$primary->safe_psql('postgres', q{SELECT lb_set_offline('global', 'error')});
caught_up($primary, $standby);
fails_with($standby, 'postgres', 'SELECT lb_rank(7)', '55000',
	qr/board "global" is offline.*Reason: the standby may have missed changes\..*Ask the primary server, or set "leaderboard\.enable_index" to off/s,
	'the board says error');
is($standby->safe_psql('postgres', q{SET leaderboard.enable_index = off; SELECT lb_rank(7)}),
	$primary->safe_psql('postgres', 'SELECT lb_rank(7)'), 'the query of a session that wants it');
is($standby->safe_psql('postgres', q{SELECT lb_count('weekly:1')}),
	$primary->safe_psql('postgres', q{SELECT lb_count('weekly:1')}), 'another board runs its query');
fails_with($standby, 'postgres', q{SELECT lb_set_offline('global', NULL)}, '25006', qr/lb_set_offline\(\)/, 'not on a standby');
$primary->safe_psql('postgres', q{SELECT lb_set_offline('global', 'query')});
caught_up($primary, $standby);
is($standby->safe_psql('postgres', q{SET leaderboard.offline = error; SELECT lb_rank(7)}),
	$primary->safe_psql('postgres', 'SELECT lb_rank(7)'), 'the board says query');
$primary->safe_psql('postgres', q{SELECT lb_set_offline('global', NULL)});
change();
retry_accessed($primary, 'DROP DATABASE gone');
$primary->safe_psql('postgres', 'CREATE DATABASE come');
fill($primary, 'come', 20);
by_query('switched off, changes');
set_feed('on', 'false');
builds_again('switched on');
ok( $standby->poll_query_until('postgres', q{
		SELECT string_agg(datname, ',' ORDER BY datname) = 'come,postgres' FROM lb_stat_memory WHERE used > 0 AND datname IS NOT NULL}),
	'switched on: one database is forgotten, and another is found');
change();
follows_on('switched on, and then');

# A transaction that has changed rows before
set_feed('off', 'true');
my $session = open_session($primary, 'postgres');
$session->query('BEGIN; UPDATE player_scores SET score = 9000 WHERE player_id = 8');
$primary->safe_psql('postgres', q{BEGIN; UPDATE player_score_windows SET score = 9000 WHERE player_id = 8; PREPARE TRANSACTION 'p'});
set_feed('on', 'false');
caught_up($primary, $standby);
same_by($standby, 'postgres', 'any', 'switched on beside an old transaction');
change();
caught_up($primary, $standby);
same_by($standby, 'postgres', 'any', 'switched on beside an old transaction, changes');
$session->query('COMMIT');
$session->quit;
$primary->safe_psql('postgres', q{COMMIT PREPARED 'p'});
change();
builds_again('the old transactions have ended');
change();
follows_on('the old transactions have ended, and then');

# A life that begins without it: with changes, and with none but what builds commit
conf('leaderboard.feed_standbys' => 'off');
$primary->restart;
caught_up($primary, $standby);
same_by($standby, 'postgres', 'any', 'started with it off');
set_feed('auto', 'false');
builds_again('started with it off, and switched on');
conf('leaderboard.feed_standbys' => 'off');
$primary->restart;
change();
by_query('started with it off: changes');
set_feed('auto', 'false');
builds_again('started with it off: changes, and switched on');
change();
follows_on('switched on, and then again');
verified('the setting', $primary, $standby);

#
# The standby
#

for my $how ('restart', 'immediate', 'startup', 'client backend', 'leaderboard launcher', 'leaderboard applier')
{
	my $what = "standby: $how";

	$primary->safe_psql('postgres', q{BEGIN; UPDATE player_scores SET score = 5000 + random() * 100 WHERE player_id = 9; PREPARE TRANSACTION 'p'});
	caught_up($primary, $standby);
	if ($how eq 'restart')
	{
		$standby->restart;
	}
	elsif ($how eq 'immediate')
	{
		$standby->stop('immediate');
		$standby->start;
	}
	else
	{
		my $reader = open_session($standby, 'postgres');

		$reader->query('SELECT lb_rank(1)');
		crash($standby, $how, $how eq 'client backend' ? $reader->query('SELECT pg_backend_pid()') : undef);
		$reader->{run}->kill_kill;
	}
	change();
	if ($how eq 'restart' || $how eq 'client backend')
	{
		# It has not kept what the prepared transaction has changed.
		caught_up($primary, $standby);
		is($standby->safe_psql('postgres', q{SELECT lb_wait_ready('2 s')}), 'f', "$what: no build beside a prepared transaction");
	}
	$primary->safe_psql('postgres', q{COMMIT PREPARED 'p'});
	follows($what);
	change();
	follows_on("$what, and then");
}

# It starts while the primary is down.
$primary->stop;
$standby->restart;
same_by($standby, 'postgres', 'any', 'both were down');
$primary->start;
change();
follows('both were down, and then');
verified('at last', $primary, $standby);

$standby->stop;
$primary->stop;
for my $node ($primary, $standby)
{
	unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal (?!9)|did not hold/, 'nothing bad in the log of ' . $node->name);
}
done_testing();
