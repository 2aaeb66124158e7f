# Rebuilds while writers go on.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('rebuild', "leaderboard.build_workers = 2\nmaintenance_work_mem = '8MB'");
$node->start;
my $players = 20000;
fill($node, 'postgres', $players);
ready($node, 'postgres', 'made');

sub changed
{
	return $node->safe_psql('postgres', q{SELECT sum(changes) FROM lb_stat_board WHERE board IN ('global', '*')});
}

my $before = changed();
my $writers = start_writers($node, 'postgres', $players, 12, 3);
ok($node->poll_query_until('postgres', "SELECT sum(changes) > $before FROM lb_stat_board WHERE board IN ('global', '*')"),
	'sessions write');
for my $round (1 .. 10)
{
	$node->safe_psql('postgres', 'SELECT lb_rebuild()');
	$node->safe_psql('postgres', q{SELECT lb_rebuild('*')});
	is($node->safe_psql('postgres', q{SELECT bool_and(state = 'ready') FROM lb_stat_board WHERE board IN ('global', '*')}),
		't', "round $round: the boards are ready");

	# One statement, one snapshot
	is( $node->safe_psql('postgres', q{
			SELECT count(*) FROM
				(SELECT player_id, row_number() OVER (ORDER BY score DESC, updated_at, player_id) AS r FROM player_scores) s
			WHERE player_id % 200 = 0 AND r IS DISTINCT FROM lb_rank(player_id)}),
		'0', "round $round: ranks under fire");
	is($node->safe_psql('postgres', 'SELECT * FROM lb_verify()'), '', "round $round: index and table are equal under fire")
	  if $round % 3 == 0;
}
stop_writers($writers);
ready($node, 'postgres', 'after the writers');

# Many sessions ask for builds of both boards at once
my @sessions = map { open_session($node, 'postgres', on_error_stop => 1) } 1 .. 4;
$_->query_until(qr/on it/, "\\echo on it\nSELECT lb_rebuild();\nSELECT lb_rebuild();\n") for @sessions;
is($_->query(q{SELECT 'done'}) =~ s/\s//gr, 'done', 'lb_rebuild() at the same time') for @sessions;
$_->quit for @sessions;
ready($node, 'postgres', 'after all of them');

# Large transactions.  Two of the same rows can come to wait for each other, for
# they update them in the order in which each finds them.
my $script = $node->basedir . '/large.sql';
append_to_file($script, q{
\set from random(0, 1)
BEGIN;
UPDATE player_scores SET score = (score + player_id) % 1000
	WHERE player_id > 10000 * :from AND player_id <= 10000 * :from + 10000;
UPDATE player_score_windows SET window_key = 'weekly:' || player_id % 11, score = score + 1
	WHERE player_id = 10000 * :from + 1;
COMMIT;
});
my %large = (out => '');
my $run = IPC::Run::start(
	[ 'pgbench', '-n', '-h', $node->host, '-p', $node->port, '-t', 6, '-c', 2, '--max-tries=100', '-f', $script, 'postgres' ],
	'<', \undef, '&>', \$large{out});
$writers = start_writers($node, 'postgres', 10000, 5);
my $rounds = 0;
while ($run->pumpable && $rounds < 200)
{
	$node->safe_psql('postgres', 'SELECT lb_rebuild()');
	is( $node->safe_psql('postgres', q{
			SELECT count(*) FROM
				(SELECT player_id, row_number() OVER (ORDER BY score DESC, updated_at, player_id) AS r FROM player_scores) s
			WHERE player_id % 2000 = 0 AND r IS DISTINCT FROM lb_rank(player_id)}),
		'0', 'ranks beside large transactions');
	$rounds++;
	$run->pump_nb;
}
$run->finish;
unlike($large{out}, qr/ERROR|FATAL|aborted in/, 'no large transaction has failed') or diag($large{out});
stop_writers($writers);
ready($node, 'postgres', 'after large transactions');

$node->stop;
done_testing();
