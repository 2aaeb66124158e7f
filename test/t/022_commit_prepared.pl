# COMMIT PREPARED makes a transaction's changes visible, removes the files of dropped
# relations, and only then sends the invalidation for a disabled trigger.  A build
# that starts between these must not trust what an earlier build of the same worker
# has left in its caches.
#
# A lease on such a file makes COMMIT PREPARED wait there.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use Fcntl;
use PostgreSQL::Test::Utils;
use Test::More;

# The kernel signals the holder of the lease when another process waits.
local $SIG{IO} = 'IGNORE';

sub lease
{
	my ($file) = @_;

	open my $fh, '<', $file or die "$file: $!";
	return eval { fcntl($fh, Fcntl::F_SETLEASE(), F_RDLCK) } ? $fh : undef;
}

my $try = PostgreSQL::Test::Utils::tempdir() . '/lease';
append_to_file($try, '');
plan skip_all => 'no leases on files here' unless lease($try);

# After so many seconds the kernel breaks a lease.
my $breaks = slurp_file('/proc/sys/fs/lease-break-time');

my $node = lb_node('commit_prepared', <<'END');
autovacuum = off
leaderboard.build_workers = 1
leaderboard.maintenance_interval = 0
END
$node->start;

# A build of the board q waits while this file is not there.
my $gate = $node->data_dir . '/gate';
append_to_file($gate, '');
$node->safe_psql('postgres', q{
	CREATE EXTENSION leaderboard;
	CREATE TABLE one (player_id bigint PRIMARY KEY, score bigint NOT NULL);
	INSERT INTO one SELECT g, g FROM generate_series(1, 5) g;
	CREATE TABLE parted (player_id bigint PRIMARY KEY, score bigint NOT NULL) PARTITION BY RANGE (player_id);
	CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (1) TO (3);
	CREATE TABLE parted_2 PARTITION OF parted DEFAULT;
	INSERT INTO parted SELECT g, g FROM generate_series(1, 5) g;
	CREATE TABLE q (player_id bigint PRIMARY KEY, score bigint NOT NULL);
	INSERT INTO q VALUES (1, 1);
	CREATE FUNCTION gated(score bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$
	BEGIN
		WHILE pg_stat_file('gate', true) IS NULL LOOP
			PERFORM pg_sleep(0.01);
		END LOOP;
		RETURN score;
	END
	$$;
	SELECT lb_create_board(t, t::regclass) FROM unnest('{one,parted}'::text[]) t;
	SELECT lb_create_board('q', 'q', rank_by => 'gated(score) DESC')});
wait_ready($node, 'postgres');

# A board, and the table whose trigger is disabled.  Returns whether the lease has lasted.
sub window
{
	my ($board, $table) = @_;

	$node->safe_psql('postgres', 'CREATE TABLE dropped ()');
	my $file = $node->data_dir . '/' . $node->safe_psql('postgres', q{SELECT pg_relation_filepath('dropped')});

	# One worker builds all, and this board before that of q
	unlink $gate or die $!;
	$node->restart;
	ok( $node->poll_query_until('postgres', qq{
			SELECT EXISTS (SELECT FROM lb_stat_board WHERE board = '$board' AND state = 'ready')
				AND EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'leaderboard worker' AND wait_event = 'PgSleep')}),
		"$board: the worker is at another board");

	$node->safe_psql('postgres', qq{
		BEGIN;
		DROP TABLE dropped;
		ALTER TABLE $table DISABLE TRIGGER leaderboard_capture;
		PREPARE TRANSACTION 'disable'});
	my $began = time;
	my $fh = lease($file) or die "no lease on $file: $!";
	my $committer = open_session($node, 'postgres', on_error_stop => 1);
	$committer->query_until(qr/now/, "\\echo now\nCOMMIT PREPARED 'disable';\n");
	$node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_prepared_xacts')
	  or die 'it does not commit';

	# The build that the launcher wants is the same worker's next one
	$node->poll_query_until('postgres', "SELECT state = 'building' FROM lb_stat_board WHERE board = '$board'")
	  or die 'no build is asked for';
	append_to_file($gate, '');
	$node->poll_query_until('postgres', "SELECT state <> 'building' FROM lb_stat_board WHERE board = '$board'")
	  or die 'no build runs';
	my $state = $node->safe_psql('postgres', "SELECT state, reason FROM lb_stat_board WHERE board = '$board'");
	my $locks = $node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE relation = '$table'::regclass AND mode = 'ShareRowExclusiveLock'");
	my $lasted = time - $began < $breaks - 5;

	is($state, 'offline|a capture trigger is missing or disabled', "$board: the build sees that the trigger is disabled");
	is($locks, '1', "$board: COMMIT PREPARED has not ended") if $lasted;
	fcntl($fh, Fcntl::F_SETLEASE(), F_UNLCK) or !$lasted or die $!;
	close $fh;
	$committer->quit;

	$node->safe_psql('postgres', "UPDATE $board SET score = 100 WHERE player_id = 1");
	is($node->safe_psql('postgres', "SELECT lb_rank(1, '$board')"), '1', "$board: uncaptured changes are ranked");
	$node->safe_psql('postgres', "ALTER TABLE $table ENABLE ALWAYS TRIGGER leaderboard_capture");
	wait_ready($node, 'postgres');
	is($node->safe_psql('postgres', "SELECT * FROM lb_verify('$board')"), '', "$board: enabled again, index and table are equal");
	return $lasted;
}

# On a machine that is too busy once more.
for my $of ([ 'one', 'one' ], [ 'parted', 'parted_1' ])
{
	my $lasted;

	for my $round (1 .. 10)
	{
		last if $lasted = window(@$of);
	}
	ok($lasted, "$of->[0]: fast enough");
}

$node->stop;
done_testing();
