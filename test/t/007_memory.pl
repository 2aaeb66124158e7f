# When memory is used up, boards go offline with the reason.  Reads run their queries
# and are right, writes go on, and lb_rebuild() builds the boards again when there is
# room.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('memory', "leaderboard.memory = '2MB'");
$node->start;
fill($node, 'postgres', 300);
ready($node, 'postgres', 'small');

sub offline
{
	my ($what, $reason) = @_;

	# At first it may be tried to build it anew.
	ok( $node->poll_query_until('postgres', q{SELECT state = 'offline' AND reason LIKE '%used up%'
			FROM lb_stat_board WHERE board = 'global'}),
		"$what: offline");
	like($node->safe_psql('postgres', q{SELECT reason FROM lb_stat_board WHERE board = 'global'}),
		$reason, "$what: reason");
	is($node->safe_psql('postgres', 'SELECT lb_rank(100001), lb_count() > 10000'), '1|t', "$what: read");
	cmp_ok($node->safe_psql('postgres', q{SELECT query_offline FROM lb_stat_board WHERE board = 'global'}),
		'>=', 2, "$what: counted");
	fails_with($node, 'postgres', q{SET leaderboard.offline = 'error'; SELECT lb_rank(1);}, '55000',
		qr/board "global" is offline.*DETAIL:  Reason:.*HINT:.*lb_rebuild/s, "$what: offline = error");
	$node->safe_psql('postgres', 'UPDATE player_scores SET score = 5000000 WHERE player_id = 100002');
	is($node->safe_psql('postgres', 'SELECT lb_rank(100001), lb_rank(100002)'), '2|1', "$what: writes go on");
	fails_with($node, 'postgres', 'SELECT lb_rebuild();', '55000',
		$reason, "$what: no room for lb_rebuild()");
	is($node->safe_psql('postgres', q{SET statement_timeout = '10min'; SELECT lb_wait_ready('1 day')}), 'f', "$what: lb_wait_ready() does not wait for it");
	return;
}

sub fill_up
{
	my ($how) = @_;

	$node->safe_psql('postgres', $_)
	  for $how eq 'at once'
	  ? ('INSERT INTO player_scores SELECT g, 4000000 - g FROM generate_series(100001, 200000) g')
	  : map {
		my $lo = 100001 + $_ * 3000;
		my $hi = $lo + 2999;
		"INSERT INTO player_scores SELECT g, 4000000 - g FROM generate_series($lo, $hi) g"
	  } 0 .. 33;
	return;
}

my $full = qr/memory.*is used up/;

for my $how ('at once', 'bit by bit')
{
	fill_up($how);
	offline($how, $full);
	$node->safe_psql('postgres', 'DELETE FROM player_scores WHERE player_id > 100000');
	$node->safe_psql('postgres', 'SELECT lb_rebuild()');
	ready($node, 'postgres', "$how: rebuilt");
	is($node->safe_psql('postgres', q{SELECT coalesce(reason, 'none') FROM lb_stat_board WHERE board = 'global'}),
		'none', "$how: no reason any more");
}

# Many boards
$node->safe_psql('postgres', q{INSERT INTO player_score_windows SELECT g, 'many:' || g, g FROM generate_series(1, 20000) g});
ok( $node->poll_query_until('postgres', q{SELECT state = 'offline' AND reason LIKE '%used up%'
		FROM lb_stat_board WHERE board = '*'}),
	'a family');
is($node->safe_psql('postgres', q{SELECT lb_rank(5, 'many:5'), lb_count('many:6'), lb_count('many:none')}), '1|1|0', 'its reads');
$node->safe_psql('postgres', q{DELETE FROM player_score_windows WHERE window_key LIKE 'many:%'; SELECT lb_rebuild('*')});
ready($node, 'postgres', 'a family, rebuilt');

# A transaction that is undone needs no memory afterwards.
$node->safe_psql('postgres', q{BEGIN;
	INSERT INTO player_scores SELECT g, g FROM generate_series(100001, 200000) g;
	SELECT lb_count() = 100300;
	ROLLBACK});
ready($node, 'postgres', 'rollback');

# A server that starts with too much in its tables
fill_up('at once');
$node->restart;
offline('after a restart', $full);
is(state($node, 'postgres', '*'), 'ready', 'other boards are ready');
$node->append_conf('postgresql.conf', "leaderboard.memory = '64MB'");
$node->restart;
ready($node, 'postgres', 'with more memory');

# The limit of a database
$node->append_conf('postgresql.conf', "leaderboard.database_memory = '1MB'");
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT current_setting('leaderboard.database_memory') = '1MB'}), 'a limit');
$node->safe_psql('postgres', 'DELETE FROM player_scores WHERE player_id > 100000; VACUUM player_scores');
$node->safe_psql('postgres', q{SELECT lb_rebuild()});
$node->safe_psql('postgres', 'CREATE DATABASE other');
fill($node, 'other', 5000);
ready($node, 'other', 'another database');
fill_up('bit by bit');
offline('database_memory', qr/memory.*is used up/);
ready($node, 'other', 'the other database');
is($node->safe_psql('postgres', q{SELECT bool_and(used <= 1024 * 1024) FROM lb_stat_memory WHERE datname = 'postgres'}),
	't', 'it takes no more than it may');
$node->append_conf('postgresql.conf', 'leaderboard.database_memory = 0');
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT current_setting('leaderboard.database_memory') = '0'}), 'no limit');
ready($node, 'postgres', 'without the limit, by itself');

# That of ALTER DATABASE
$node->safe_psql('postgres', q{ALTER DATABASE postgres SET leaderboard.database_memory = '64kB'});
$node->safe_psql('postgres', 'UPDATE player_scores SET score = player_id WHERE player_id BETWEEN 100002 AND 110000');
offline('a limit of ALTER DATABASE', qr/memory.*is used up/);
$node->reload;
$node->safe_psql('postgres', q{ALTER DATABASE postgres SET leaderboard.database_memory = '128MB'});
$node->reload;
ready($node, 'postgres', 'with a higher one');

$node->stop;
done_testing();
