# No point is lost or made: what has been submitted is in the archive or on the
# board, for many seasons that end while players submit, singly and in batches, are
# hidden and shown, exceed limits, and have their connections killed.  Players are
# numbers, and texts in a database whose collation orders them otherwise than by bytes:
# rows that are locked in different orders would be deadlocks.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $seasons = 20;
my $workers = 4;
my $node = lb_node('conservation', "deadlock_timeout = '100ms'\n");
my @sessions;

sub make
{
	my ($db, $type, $twin, $player) = @_;

	$node->safe_psql($db, qq{
	CREATE EXTENSION leaderboard;
	SELECT lb_create_tables(player_type => '$type');
	SELECT lb_set_limit('most', 'global', max_amount => 90), lb_set_limit('odd', 'global', max_amount => 80, action => 'flag');
	SELECT lb_wait_ready();
	CREATE FUNCTION player(i integer) RETURNS $type LANGUAGE sql AS \$\$SELECT $player\$\$;

	-- What was submitted, by the transactions that have submitted it.
	CREATE TABLE submitted (amount bigint NOT NULL);
	CREATE PROCEDURE work() LANGUAGE plpgsql AS \$\$
	DECLARE
		player $type;
		points bigint;
		players $type\[];
		amounts bigint[];
	BEGIN
		LOOP
			player := player(1 + floor(random() * 50)::integer);
			BEGIN
				CASE floor(random() * 6)::integer
				WHEN 0 THEN
					PERFORM lb_hide$twin(player);
				WHEN 1 THEN
					PERFORM lb_show$twin(player);
				WHEN 2 THEN
					SELECT array_agg(player(1 + floor(random() * 50)::integer)), array_agg(floor(random() * 91)) INTO players, amounts
					FROM generate_series(1, 20);
					PERFORM lb_submit_many$twin(players, amounts);
					INSERT INTO submitted SELECT sum(a) FROM unnest(amounts) a;
				WHEN 3 THEN
					INSERT INTO submitted SELECT 7 FROM lb_submit$twin(player, 7, match_id => 'm' || floor(random() * 1000))
					WHERE board = 'global' AND applied;
				ELSE
					points := floor(random() * 101) - 5;
					PERFORM lb_submit$twin(player, points);
					INSERT INTO submitted VALUES (points);
				END CASE;
			EXCEPTION WHEN check_violation THEN
				NULL;
			END;
			COMMIT;
		END LOOP;
	END \$\$});
	return;
}

sub start_worker
{
	my ($db, $number) = @_;
	my $output = '';

	$sessions[$number] = IPC::Run::start([ 'psql', '-X', '-q', '-c', 'CALL work()', '-d',
			$node->connstr($db) . " application_name=work$number" ],
		'<', \undef, '>', \$output, '2>', \$output);
	return;
}

sub kill_worker
{
	my ($number) = @_;

	$node->poll_query_until('postgres', qq{
		SELECT bool_and(pg_terminate_backend(pid, 600000)) FROM pg_stat_activity WHERE application_name = 'work$number'})
	  or die 'no process to kill';
	$sessions[$number]->finish;
	return;
}

# Nothing is lost, with players of a type: what makes the player of a number, and the
# functions that take it.
sub conserved
{
	my ($db, $type, $twin, $player) = @_;

	make($db, $type, $twin, $player);
	start_worker($db, $_) for (0 .. $workers - 1);
	for my $season (1 .. $seasons)
	{
		my $count = $node->safe_psql($db, 'SELECT count(*) FROM submitted');

		$node->poll_query_until($db, "SELECT count(*) >= $count + 100 FROM submitted")
		  or die 'no session submits';
		$node->safe_psql($db, "SELECT lb_close_season('global', 'S$season')");
		next if $season % 3 > 0;
		kill_worker($season % $workers);
		start_worker($db, $season % $workers);
	}
	kill_worker($_) for (0 .. $workers - 1);

	is($node->safe_psql($db, q{
			SELECT (SELECT sum(amount) FROM submitted) = (SELECT sum(score::bigint) FROM lb_archive WHERE board = 'global')
				+ (SELECT sum(score) FROM player_scores)}), 't', "$type: submitted is archived plus current");
	is($node->safe_psql($db, 'SELECT count(DISTINCT season) FROM lb_archive'), $seasons, "$type: every season is archived");
	is($node->safe_psql($db, q{SELECT count(*) > 0 FROM lb_archive WHERE place IS NULL AND score <> '0'}), 't',
		"$type: of hidden players too");
	is($node->safe_psql($db, 'SELECT count(*) FROM lb_verify_key()'), '0', "$type: index and table are equal");
	return;
}

$node->start;
conserved('postgres', 'bigint', '', 'i');
$node->safe_psql('postgres', q{CREATE DATABASE texts TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C'});
is($node->safe_psql('texts', q{SELECT 'a' < 'B' AND 'a' > 'B' COLLATE "C"}), 't', 'another order than by bytes');
conserved('texts', 'text', '_key', q{(ARRAY['a', 'B', 'ä', 'Ab'])[1 + i % 4] || i});
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|deadlock detected/, 'nothing has crashed, nor waited in a circle');
done_testing();
