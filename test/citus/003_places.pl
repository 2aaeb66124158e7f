# Boards of tables that Citus distributes, known on all servers: each answer, through each
# of them, is that of a plain table, whatever becomes of the table of places.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use LbCitus;
use LbTest;
use Test::More;

my ($node, @workers) = citus_nodes();
my @boards;

sub sql
{
	my ($sql, $where) = @_;

	return ($where // $node)->safe_psql('postgres', $sql);
}

# A distributed table and a plain one with the same rows, and a board of each
sub make
{
	my ($name, $columns, $distribution, $rows, $options) = @_;

	sql("CREATE TABLE $name ($columns); SELECT create_distributed_table('$name', '$distribution', shard_count => 4);
		CREATE TABLE plain_$name (LIKE $name INCLUDING ALL); INSERT INTO $name $rows; INSERT INTO plain_$name SELECT * FROM $name");
	sql("SELECT lb_create_board('$name', '$name', $options)");
	sql("SELECT lb_create_board('plain_$name', 'plain_$name', $options)");
	push @boards, $name;
	return;
}

make('points', 'player_id bigint PRIMARY KEY, score bigint NOT NULL, at timestamptz NOT NULL', 'player_id',
	q{SELECT g, g * 7919 % 300, timestamptz '2026-02-01' + g % 7 * interval '25 h' FROM generate_series(1, 900) g}, q{rank_by => 'score DESC, at ASC'});
make('names', 'name text COLLATE "C" PRIMARY KEY, score double precision NOT NULL, at date', 'name',
	q{SELECT 'player ' || g, g * 31 % 40 / 7.0, '2026-01-02'::date + g % 3 FROM generate_series(1, 900) g}, q{'name', 'score ASC, at DESC'});
make('ids', 'id uuid PRIMARY KEY, score numeric(10, 2) NOT NULL', 'id',
	q{SELECT md5(g::text)::uuid, g % 50 / 4.0 FROM generate_series(1, 900) g}, q{'id', 'score DESC', method => 'rank'});
make('realms', 'realm smallint, id integer, score integer, guild text, PRIMARY KEY (realm, id, guild)', 'id',
	q{SELECT g % 3, g / 3, g * 17 % 100, 'g' || g % 2 FROM generate_series(1, 900) g}, q{'realm, id', 'score DESC', board_column => 'guild'});
make('days', 'day date PRIMARY KEY, score bigint NOT NULL', 'day',
	q{SELECT '2026-01-01'::date + g, g % 60 FROM generate_series(1, 900) g}, q{'day'});
make('zeros', 'id bigint PRIMARY KEY, score double precision NOT NULL', 'id',
	q{SELECT g, CASE WHEN g % 5 = 0 THEN '-0' ELSE g % 9 - 4 END FROM generate_series(1, 300) g}, q{'id'});
is(sql('SELECT lb_wait_ready()'), 't', 'ready');

my $settings = q{SET extra_float_digits = -3; SET DateStyle = 'SQL, DMY'; SET IntervalStyle = 'sql_standard'; SET bytea_output = 'escape'; SET timezone = 'Asia/Tokyo';};

# What all functions say of some members of a board
sub answers
{
	my ($name, $board, $where) = @_;
	my $b = $name eq 'realms' ? "'$board:g1'" : "'$board'";
	my ($member, $key) = $name eq 'names' ? (q{'player ' || m}, q{'1.2857142857142858', ARRAY['04/01/2026'], 'player 55'}) :
	  $name eq 'ids' ? ('md5(m::text)', qq{'6.25', '{}', md5('55')}) : $name eq 'realms' ? (q{'(' || m % 3 || ',' || m / 3 || ')'}, q{'55', '{}', '(1,33)'}) :
	  $name eq 'days' ? (q{('2026-01-01'::date + m)::text}, q{'44', '{}', '15/02/2026'}) :
	  $name eq 'points' ? ('m::text', q{'150', ARRAY['03/02/2026 11:00:00'], '55'}) : ('m::text', q{'1', '{}', '55'});
	my $members = "ARRAY(SELECT $member FROM generate_series(895, 906) m) || ARRAY(SELECT $member FROM generate_series(1, 60, 7) m) || NULL::text";

	return $where->safe_psql('postgres', qq{$settings
		SELECT m, lb_rank_key($member, $b), lb_rank_key($member, $b, 'rank'), lb_rank_key($member, $b, 'dense_rank'), lb_percentile_key($member, $b),
			lb_player_key($member, $b), lb_score_key($member, $b), lb_tier_key($member, $b) FROM unnest(ARRAY[1, 2, 15, 55, 899, 905]) m;
		SELECT * FROM lb_ranks_key($members, $b);
		SELECT * FROM lb_ranks_key($members, $b, 'dense_rank');
		SELECT * FROM lb_among_key($members, $b);
		SELECT lb_count($b), lb_count_before_key($key, $b), lb_count_before_key($key, $b, true);
		SELECT * FROM lb_ranks_key('{}', $b), lb_among_key('{}', $b);
		SELECT * FROM lb_page_key(5, $b, 40)});
}

my %wanted;

# The answers are right on all servers.
sub equal
{
	my ($what, @names) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @wrong;

	for my $name (@names > 0 ? @names : @boards)
	{
		$wanted{$name} //= answers($name, "plain_$name", $node);
		for my $where ($node, @workers)
		{
			my $got = answers($name, $name, $where);

			push @wrong, "$name through " . $where->name . ":\n$got\ninstead of\n$wanted{$name}" if $got ne $wanted{$name};
		}
	}
	return is(join("\n", @wrong), '', "$what: all answers");
}

# How many reads the boards of a table's shards answer, of one lb_rank() and one lb_ranks()
sub by_boards
{
	my ($board) = @_;
	my $reads = sub {
		return map { split(/[|\n]/, sql("SELECT board, index_reads FROM lb_stat_board WHERE board ~ '^${board}_[0-9]+\$'", $_)) } @workers;
	};
	my %before = $reads->();

	# Sessions count their reads once a second.
	sql("SELECT lb_rank(5, '$board'); SELECT * FROM lb_ranks('{1,2,3}', '$board')");
	select(undef, undef, undef, 1.5);
	my %after = $reads->();
	my $n = 0;

	# Citus may drop what was moved meanwhile.
	$n += $after{$_} - ($before{$_} // 0) for keys %after;
	return $n;
}

equal('created');
is(sql(q{SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relname ~ 'lb_places$'}, $_),
	'ids_lb_places names_lb_places points_lb_places realms_lb_places zeros_lb_places', 'tables of places') for $node, @workers;
is(sql(q{SELECT count(*), count(DISTINCT shard), sum(width) FROM points_lb_places}), '4|4|4294967296', 'a place for each shard');
is(sql(q{SELECT board, source, rank_by, method FROM lb_board WHERE board = 'ids'}, $workers[1]), 'ids|ids|score DESC|rank', 'recorded on a worker');

# Only the coordinator makes boards.
fails_with($workers[0], 'postgres', $_, '55000', qr/cannot change boards of a distributed table on a worker\nHINT:  Connect to the coordinator/, "$_ on a worker")
  for q{SELECT lb_create_board('other', 'points')}, q{SELECT lb_drop_board('points')}, q{SELECT lb_rebuild('points')};
fails_with($node, 'postgres', q{SELECT leaderboard_internal.lb_record_board('other', 'plain_points', 'player_id', 'score DESC', NULL, 'rank', NULL, 'members', NULL)}, '42809', qr/not distributed/, 'recorded by hand');
sql('SELECT lb_maintain()', $workers[0]);

# A transaction sees what it has written itself; a rollback takes the table of places away.
is(sql(q{BEGIN; UPDATE points SET score = 5000 + player_id WHERE player_id IN (8, 9); DELETE FROM points WHERE player_id = 10;
	SELECT lb_rank(8, 'points'); SELECT * FROM lb_ranks('{9,10,8}', 'points'); SELECT * FROM lb_among('{8,9,10}', 'points'); ROLLBACK}),
	"2\n9|1|5009\n10||\n8|2|5008\n1|9|5009|1\n2|8|5008|2", 'own changes');
sql(q{CREATE TABLE later (player_id bigint PRIMARY KEY, score bigint NOT NULL); SELECT create_distributed_table('later', 'player_id', shard_count => 4)});
sql(q{BEGIN; SELECT lb_create_board('later', 'later'); ROLLBACK});
is(sql(q{SELECT count(*) FROM pg_class WHERE relname = 'later_lb_places'}), '0', 'ROLLBACK: no places');
sql(q{SELECT lb_create_board('later', 'later', rank_by => 'score ASC'), lb_create_board('latest', 'later'); INSERT INTO later VALUES (1, 7), (2, 8)});
is(sql(q{SELECT lb_wait_ready(), lb_rank(2, 'later'), lb_rank(2, 'latest')}, $_), 't|2|1', 'made after a ROLLBACK') for $node, @workers;
sql(q{SELECT lb_drop_board('latest')});
is(sql(q{SELECT count(*) FROM later_lb_places}), '4', 'places while a board is left');
fails_with($workers[0], 'postgres', q{SELECT lb_rank(2, 'latest')}, '42704', qr/board "latest" does not exist/, 'dropped on a worker');
sql(q{SELECT lb_drop_board('later')});
is(sql(q{SELECT count(*) FROM pg_class WHERE relname ~ 'later_lb_places'}, $_), '0', 'no places without a board') for $node, @workers;

# The name of the table of places is another's.
sql(q{CREATE VIEW later_lb_places AS SELECT 1 AS place});
sql(q{SELECT lb_create_board('later', 'later')});
is(sql(q{SELECT lb_wait_ready(), lb_rank(2, 'later')}, $_), 't|1', 'without places') for $node, @workers;
sql(q{DROP VIEW later_lb_places; SELECT lb_maintain()});
is(sql(q{SELECT count(*) FROM later_lb_places}), '4', 'with places');
sql(q{ALTER TABLE later RENAME TO last; SELECT lb_maintain()});
is(sql(q{SELECT count(*), lb_rank(2, 'later') FROM last_lb_places}, $_), '4|1', 'renamed') for $node, @workers;
sql(q{CREATE SCHEMA elsewhere; ALTER TABLE last SET SCHEMA elsewhere; SELECT lb_maintain()});
is(sql(q{SELECT count(*), lb_rank(2, 'later') FROM elsewhere.last_lb_places}, $_), '4|1', 'in another schema') for $node, @workers;
is(sql(q{SELECT count(*) FROM pg_class WHERE relname ~ 'la[ts].*_lb_places$'}, $_), '1', 'one table of places') for $node, @workers;
sql(q{DROP TABLE elsewhere.last});
is(sql(q{SELECT coalesce(string_agg(relname, ' '), '') FROM pg_class WHERE relname ~ 'la[ts].*_lb_places'}, $_), '', 'no places without the table') for $node, @workers;
is(sql(q{SELECT count(*) FROM lb_board WHERE board = 'later'}, $_), '0', 'nor a record of the board') for $node, @workers;

# Tables with long names that begin alike
my @long = map { 'long_' x 11 . $_ } 1, 2;
for (@long)
{
	sql(qq{CREATE TABLE $_ (player_id bigint PRIMARY KEY, score bigint NOT NULL);
		SELECT create_distributed_table('$_', 'player_id', shard_count => 4, colocate_with => 'none')});
	sql(qq{INSERT INTO $_ SELECT g, g FROM generate_series(1, 9) g; SELECT lb_create_board(substr('$_', 50), '$_')});
}
sql('SELECT lb_wait_ready()');
is(sql(q{SET leaderboard.offline = error; SELECT lb_rank(2, substr('%s', 50)), lb_rank(2, substr('%s', 50))} =~ s/%s/$long[0]/r =~ s/%s/$long[1]/r), '8|8', 'two tables with long names have places');
sql("DROP TABLE $long[1]");
is(sql(qq{SET leaderboard.offline = error; SELECT lb_rank(2, substr('$long[0]', 50))}), '8', 'one of them is dropped');
sql("DROP TABLE $long[0]");
is(sql(q{SELECT count(*) FROM pg_class WHERE relname ~ '^long_.*_lb_places$'}, $_), '0', 'no places without the tables') for $node, @workers;

# Other roles
sql(q{CREATE ROLE reader LOGIN; CREATE ROLE stranger LOGIN; GRANT SELECT ON points TO reader});
is(sql(q{SET ROLE reader; SELECT lb_rank(5, 'points') IS NOT NULL, (SELECT count(rank) FROM lb_ranks('{1,2}', 'points'))}, $_), 't|2', 'a role that may read') for $node, @workers;
fails_with($_, 'postgres', q{SET ROLE stranger; SELECT lb_rank(5, 'points')}, '42501', qr/permission denied/, 'a role that may not') for $node, @workers;
fails_with($node, 'postgres', q{SET ROLE stranger; SELECT leaderboard_internal.lb_shard_ask('points', '', 0, p.shard, p.self, p.tableoid, '{}', int8send(0)) FROM points_lb_places p; SELECT * FROM lb_ranks('{1}', 'points')},
	'42501', qr/permission denied/, 'a role that asks the shards itself');

# What the functions for shards refuse
for (['', q{'{1,2}', int8send(0)}], ['not lists of shards', q{'{2,1}', int8send(0)}], ['not lists of shards', q{'{0,1}', int8send(0)}], ['not a number of whole words', q{'{}', '\\x00'}], ['not the words of a key', q{'{}', int8send(3)}])
{
	my ($error, $args) = @$_;
	my $call = "SELECT leaderboard_internal.lb_shard_ask('points', '', 0, 1, 0, 'points'::regclass, $args)";

	$error ? fails_with($node, 'postgres', $call, '22023', qr/$error/, $args) : is(sql($call), '', $args);
}

# How many statements the last read of a session sends to shards
sub sent
{
	my ($before, $read, $where) = @_;
	my ($stdout, $stderr);

	$where->psql('postgres', "$before; SET citus.log_remote_commands = on; SET citus.log_local_commands = on; $read", stdout => \$stdout, stderr => \$stderr);
	return scalar(() = $stderr =~ /lb_shard_[a-z]+\(/g);
}

my $ranks = q{SELECT * FROM lb_ranks('{1,2,3}', 'points')};

for my $where ($node, @workers)
{
	my $name = $where->name;

	is(sent(q{SELECT lb_rank(5, 'points')}, $ranks, $where), '4', "$name: two statements on each server");
	is(sent('SELECT 1', $ranks, $where), '6', "$name: the first one of a session on each shard");
	is(sent("$ranks; BEGIN; SELECT lb_score(5, 'points')", $ranks, $where), '8', "$name: on each shard in a block");
}

# Changes that a transaction has made over several connections to one server
for my $where ($node, @workers)
{
	my $what = sub {
		return "SELECT * FROM lb_ranks(ARRAY(SELECT generate_series(1, 900)), '$_[0]'); SELECT * FROM lb_page(50, '$_[0]', 300);";
	};
	my ($own, $wanted) = map { ($_ eq 'points' ? $where : $node)->safe_psql('postgres', $what->($_) . "BEGIN; SET LOCAL citus.force_max_query_parallelization = on; UPDATE $_ SET score = score + player_id % 50;" . $what->($_) . 'ROLLBACK;' . $what->($_)) }
	  ('points', 'plain_points');

	is($own, $wanted, 'own changes, through ' . $where->name);
}

# Sessions that have asked before what becomes of the table of places, and of the shards
my @sessions = map { $_->background_psql('postgres', timeout => 60) } $node, @workers;

$_->set_query_timer_restart for @sessions;

my $all = sub {
	return "SELECT md5(string_agg(r::text, ' ')) FROM lb_ranks(ARRAY(SELECT generate_series(1, 900)), '$_[0]') r";
};
my $sessions_equal = sub {
	my ($what) = @_;
	my $wanted = sql($all->('plain_points'));

	is($_->query_safe($all->('points')), $wanted, "$what: a session that has asked before") for @sessions;
};

$sessions_equal->('whole') for 1, 2;

# Tables of places that users have damaged make reads slow, not wrong; maintenance puts them right.
cmp_ok(by_boards('points'), '>=', 12, 'the boards of the shards answer');
for my $damage (
	'DELETE FROM points_lb_places WHERE shard = (SELECT min(shard) FROM points_lb_places)',
	'INSERT INTO points_lb_places SELECT -p.place, p.shard, p.self, p.width FROM points_lb_places p',
	'UPDATE points_lb_places SET shard = shard + 1',
	'UPDATE points_lb_places SET self = self + 1',
	'UPDATE points_lb_places SET shard = (SELECT min(shard) FROM points_lb_places)',
	q{WITH t AS MATERIALIZED (SELECT min(shard) AS low, max(shard) AS high FROM points_lb_places) UPDATE points_lb_places SET shard = CASE shard WHEN low THEN high ELSE low END FROM t WHERE shard IN (low, high)},
	q{UPDATE points_lb_places p SET shard = CASE p.shard WHEN m.a THEN m.b ELSE m.a END FROM (SELECT min(shardid) AS a, max(shardid) AS b FROM citus_shards WHERE table_name = 'points'::regclass AND nodeport = (SELECT min(nodeport) FROM pg_dist_node WHERE groupid <> 0)) m WHERE p.shard IN (m.a, m.b)},
	'UPDATE points_lb_places SET shard = NULL, self = NULL',
	'TRUNCATE points_lb_places',
	'ALTER TABLE points_lb_places RENAME TO other',
	'ALTER TABLE points_lb_places RENAME COLUMN self TO other',
	'DROP TABLE points_lb_places')
{
	my $name = substr($damage, 0, 50);

	if ($node->psql('postgres', $damage) != 0)
	{
		# Citus does not update by what is in its own tables.
		my ($first, $second) = split(/\|/, sql(q{SELECT min(shardid), max(shardid) FROM citus_shards WHERE table_name = 'points'::regclass AND nodeport = (SELECT min(nodeport) FROM pg_dist_node WHERE groupid <> 0)}));
		sql("UPDATE points_lb_places SET shard = CASE shard WHEN $first THEN $second ELSE $first END WHERE shard IN ($first, $second)");
	}
	equal($name, 'points');
	$sessions_equal->($name);
	if ($damage =~ /COLUMN/)
	{
		sql('ALTER TABLE points_lb_places RENAME COLUMN other TO self');
	}
	sql('SELECT lb_maintain()');
	is(sql(q{SELECT count(*), count(DISTINCT shard), sum(width) FROM points_lb_places}), '4|4|4294967296', "$name: put right");
	$sessions_equal->("$name: put right");
}

# A table of that name whose places are of a type of the owner's is none: its casts and operators would run.
sql('CREATE TYPE evil AS (n bigint)');
sql(q{CREATE TABLE kept AS SELECT p.* FROM points_lb_places p; DROP TABLE points_lb_places;
	CREATE TABLE points_lb_places (d bigint PRIMARY KEY, place evil, shard bigint, self bigint, width bigint)});
sql(q{SELECT create_distributed_table('points_lb_places', 'd', colocate_with => 'points')});
sql(q{INSERT INTO points_lb_places SELECT place, ROW(place)::evil, shard, get_shard_id_for_distribution_column('points_lb_places', place), width FROM kept});
is(sql('SELECT lb_rank(1, $$points$$) = lb_rank(1, $$points$$), lb_rank(1, $$points$$) IS NULL'), sql('SET leaderboard.enable_index = off; SELECT lb_rank(1, $$points$$) = lb_rank(1, $$points$$), lb_rank(1, $$points$$) IS NULL'), 'places of another type');
$sessions_equal->('places of another type');
sql('DROP TABLE points_lb_places, kept; DROP TYPE evil; SELECT lb_maintain()');
cmp_ok(by_boards('points'), '>=', 12, 'the boards of the shards answer again');

# Shards are moved and split.
my ($moved, $split) = split(/\n/, sql(q{SELECT shardid FROM pg_dist_shard WHERE logicalrelid = 'points'::regclass ORDER BY 1 LIMIT 2}));
my $from = sql("SELECT nodeport FROM pg_dist_shard_placement WHERE shardid = $moved");
my ($to) = grep { $_ != $from } map { $_->port } @workers;
sql("SELECT citus_move_shard_placement($moved, '127.0.0.1', $from, '127.0.0.1', $to, 'block_writes')");
equal('moved', 'points');

# The old shard and its board may still be there.
sql("UPDATE $_ SET score = score + 3 WHERE player_id % 2 = 0") for 'points', 'plain_points';
delete $wanted{points};
$sessions_equal->('moved and written');
sql("SELECT citus_split_shard_by_split_points($split, ARRAY['-600000000'], (SELECT array_agg(nodeid) FROM pg_dist_node WHERE groupid <> 0), 'block_writes')");
equal('split');
for ('points', 'plain_points')
{
	sql("UPDATE $_ SET score = score + 50 WHERE player_id % 3 = 0; DELETE FROM $_ WHERE player_id % 10 = 1");
}
delete $wanted{points};
equal('split and written');
sql('SELECT lb_maintain(); SELECT lb_wait_ready()');
is(sql(q{SELECT count(*), count(DISTINCT shard), sum(width) FROM points_lb_places}), '5|5|4294967296', 'places after a split');
equal('mended');
$sessions_equal->('mended') for 1, 2;
$_->quit for @sessions;
is(sent(q{SELECT lb_rank(5, 'points')}, $ranks, $node), '4', 'mended: two statements on each server');
cmp_ok(by_boards('points'), '>=', 15, 'the boards of five shards answer');

# A server comes, and goes again.
my $third = lb_node('worker3', $LbCitus::settings);
$third->start;
sql('CREATE EXTENSION citus', $third);
sql(q{SELECT citus_add_node('127.0.0.1', } . $third->port . ')');
is(sql('SHOW search_path', $third), 'public, leaderboard', 'it has the path');
sql('SELECT lb_maintain()');
push @workers, $third;
equal('a server has come', 'points', 'realms');
pop @workers;
sql(q{SELECT citus_remove_node('127.0.0.1', } . $third->port . ')');
equal('a server has gone', 'points', 'realms');

# A server that is away makes reads fail, as Citus's own do, and mends when it is back.
$workers[1]->stop('immediate');
fails_with($node, 'postgres', q{SELECT * FROM lb_ranks('{1,2,3,4,5,6,7,8,9}', 'points')}, '08006', qr/connection to the remote node/, 'a server is away');
$workers[1]->start;
sql(q{DELETE FROM lb_board WHERE board = 'names'}, $workers[1]);
sql('SELECT lb_maintain()');
equal('a server is back');

# Reference tables have a place on every server, tenants' tables one.
sql(q{
	CREATE TABLE everywhere (LIKE plain_points INCLUDING ALL);
	SELECT create_reference_table('everywhere');
	INSERT INTO everywhere SELECT * FROM plain_points;
	SET citus.enable_schema_based_sharding = on;
	CREATE SCHEMA tenant;
	CREATE TABLE tenant.scores (LIKE plain_points INCLUDING ALL);
	INSERT INTO tenant.scores SELECT * FROM plain_points});
sql(q{SELECT lb_create_board('everywhere', 'everywhere', rank_by => 'score DESC, at ASC'); SELECT lb_create_board('tenant', 'tenant.scores', rank_by => 'score DESC, at ASC')});
is(sql('SELECT lb_wait_ready()'), 't', 'ready');
for my $board ('everywhere', 'tenant')
{
	for my $where ($node, @workers)
	{
		is($where->safe_psql('postgres', "SELECT lb_rank(7, '$board'), (SELECT string_agg(r::text, ' ') FROM lb_ranks('{5,6}', '$board') r)"),
			sql(q{SELECT lb_rank(7, 'plain_points'), (SELECT string_agg(r::text, ' ') FROM lb_ranks('{5,6}', 'plain_points') r)}), "$board through " . $where->name);
	}
}
cmp_ok(sql(q{SELECT count(*) FROM pg_dist_partition WHERE logicalrelid::text ~ 'lb_places$' AND partmethod = 'n'}), '==', 2, 'their places');

for ($node, @workers)
{
	is(sql('SELECT lb_wait_ready()', $_), 't', 'ready on ' . $_->name);
	is(sql('SELECT * FROM lb_verify_key()', $_), '', 'lb_verify_key() on ' . $_->name);
}
citus_stop($node, @workers, $third);
done_testing();
