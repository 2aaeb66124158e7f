# Servers and ranks, for the tests of this directory.
#
# A board is right if lb_rank() of every member is the row's number: both are
# computed by one statement, so in one snapshot, whatever other sessions do.
package LbRanks;

use strict;
use warnings;

use Exporter 'import';
use LbTest qw(init_node);
use PostgreSQL::Test::Cluster;
use Test::More;

our @EXPORT = qw(new_server wrong_ranks is_right is_verified wait_state
  wait_used memory_used);

# A server with the library preloaded, not started yet.
sub new_server
{
	my ($name, %init) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	init_node($node, %init);
	$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'leaderboard'
max_worker_processes = 16
max_prepared_transactions = 20
autovacuum = off
leaderboard.wait_timeout = '10min'
END
	return $node;
}

# The statement that counts the members whose rank is wrong.  The scan is the
# query's, so members that only the index has are found by their number.
sub wrong_ranks
{
	my ($table, $board, %option) = @_;
	my $member = $option{member} || 'player_id';
	my $order = $option{order} || 'score DESC';
	my $where = $option{where} || 'true';

	return <<END;
SELECT count(*) FILTER (WHERE is_rank IS DISTINCT FROM rank) +
  abs(count(*) - (SELECT lb_count('$board')))
FROM (SELECT lb_rank($member, '$board') AS is_rank,
    row_number() OVER (ORDER BY $order, $member) AS rank
  FROM $table WHERE $where) AS r
END
}

sub is_right
{
	my ($node, $database, $table, $board, $title, %option) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql($database, wrong_ranks($table, $board, %option)),
		'0', $title);
}

sub is_verified
{
	my ($node, $database, $title) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql($database, 'SELECT * FROM lb_verify()'),
		'', $title || "lb_verify() in $database");
}

# Wait until a board is in a state.
sub wait_state
{
	my ($node, $database, $board, $state) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok( $node->poll_query_until(
			$database, "SELECT state FROM lb_stat_board WHERE board = '$board'",
			$state),
		"board $board is $state");
}

# The part of leaderboard.memory that all databases use.
sub memory_used
{
	my ($node, $database) = @_;

	return $node->safe_psql($database,
		'SELECT used FROM lb_stat_memory WHERE datname IS NULL');
}

sub wait_used
{
	my ($node, $database, $used, $title) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok( $node->poll_query_until(
			$database,
			'SELECT used FROM lb_stat_memory WHERE datname IS NULL', $used),
		$title) or diag('used are ' . memory_used($node, $database) .
		  ", not $used");
}

1;
