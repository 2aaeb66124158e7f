# Rewards: the worker calls a function for each closed window, and neither a crash
# nor a cancelled or terminated worker loses or repeats a call.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('rewards', "leaderboard.maintenance_interval = 1s\nleaderboard.reward_timeout = 10min\nfsync = off");
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
my $paying = paying();
kill 'KILL', $paying;
ok(runs_without($node, $paying), 'the server is back');
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

# The windows can be dropped while the worker calls the function, which then fails.
$node->safe_psql('postgres', q{
	SELECT lb_create_leaderboard('kills', windows => '{}');
	SELECT lb_open_window('kills/month', 'monthly', keep => '100 years', late => '1 day');
	SELECT lb_wait_ready();
	CREATE FUNCTION waits(board text, standings jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		WHILE EXISTS (SELECT FROM public.slow) LOOP
			PERFORM pg_sleep(0.1);
		END LOOP;
		PERFORM FROM public.kills_score_windows;
		INSERT INTO public.prize VALUES ($1, 0, 0);
	END $$;
	SELECT lb_set_reward('kills/month', 'waits(text, jsonb)');
	INSERT INTO slow VALUES (0);
	INSERT INTO kills_score_windows VALUES (1, 'kills/month:202001', 1)});
paying();
$node->safe_psql('postgres', q{
	SET statement_timeout = '3min';
	SELECT lb_drop_leaderboard('kills');
	DELETE FROM slow});
ok($node->poll_query_until('postgres', q{SELECT problem <> 'the call has not ended' FROM lb_payout WHERE name = 'kills/month'}), 'the call fails');
is($node->safe_psql('postgres', q{SELECT count(*) FROM prize WHERE board LIKE 'kills/%'}), '0', 'and leaves nothing');

# One that takes too long is cancelled, and tried again; others do not wait for it.
$node->safe_psql('postgres', q{
	CREATE FUNCTION loops(board text, standings jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		WHILE board = 'month:202010' AND EXISTS (SELECT FROM public.slow) LOOP
		END LOOP;
		PERFORM public.pay($1, $2);
	END $$;
	INSERT INTO slow VALUES (0);
	SELECT lb_set_reward('month', 'loops(text, jsonb)');
	ALTER SYSTEM SET leaderboard.reward_timeout = '1s';
	SELECT pg_reload_conf()});
over('month:202010', 'month:202011');
ok($node->poll_query_until('postgres', q{SELECT attempts > 1 AND problem <> 'the call has not ended' FROM lb_payout WHERE board = 'month:202010'}), 'it is tried again');
is($node->safe_psql('postgres', q{SELECT problem, paid_at IS NULL FROM lb_payout WHERE board = 'month:202010'}),
	'canceling statement due to statement timeout|t', 'the time is over');
ok($node->poll_query_until('postgres', q{SELECT paid_at IS NOT NULL FROM lb_payout WHERE board = 'month:202011'}), 'the other is rewarded');
paid(11, 'after a time that was too long');

# One that catches the error ends the worker.  It comes last the next time.
$node->safe_psql('postgres', q{
	CREATE FUNCTION catches(board text, standings jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		WHILE board = 'month:202012' AND EXISTS (SELECT FROM public.slow) LOOP
			BEGIN
				PERFORM pg_sleep(1000);
			EXCEPTION WHEN query_canceled THEN
				NULL;
			END;
		END LOOP;
		PERFORM public.pay($1, $2);
	END $$;
	INSERT INTO slow VALUES (0);
	SELECT lb_set_reward('month', 'catches(text, jsonb)')});
over('month:202012');
ok($node->poll_query_until('postgres', q{SELECT attempts > 0 FROM lb_payout WHERE board = 'month:202012'}), 'it is called');
is($node->safe_psql('postgres', q{SELECT problem FROM lb_payout WHERE board = 'month:202012'}), 'the call has not ended', 'and has not ended');
over('month:202101');
ok($node->poll_query_until('postgres', q{SELECT paid_at IS NOT NULL FROM lb_payout WHERE board = 'month:202101'}), 'another is rewarded');
is($node->safe_psql('postgres', q{SELECT count(*) FROM prize WHERE board = 'month:202012'}), '0', 'it has left nothing');
paid(13, 'after one that catches the error');

is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_verify()'), '0', 'boards and tables agree');
$node->stop;
done_testing();
