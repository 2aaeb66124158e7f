# The maintenance worker is killed, and terminated, in each step of a visit: nothing is
# done by halves, and the next visit does it once.  (045_rewards.pl does this while a
# function of lb_set_reward() runs.)

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('killed', "leaderboard.maintenance_interval = 1s\nleaderboard.applied_retention = 100s\nleaderboard.event_retention = 100s\nfsync = off");
$node->start;

# Each statement of the worker stops at a trigger of its table that "stop" names.
$node->safe_psql('postgres', q{
	CREATE EXTENSION leaderboard;
	SELECT lb_create_tables();
	SELECT lb_open_window('month', 'monthly', keep => '100 years', late => '1 day');
	CREATE TABLE stop (name text);
	CREATE TABLE removed (board text, player_id bigint);
	CREATE TABLE trimmed (name text, what text);
	CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'player_score_windows' THEN
			INSERT INTO public.removed VALUES (old.window_key, old.player_id);
		ELSIF TG_OP = 'DELETE' THEN
			INSERT INTO public.trimmed VALUES (TG_TABLE_NAME, old::text);
		END IF;
		PERFORM pg_sleep(600) FROM public.stop WHERE name = TG_TABLE_NAME || ' ' || TG_WHEN;
		RETURN coalesce(new, old);
	END $$;
	CREATE TRIGGER stop1 BEFORE INSERT ON lb_closed FOR EACH ROW EXECUTE FUNCTION stop();
	CREATE TRIGGER stop1 BEFORE INSERT ON lb_archive FOR EACH ROW EXECUTE FUNCTION stop();
	CREATE TRIGGER stop2 AFTER INSERT ON lb_archive FOR EACH ROW EXECUTE FUNCTION stop();
	CREATE TRIGGER stop2 AFTER DELETE ON player_score_windows FOR EACH ROW EXECUTE FUNCTION stop();
	CREATE TRIGGER stop2 AFTER DELETE ON lb_applied FOR EACH ROW EXECUTE FUNCTION stop();
	CREATE TRIGGER stop2 AFTER DELETE ON lb_event FOR EACH ROW EXECUTE FUNCTION stop()});
wait_ready($node, 'postgres');

# The worker, when it has stopped there.
sub stopped
{
	my $worker = q{FROM pg_stat_activity WHERE backend_type = 'leaderboard maintenance' AND wait_event = 'PgSleep'};

	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 $worker"), "$_[0]: the worker has come");
	return $node->safe_psql('postgres', "SELECT pid $worker");
}

my $month = 202000;

# Rows of a window that is over.
sub close_one
{
	$month++;
	$node->safe_psql('postgres', "INSERT INTO player_score_windows SELECT p, 'month:$month', p FROM generate_series(1, 3) p");
	return;
}

# The window has been closed once.
sub closed
{
	my ($what) = @_;

	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM lb_closed WHERE board = 'month:$month'"), "$what: closed");
	is($node->safe_psql('postgres', "SELECT string_agg(place || ':' || member || ':' || score, ' ' ORDER BY place) FROM lb_archive WHERE board = 'month:$month'"),
		'1:3:3 2:2:2 3:1:1', "$what: archived once");
	return;
}

sub not_closed
{
	my ($what) = @_;

	is($node->safe_psql('postgres', "SELECT (SELECT count(*) FROM lb_closed WHERE board = 'month:$month'), (SELECT count(*) FROM lb_archive WHERE board = 'month:$month')"),
		'0|0', "$what: nothing is left of it");
	return;
}

# Its rows are removed once.
sub remove_one
{
	close_one();
	closed('before it is removed');
	$node->safe_psql('postgres', "UPDATE lb_window SET keep = '1 day' WHERE name = 'month'");
	return;
}

sub removed
{
	my ($what) = @_;

	ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM player_score_windows WHERE window_key = 'month:$month'"), "$what: removed");
	is($node->safe_psql('postgres', "SELECT string_agg(player_id::text, ' ' ORDER BY player_id) FROM removed WHERE board = 'month:$month'"),
		'1 2 3', "$what: each row once");
	is($node->safe_psql('postgres', "SELECT lb_count('month:$month')"), '0', "$what: the board is empty");
	$node->safe_psql('postgres', "UPDATE lb_window SET keep = '100 years' WHERE name = 'month'");
	return;
}

sub not_removed
{
	my ($what) = @_;

	is($node->safe_psql('postgres', "SELECT count(*), (SELECT count(*) FROM removed WHERE board = 'month:$month') FROM player_score_windows WHERE window_key = 'month:$month'"),
		'3|0', "$what: nothing is removed");
	is($node->safe_psql('postgres', "SELECT lb_count('month:$month')"), '3', "$what: nor on the board");
	return;
}

# Old rows of our own tables.
sub trim
{
	my ($insert) = @_;

	return sub { $node->safe_psql('postgres', 'DELETE FROM trimmed; ' . $insert); };
}

sub trimmed
{
	my ($table) = @_;

	return sub {
		my ($what) = @_;

		ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM $table"), "$what: trimmed");
		is($node->safe_psql('postgres', "SELECT count(*), count(DISTINCT what) FROM trimmed WHERE name = '$table'"),
			'2|2', "$what: each row once");
	};
}

sub not_trimmed
{
	my ($table) = @_;

	return sub {
		my ($what) = @_;

		is($node->safe_psql('postgres', "SELECT count(*), (SELECT count(*) FROM trimmed) FROM $table"), '2|0', "$what: nothing is trimmed");
	};
}

# Where the worker stops, what makes it come there, and what must hold before and after.
my @steps = (
	[ 'lb_closed BEFORE', \&close_one, \&not_closed, \&closed ],
	[ 'lb_archive BEFORE', \&close_one, \&not_closed, \&closed ],
	[ 'lb_archive AFTER', \&close_one, \&not_closed, \&closed ],
	[ 'player_score_windows AFTER', \&remove_one, \&not_removed, \&removed ],
	[ 'lb_applied AFTER',
		trim(q{INSERT INTO lb_applied (player_id, match_id, leaderboard, applied_at) VALUES (1, 'a', 'global', '2020-01-01'), (1, 'b', 'global', '2020-01-01')}),
		not_trimmed('lb_applied'), trimmed('lb_applied') ],
	[ 'lb_event AFTER',
		trim(q{INSERT INTO lb_event (player_id, op, amount, at, boards, scores, submitted_at) SELECT p, 'add', 1, '2020-01-01', '{global}', '{1}', '2020-01-01' FROM generate_series(1, 2) p}),
		not_trimmed('lb_event'), trimmed('lb_event') ]);

for my $signal ('TERM', 'KILL')
{
	for (@steps)
	{
		my ($stop, $begin, $before, $after) = @$_;
		my $what = "$signal at $stop";

		$node->safe_psql('postgres', "INSERT INTO stop VALUES ('$stop')");
		$begin->();
		my $pid = stopped($what);
		kill $signal, $pid;
		ok(runs_without($node, $pid), "$what: it is gone");
		wait_ready($node, 'postgres');
		$before->($what);
		$node->safe_psql('postgres', 'DELETE FROM stop');
		$after->($what);
		is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_verify()'), '0', "$what: lb_verify()");
	}
}

$node->stop;
done_testing();
