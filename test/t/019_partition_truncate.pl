# TRUNCATE of partitions by a worker of logical replication, for which no hook is
# called and no trigger of ours is fired.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = lb_node('publisher', 'wal_level = logical', allows_streaming => 'logical');
my $subscriber = lb_node('subscriber', 'max_worker_processes = 16', allows_streaming => 'logical');
$_->start for ($publisher, $subscriber);

my $tables = q{
CREATE TABLE s (player_id bigint PRIMARY KEY, score bigint NOT NULL) PARTITION BY RANGE (player_id);
CREATE TABLE l1 PARTITION OF s FOR VALUES FROM (0) TO (500);
CREATE TABLE l2 PARTITION OF s FOR VALUES FROM (500) TO (1000);
};
$publisher->safe_psql('postgres', $tables . q{
INSERT INTO s SELECT g, g * 7919 % 201 FROM generate_series(0, 999) g;
CREATE PUBLICATION p FOR TABLE s});
$subscriber->safe_psql('postgres', "CREATE EXTENSION leaderboard; $tables SELECT lb_create_board('s', 's')");
wait_ready($subscriber, 'postgres');
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION sub CONNECTION '" . $publisher->connstr . " dbname=postgres' PUBLICATION p");
$subscriber->wait_for_subscription_sync($publisher, 'sub');

sub look
{
	my ($what, $rows) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	$publisher->wait_for_catchup('sub');
	is( $subscriber->safe_psql('postgres', q{SELECT lb_count('s'), (SELECT count(*) FROM s),
			(SELECT count(*) FROM s WHERE lb_rank(player_id, 's') IS NULL)}),
		"$rows|$rows|0", $what);
	wait_ready($subscriber, 'postgres');
	is( $subscriber->safe_psql('postgres', q{SELECT lb_count('s'),
			count(*) FILTER (WHERE lb_rank(player_id, 's') <> place)
			FROM (SELECT player_id, row_number() OVER (ORDER BY score DESC, player_id) AS place FROM s) r}),
		"$rows|0", "$what: and when it is ready");
	return is($subscriber->safe_psql('postgres', 'SELECT * FROM lb_verify()'), '', "$what: index and table agree");
}

look('the first copy', 1000);
$publisher->safe_psql('postgres', 'TRUNCATE l1');
look('one partition truncated', 500);
$publisher->safe_psql('postgres', 'INSERT INTO s SELECT g, g % 7 FROM generate_series(100, 199) g');
look('rows again', 600);
$publisher->safe_psql('postgres', 'TRUNCATE s');
look('all truncated', 0);
$publisher->safe_psql('postgres', 'BEGIN; INSERT INTO s VALUES (1, 1), (501, 2); TRUNCATE l2; INSERT INTO s VALUES (502, 3); COMMIT');
look('between inserts', 2);

done_testing();
