# Colocated tables of two owners, local tables that Citus knows, and changes of partitions:
# their boards are made and mended, and errors say what to do.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use LbCitus;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my @nodes = citus_nodes();
my ($node, @workers) = @nodes;

sub verified
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	ok($node->poll_query_until('postgres', 'SELECT lb_wait_ready()'), "$what: ready");
	return is($node->safe_psql('postgres', 'SELECT * FROM lb_verify_key()'), '', "$what: lb_verify_key()");
}

# Tables of two owners in the same servers' shards
$node->safe_psql('postgres', 'CREATE ROLE anna LOGIN; CREATE ROLE bert LOGIN; GRANT CREATE ON SCHEMA public TO anna, bert');
my ($grant) = grep { /^ *GRANT EXECUTE/ } citus_examples('## Citus');
for my $server (@nodes)
{
	$server->safe_psql('postgres', $grant =~ s/TO maker/TO anna, bert/r);
}
my $colocate = '';
for my $owner ('anna', 'bert')
{
	$node->safe_psql('postgres', "SET ROLE $owner; CREATE TABLE ${owner}s (player_id bigint PRIMARY KEY, score bigint);
		SELECT create_distributed_table('${owner}s', 'player_id'$colocate)");
	$node->safe_psql('postgres', "INSERT INTO ${owner}s SELECT g, g % 7 FROM generate_series(1, 100) g");
	$colocate = q{, colocate_with => 'annas'};
}
my ($rc, undef, $err) = $node->psql('postgres', q{SELECT lb_create_board('annas', 'annas'), lb_create_board('berts', 'berts')});
is($rc, 0, 'boards of both owners in one statement');
like($err, qr/table of places of table "berts" cannot be made in this transaction.*HINT:  lb_maintain\(\)/s, 'the second table of places is left');

# Each call mends the boards of both, also where both lack something.
my $places = q{SELECT tablename, tableowner FROM pg_tables WHERE tablename LIKE '%_lb_places' ORDER BY 1};

sub maintained
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($rc, undef, $err) = $node->psql('postgres', 'SELECT lb_maintain()');

	is("$rc $err", '0 ', "$what: lb_maintain() warns of nothing");
	is($node->safe_psql('postgres', $places), "annas_lb_places|anna\nberts_lb_places|bert", "$what: both have places");
	return verified($what);
}

maintained('made');
$node->safe_psql('postgres', 'DROP TABLE annas_lb_places; DROP TABLE berts_lb_places');
$_->safe_psql('postgres', q{SELECT lb_drop_board(board) FROM (SELECT board FROM lb_board WHERE board ~ '^berts_[0-9]' LIMIT 1) b}) for @workers;
maintained('places and boards of shards were dropped');
$node->safe_psql('postgres', 'DELETE FROM annas_lb_places; DELETE FROM berts_lb_places');
maintained('places were emptied');
is($node->safe_psql('postgres', qq{SET leaderboard.offline = error; SELECT lb_rank(7, '${_}s'), lb_count('${_}s')}), '87|100', "the boards of $_ answer") for 'anna', 'bert';

# As one of them: only that role's
$node->safe_psql('postgres', 'DELETE FROM annas_lb_places; DELETE FROM berts_lb_places');
$node->safe_psql('postgres', 'SET ROLE bert; SELECT lb_maintain()');
is($node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM annas_lb_places), (SELECT count(*) > 0 FROM berts_lb_places)'), '0|t', 'a role maintains its own');
maintained('by a superuser');

# A role that may not log in is maintained in the caller's transaction.
$node->safe_psql('postgres', 'ALTER ROLE bert NOLOGIN');
$node->psql('postgres', 'SELECT lb_maintain()');
$node->safe_psql('postgres', 'ALTER ROLE bert LOGIN');
maintained('after a role that could not log in');

# A local table that Citus knows, on all nodes, with and without rows
$node->safe_psql('postgres', q{CREATE TABLE here (player_id bigint PRIMARY KEY, score bigint); SELECT citus_add_local_table_to_metadata('here'); SELECT lb_create_board('here', 'here')});
verified('a local table');
for my $server (@nodes)
{
	my $name = $server->name;

	is($server->safe_psql('postgres', q{SET leaderboard.offline = error; SELECT lb_count('here'), lb_rank(7, 'here'), (SELECT count(*) FROM lb_top(5, 'here'))}), '0||0', "no row, on $name");
}
$node->safe_psql('postgres', 'INSERT INTO here SELECT g, g % 7 FROM generate_series(1, 100) g');
my $reads = q{lb_count(B), lb_rank(7, B), lb_rank(7, B, 'rank'), lb_percentile(7, B), lb_score(7, B), (SELECT array_agg(t) FROM lb_top(5, B, 20) t), (SELECT array_agg(a) FROM lb_around(7, B) a), (SELECT array_agg(r) FROM lb_ranks('{1,7,500}', B) r)};
my ($of_here, $of_annas) = map { 'SET leaderboard.offline = error; SELECT ' . $reads =~ s/\bB\b/'$_'/gr } 'here', 'annas';
my $expected = $node->safe_psql('postgres', $of_annas);
is($_->safe_psql('postgres', $of_here), $expected, 'all reads by the board, on ' . $_->name) for @nodes;
is($node->safe_psql('postgres', q{BEGIN; UPDATE here SET score = 1000 WHERE player_id = 7; SELECT lb_rank(7, 'here'); ROLLBACK}), '1', 'a transaction sees its own changes');
my ($shard) = $node->safe_psql('postgres', q{SELECT board FROM lb_board WHERE board ~ '^here_[0-9]'});
$node->safe_psql('postgres', "SELECT lb_drop_board('$shard')");
fails_with($_, 'postgres', q{SET leaderboard.offline = error; SELECT lb_rank(7, 'here')}, '55000', qr/board "here" is offline.*lb_stat_shards\(\) shows them\. lb_wait_ready\(\)/s, 'without the board of its shard, on ' . $_->name) for @nodes;
is($node->safe_psql('postgres', q{SELECT lb_rank(7, 'here')}), '87', 'by its query');
maintained('a local table');
is($_->safe_psql('postgres', $of_here), $expected, 'by the board again, on ' . $_->name) for @nodes;

# Partitions that are dropped: the boards come back by themselves.
$node->safe_psql('postgres', q{CREATE TABLE parts (player_id bigint, part int, score bigint, PRIMARY KEY (player_id, part)) PARTITION BY LIST (part);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1); CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2)});
$node->safe_psql('postgres', $_) for q{SELECT create_distributed_table('parts', 'player_id', shard_count => 4)}, q{INSERT INTO parts SELECT g, 1, g FROM generate_series(1, 100) g},
	q{SELECT lb_create_board('parts', 'parts', member => 'player_id, part')};
verified('partitions');
$node->safe_psql('postgres', 'DROP TABLE parts_2');
verified('a partition is dropped');
is($node->safe_psql('postgres', q{SET leaderboard.offline = error; SELECT lb_rank_key('(7,1)', 'parts')}), '94', 'and the board answers');
citus_stop(@nodes);
done_testing();
