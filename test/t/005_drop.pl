# A dropped board or table returns its memory and disturbs no other.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('drop');
$node->start;

sub used
{
	my ($db) = @_;

	return $node->safe_psql($db // 'postgres',
		defined $db
		? 'SELECT coalesce(sum(used), 0) FROM lb_stat_memory WHERE datname = current_database()'
		: 'SELECT used FROM lb_stat_memory WHERE datname IS NULL');
}

$node->safe_psql('postgres', 'CREATE EXTENSION leaderboard');
my $table = q{
	CREATE TABLE p (player_id bigint PRIMARY KEY, score bigint);
	INSERT INTO p SELECT g, g % 100 FROM generate_series(1, 5000) g;
	SELECT lb_create_board('p', 'p');
	CREATE TABLE f (player_id bigint PRIMARY KEY, score bigint, guild text);
	INSERT INTO f SELECT g, g % 100, g % 700 FROM generate_series(1, 5000) g;
	SELECT lb_create_board('guild', 'f', board_column := 'guild');
};
my $answers = q{SELECT lb_rank(99, 'p'), lb_count('p'), lb_rank(99, 'guild:99'), lb_count('guild:99'), lb_count('guild:1000')};
my $expected = '1|5000|1|8|0';

# The first round leaves the memory that is kept for later.
$node->safe_psql('postgres', $table);
wait_ready($node, 'postgres');
$node->safe_psql('postgres', 'DROP TABLE p, f');
my $empty = used();

my %drops = (
	'DROP TABLE' => 'DROP TABLE p, f',
	'lb_drop_board' => q{SELECT lb_drop_board('p'), lb_drop_board('guild'); DROP TABLE p, f},
	'DROP EXTENSION CASCADE' => 'DROP EXTENSION leaderboard CASCADE; DROP TABLE p, f; CREATE EXTENSION leaderboard',
	'DROP SCHEMA' => 'DROP SCHEMA s CASCADE',
);
for my $drop (sort keys %drops)
{
	my $make = $table;

	$make = "CREATE SCHEMA s; SET search_path = s, public; $table" if $drop eq 'DROP SCHEMA';
	$node->safe_psql('postgres', $make);
	wait_ready($node, 'postgres');
	is($node->safe_psql('postgres', $answers), $expected, "$drop: before");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_verify()'), '0', "$drop: verified");
	cmp_ok(used(), '>', $empty, "$drop: memory is taken");

	# Undone it changes nothing.
	$node->safe_psql('postgres', "BEGIN; $drops{$drop}; ROLLBACK; $answers");
	is($node->safe_psql('postgres', $answers), $expected, "$drop: after a rollback");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_verify()'), '0', "$drop: verified after a rollback");

	$node->safe_psql('postgres', $drops{$drop});
	is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_board'), '0', "$drop: no boards are left");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_stat_board'), '0', "$drop: nor in memory");
	ok($node->poll_query_until('postgres', "SELECT used <= $empty FROM lb_stat_memory WHERE datname IS NULL"),
		"$drop: memory is given back")
	  or diag(used() . " > $empty");
}

# Without CASCADE it is refused while triggers need it.
$node->safe_psql('postgres', $table);
fails_with($node, 'postgres', 'DROP EXTENSION leaderboard;', '2BP01',
	qr/leaderboard_capture on table p depends on/, 'DROP EXTENSION');
is($node->safe_psql('postgres', $answers), $expected, 'and the boards work on');

# In one session, and in one transaction
for my $begin ('', 'BEGIN; ')
{
	my $commit = $begin ? '; COMMIT' : '';
	my $what = $begin ? 'one transaction' : 'one session';

	is( $node->safe_psql('postgres', qq{
			SET client_min_messages = warning;
			$answers;
			${begin}DROP EXTENSION leaderboard CASCADE;
			DELETE FROM p WHERE player_id = 199;
			UPDATE p SET score = 1000 WHERE player_id = 4;
			CREATE EXTENSION leaderboard;
			SELECT FROM lb_create_board('p', 'p');
			SELECT FROM lb_create_board('guild', 'f', board_column := 'guild')$commit;
			SELECT lb_rank(4, 'p'), lb_rank(99, 'p'), lb_count('p'), lb_rank(99, 'guild:99');
			SELECT * FROM lb_verify();
			INSERT INTO p VALUES (199, 99);
			UPDATE p SET score = 4 WHERE player_id = 4}),
		"$expected\n1|2|4999|1", "extension dropped and created again in $what");
	is($node->safe_psql('postgres', $answers), $expected, "$what: right afterwards");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_verify()'), '0', "$what: verified");

	is( $node->safe_psql('postgres', qq{
			SET client_min_messages = warning;
			$answers;
			${begin}DROP TABLE p;
			CREATE TABLE p (player_id bigint PRIMARY KEY, score bigint);
			INSERT INTO p SELECT g, g % 100 FROM generate_series(1, 5000) g;
			SELECT FROM lb_create_board('p', 'p')$commit;
			$answers;
			SELECT * FROM lb_verify()}),
		"$expected\n$expected", "table dropped and created again in $what");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_verify()'), '0', "$what: verified");
}

# A session that has not heard of it yet
my $session = open_session($node, 'postgres');
is($session->query($answers), $expected, 'another session');
$node->safe_psql('postgres', 'DROP EXTENSION leaderboard CASCADE');
$session->query('UPDATE p SET score = 50 WHERE player_id = 99');
$node->safe_psql('postgres', q{CREATE EXTENSION leaderboard; SELECT lb_create_board('p', 'p', rank_by := 'score ASC')});
is($session->query(q{SELECT lb_rank(99, 'p'), lb_count('p')}), '2502|5000', 'and after the extension was made anew');
$session->query('UPDATE p SET score = -1 WHERE player_id = 99');
is($session->query(q{SELECT lb_rank(99, 'p')}), '1', 'writing too');
$session->quit;
is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_verify()'), '0', 'verified');
$node->safe_psql('postgres', 'DROP TABLE p, f');

# DROP DATABASE
my $before = used();
for my $round (1 .. 3)
{
	$node->safe_psql('postgres', 'CREATE DATABASE gone');
	fill($node, 'gone', 20000);
	ready($node, 'gone', "database, $round");
	cmp_ok(used(), '>', $before, 'it takes memory');
	retry_accessed($node, 'DROP DATABASE gone' . ($round == 2 ? ' WITH (FORCE)' : ''));
	ok($node->poll_query_until('postgres', "SELECT used <= $before FROM lb_stat_memory WHERE datname IS NULL"),
		'DROP DATABASE gives the memory back')
	  or diag(used() . " > $before");
}

# ... during a build
for my $round (1 .. 3)
{
	$node->safe_psql('postgres', 'CREATE DATABASE gone');
	fill($node, 'gone', 200000);
	wait_ready($node, 'gone');
	$node->psql('gone', q{SET statement_timeout = '1ms'; SELECT lb_rebuild()});
	retry_accessed($node, 'DROP DATABASE gone');
	is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_database WHERE datname = 'gone'}), '0', "DROP DATABASE during a build, $round");
	ok($node->poll_query_until('postgres', "SELECT used <= $before FROM lb_stat_memory WHERE datname IS NULL"),
		'which gives the memory back')
	  or diag(used() . " > $before");
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_verify()'), '0', 'verified');

$node->stop;
done_testing();
