# No point is lost or made: what has been submitted is in the archive or on the
# board, for many seasons that end while players submit, singly and in batches, are
# hidden and shown, exceed limits, and have their connections killed.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $seasons = 25;
my $workers = 4;
my $node = lb_node('conservation', "deadlock_timeout = '100ms'\n");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION leaderboard;
	SELECT lb_create_tables();
	SELECT lb_set_limit('most', 'global', max_amount => 90), lb_set_limit('odd', 'global', max_amount => 80, action => 'flag');
	SELECT lb_wait_ready();

	-- What was submitted, by the transactions that have submitted it.
	CREATE TABLE submitted (amount bigint NOT NULL);
	CREATE PROCEDURE work() LANGUAGE plpgsql AS $$
	DECLARE
		player bigint;
		points bigint;
		players bigint[];
		amounts bigint[];
	BEGIN
		LOOP
			player := 1 + floor(random() * 50);
			BEGIN
				CASE floor(random() * 6)::integer
				WHEN 0 THEN
					PERFORM lb_hide(player);
				WHEN 1 THEN
					PERFORM lb_show(player);
				WHEN 2 THEN
					SELECT array_agg(1 + floor(random() * 50)), array_agg(floor(random() * 91)) INTO players, amounts
					FROM generate_series(1, 20);
					PERFORM lb_submit_many(players, amounts);
					INSERT INTO submitted SELECT sum(a) FROM unnest(amounts) a;
				WHEN 3 THEN
					INSERT INTO submitted SELECT 7 FROM lb_submit(player, 7, match_id => 'm' || floor(random() * 1000))
					WHERE board = 'global' AND applied;
				ELSE
					points := floor(random() * 101) - 5;
					PERFORM lb_submit(player, points);
					INSERT INTO submitted VALUES (points);
				END CASE;
			EXCEPTION WHEN check_violation THEN
				NULL;
			END;
			COMMIT;
		END LOOP;
	END $$});

my $connection = $node->connstr('postgres');
my @sessions;

sub start_worker
{
	my ($number) = @_;
	my $output = '';

	$sessions[$number] = IPC::Run::start([ 'psql', '-X', '-q', '-c', 'CALL work()', '-d', "$connection application_name=work$number" ],
		'<', \undef, '>', \$output, '2>', \$output);
	return;
}

sub kill_worker
{
	my ($number) = @_;

	$node->poll_query_until('postgres', qq{
		SELECT bool_and(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity WHERE application_name = 'work$number'})
	  or die 'no process to kill';
	$sessions[$number]->finish;
	return;
}

start_worker($_) for (0 .. $workers - 1);
for my $season (1 .. $seasons)
{
	my $count = $node->safe_psql('postgres', 'SELECT count(*) FROM submitted');

	$node->poll_query_until('postgres', "SELECT count(*) >= $count + 100 FROM submitted")
	  or die 'no session submits';
	$node->safe_psql('postgres', "SELECT lb_close_season('global', 'S$season')");
	next if $season % 3 > 0;
	kill_worker($season % $workers);
	start_worker($season % $workers);
}
kill_worker($_) for (0 .. $workers - 1);

my $sums = q{
	SELECT (SELECT sum(amount) FROM submitted) = (SELECT sum(score::bigint) FROM lb_archive WHERE board = 'global')
		+ (SELECT sum(score) FROM player_scores)};
is($node->safe_psql('postgres', $sums), 't', 'submitted is archived plus current');
is($node->safe_psql('postgres', 'SELECT count(DISTINCT season) FROM lb_archive'), $seasons, 'every season is archived');
is($node->safe_psql('postgres', q{SELECT count(*) > 0 FROM lb_archive WHERE place IS NULL AND score <> '0'}), 't', 'of hidden players too');
is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_verify()'), '0', 'index and table are equal');
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|deadlock detected/, 'nothing has crashed, nor waited in a circle');
done_testing();
