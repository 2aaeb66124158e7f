# Rewards: the worker calls a function for each closed window, and neither a crash
# nor a cancelled or terminated worker loses or repeats a call.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('rewards', "leaderboard.maintenance_interval = 1s\nfsync = off");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION leaderboard;
	SELECT lb_create_tables();
	SELECT lb_open_window('month', 'monthly', keep => '100 years', late => '1 day');
	CREATE TABLE slow (seconds integer);
	CREATE TABLE prize (board text, player_id bigint, place integer);
	CREATE FUNCTION pay(board text, standings jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO public.prize SELECT $1, s.player_id, s.place FROM jsonb_to_recordset(standings) AS s (player_id bigint, place integer);
		PERFORM pg_sleep((SELECT sum(seconds) FROM public.slow));
	END $$;
	SELECT lb_set_reward('month', 'pay(text, jsonb)')});

# Rows of windows that are over; the worker closes them.
sub over
{
	my (@keys) = @_;

	$node->safe_psql('postgres', "INSERT INTO player_score_windows SELECT p, k, p FROM generate_series(1, 3) p, unnest('{"
		  . join(',', @keys) . "}'::text[]) k");
	return;
}

# The worker that is in the middle of the function.
sub paying
{
	my $worker = q{FROM pg_stat_activity WHERE backend_type = 'leaderboard maintenance' AND wait_event = 'PgSleep'};

	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 $worker"), 'the worker calls the function');
	return $node->safe_psql('postgres', "SELECT pid $worker");
}

# Each window is rewarded once, with all its places.
sub paid
{
	my ($windows, $what) = @_;

	$node->safe_psql('postgres', 'DELETE FROM slow');
	ok($node->poll_query_until('postgres', "SELECT count(*) = $windows FROM lb_payout WHERE paid_at IS NOT NULL"), "$what: all are rewarded");
	is($node->safe_psql('postgres', q{SELECT count(*), count(DISTINCT (board, player_id)), count(DISTINCT board) FROM prize}),
		join('|', 3 * $windows, 3 * $windows, $windows), "$what: each once");
	return;
}

over('month:202001', 'month:202002', 'month:202003');
paid(3, 'without a disturbance');

# A crash of the server in the middle of the function.
$node->safe_psql('postgres', 'INSERT INTO slow VALUES (600)');
over('month:202004', 'month:202005');
kill 'KILL', paying();
ok($node->poll_query_until('postgres', 'SELECT true'), 'the server is back');
is($node->safe_psql('postgres', q{SELECT count(*) FROM prize WHERE board > 'month:202003'}), '0', 'nothing is left of it');
$node->safe_psql('postgres', 'SELECT lb_wait_ready()');
paid(5, 'after a crash');

# A stop of the server.
$node->safe_psql('postgres', 'INSERT INTO slow VALUES (600)');
over('month:202006');
paying();
$node->stop('immediate');
$node->start;
$node->safe_psql('postgres', 'SELECT lb_wait_ready()');
paid(6, 'after a stop');

# The worker is terminated, and the function cancelled.
$node->safe_psql('postgres', 'INSERT INTO slow VALUES (600)');
over('month:202007');
my $pid = paying();
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"), 'the worker is gone');
paid(7, 'after a termination');

# Another session calls the function: the worker leaves it that window, and does the others.
$node->safe_psql('postgres', 'INSERT INTO slow VALUES (600)');
over('month:202008');
$pid = paying();
over('month:202009');
$node->safe_psql('postgres', 'DELETE FROM slow');
my $closed = $node->safe_psql('postgres', 'SELECT closed FROM lb_maintain()');
is($closed, '1', 'lb_maintain() closes a window while the worker calls the function');
is($node->safe_psql('postgres', q{SELECT string_agg(board, ' ') FROM lb_payout WHERE paid_at IS NULL}), 'month:202008', 'and rewards that one only');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
paid(9, 'by two sessions');

is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_verify()'), '0', 'boards and tables agree');
$node->stop;
done_testing();
