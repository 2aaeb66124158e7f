# Pages of distributed tables, near and deep, and what is around a member: each is that
# of a plain table with the same rows, for orders and keys of every kind.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t", $FindBin::RealBin;
use IPC::Run;
use LbCitus;
use LbTest;
use Test::More;

my ($node, @workers) = my @nodes = citus_nodes();

# Tables: their columns, the distribution column, and the rows
my $rows = 5000;
my %tables = (
	points => [ 'player_id bigint PRIMARY KEY, score bigint NOT NULL, at timestamptz NOT NULL, ok boolean', 'player_id',
		"SELECT g, g * 7919 % 300, timestamptz '2026-01-02' + g % 7 * interval '25 h', g % 50 > 0 FROM generate_series(1, $rows) g" ],
	names => [ 'name text PRIMARY KEY, score integer NOT NULL, label varchar(400)', 'name',
		"SELECT chr(945 + g % 20) || g, g % 11, repeat(chr(97 + g % 3), g % 37 * 10) || g % 5 FROM generate_series(1, $rows) g" ],
	sums => [ 'id uuid PRIMARY KEY, score numeric(12, 2) NOT NULL, ratio double precision NOT NULL, day date', 'id',
		q{SELECT CAST(md5(g::text) AS uuid), g % 90 / 8.0 - 5, ('{1,-3.5,Infinity,-Infinity,NaN,1e-300}'::float8[])[1 + g % 6],
			CASE WHEN g % 9 = 0 THEN 'infinity' ELSE date '2026-01-01' + g % 40 END} . " FROM generate_series(1, $rows) g" ],

	# All of the best on one shard, and shards without rows
	realms => [ 'realm integer, id integer, score smallint NOT NULL, kind text NOT NULL, PRIMARY KEY (realm, id)', 'realm',
		"SELECT 1 + g / 3000, g, CASE WHEN g < 3000 THEN g % 500 ELSE -(g % 17) END, 'k' || g % 3 FROM generate_series(1, $rows) g" ],
	zeros => [ 'id bigint PRIMARY KEY, score double precision NOT NULL', 'id',
		"SELECT g, CASE WHEN g % 2 = 0 THEN float8 '-0' ELSE g % 40 - 20 END FROM generate_series(1, 1200) g" ],
	flags => [ 'id bigint PRIMARY KEY, score boolean NOT NULL, at timestamp', 'id',
		"SELECT g, g % 3 = 0, timestamp '2026-01-01' + g % 2 * interval '1 us' FROM generate_series(1, 2000) g" ],
	nothing => [ 'id bigint PRIMARY KEY, score bigint', 'id', 'SELECT g, NULL FROM generate_series(1, 20) g' ]);

# Boards: the table, the order, and more; of a family one board.
my %boards = (
	points => [ 'points', q{rank_by => 'score DESC, at ASC', ranked_if => 'ok'} ],
	ranks => [ 'points', q{rank_by => 'score ASC', method => 'rank'} ],
	dense => [ 'points', q{rank_by => 'score DESC, at DESC', method => 'dense_rank'} ],
	names => [ 'names', q{member => 'name', rank_by => 'score DESC, label DESC'} ],
	labels => [ 'names', q{member => 'name', rank_by => 'score ASC, label ASC', method => 'rank'} ],
	sums => [ 'sums', q{member => 'id', rank_by => 'score ASC, ratio DESC, day DESC', method => 'rank'} ],
	ratios => [ 'sums', q{member => 'id', rank_by => 'ratio DESC'} ],
	days => [ 'sums', q{member => 'id', rank_by => 'day ASC, score DESC'} ],
	realms => [ 'realms', q{member => 'realm, id', rank_by => 'score DESC'} ],
	kinds => [ 'realms', q{member => 'realm, id', rank_by => 'score DESC', board_column => 'kind', method => 'rank'}, ':k1' ],
	zeros => [ 'zeros', q{member => 'id'} ],
	flags => [ 'flags', q{member => 'id', rank_by => 'score ASC, at DESC', method => 'rank'} ],
	nothing => [ 'nothing', q{member => 'id'} ]);

for my $table (sort keys %tables)
{
	my ($columns, $key, $rows_of) = @{ $tables{$table} };

	$node->safe_psql('postgres', qq{
		CREATE TABLE $table ($columns);
		CREATE TABLE plain_$table (LIKE $table INCLUDING ALL);
		SELECT create_distributed_table('$table', '$key', shard_count => 8);
		INSERT INTO $table $rows_of;
		INSERT INTO plain_$table $rows_of});
}
for my $board (sort keys %boards)
{
	my ($table, $how) = @{ $boards{$board} };

	$node->safe_psql('postgres', "SELECT lb_create_board('$board', '$table', $how), lb_create_board('plain $board', 'plain_$table', $how)");
}
is($node->safe_psql('postgres', 'SELECT lb_wait_ready()'), 't', 'ready');

# Whether the answers for a board are those of the plain one: pages at places so far apart,
# or with 0, what is not only pages; or with -1, of null.
sub differences
{
	my ($board, $every) = @_;
	my $far = $every > 0 ? $every : 1999;
	my $value = $boards{$board}[2] // '';
	my ($spread, $plain) = ("'$board$value'", "'plain $board$value'");
	my @calls = (
		[ 'skip', '* FROM lb_page_key(9, B, x)' ], [ 'skip', '* FROM lb_top_key(3, B, x + 1)' ],
		[ 'skip', '* FROM lb_at_key(x, B)' ], [ 'skip', '* FROM lb_at_key(x + 1, B)' ],
		[ 'percent', 'lb_score_at_percentile_key(x, B)' ], [ 'member', '* FROM lb_around_key(x, B, 4)' ],
		[ 'skip', q{lb_top_json(3, B, x) -> 'entries'} ], [ 'all', '* FROM lb_page_key(90000, B, x)' ],
		[ 'all', '* FROM lb_top_key(0, B, x)' ]);
	my %operands = (
		skip => "SELECT x FROM unnest(array_cat('{0,1,2,511,512,513,514}', ARRAY(SELECT generate_series(3, $rows + 40, $far))::bigint[])) u (x)",
		all => "SELECT x FROM unnest('{0,700}'::bigint[]) u (x)",
		bucket => "SELECT x FROM unnest('{1,3,10}'::integer[]) u (x)",
		null => 'SELECT NULL',
		percent => "SELECT x FROM unnest('{0,0.01,1,33.3,50,90,99.99,100}'::float8[]) u (x)",
		member => "SELECT t.member FROM generate_series(0, $rows, $far) s, lb_at_key(s + 1, $plain) t (r, member) WHERE t.member IS NOT NULL");
	my @wrong;

	if ($every < 0)
	{
		@calls = map { [ 'null', $_ ] } 'lb_score_at_percentile_key(x::float8, B)', '* FROM lb_at_key(x::bigint, B)', '* FROM lb_around_key(x, B)';
	}
	elsif ($every == 0)
	{
		@calls = ([ 'bucket', '* FROM lb_histogram_key(x, B)' ], [ 'member', q{CAST(lb_rank_json_key(x, B) AS jsonb) - 'board'} ]);
		push @calls, [ 'bucket', '* FROM lb_histogram(x, B)' ] if $board =~ /^(points|ranks|dense|nothing)$/;
	}
	elsif ($board =~ /^(points|ranks|dense|nothing)$/)
	{
		push @calls, [ 'skip', '* FROM lb_top(4, B, x)' ], [ 'skip', '* FROM lb_page(2, B, x)' ], [ 'skip', '* FROM lb_at(x, B)' ],
			[ 'percent', 'lb_score_at_percentile(x, B)' ],
			[ 'member', '* FROM lb_around(x::bigint, B)' ];
	}
	for my $call (@calls)
	{
		my ($operands, $what) = @$call;
		my ($got, $wanted) = map
		{
			my $name = $_;
			my $text = $what =~ s/\bB\b/$name/r =~ s/\bx\b/o.x/gr;

			"ARRAY(SELECT CAST(t AS text) FROM " . ($text =~ /^\* FROM (.*)/ ? "$1 t)" : "(SELECT $text) t)");
		} $spread, $plain;
		my $found = $node->safe_psql('postgres', "SELECT o.x, $got, $wanted FROM ($operands{$operands}) o (x) WHERE $got IS DISTINCT FROM $wanted LIMIT 3");

		push @wrong, "$what of $board: $found" if $found ne '';
	}
	return @wrong;
}

sub equal
{
	my ($what, $every, @names) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return is(join("\n", map { differences($_, $every) } @names ? @names : sort keys %boards), '', "$what: all answers");
}

# Which boards' answers have come from the boards of shards (i), and which from the query (q)
sub answered
{
	my ($what, $wanted) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	is($node->safe_psql('postgres', q{
			SELECT string_agg(board || '=' || CASE WHEN index_reads > 0 THEN 'i' ELSE '' END || CASE WHEN query_reads > 0 THEN 'q' ELSE '' END, ' ' ORDER BY board)
			FROM lb_stat_board WHERE board !~ 'plain' AND index_reads + query_reads > 0}), $wanted, "$what: what has answered");
	return $node->safe_psql('postgres', 'SELECT lb_stat_reset()');
}

sub both
{
	my ($table, $sql) = @_;

	$node->safe_psql('postgres', $sql =~ s/\bT\b/$_/gr) for ($table, "plain_$table");
	return;
}

$node->safe_psql('postgres', 'SELECT lb_stat_reset()');
equal('created', 797);
answered('created', 'days=i dense=iq flags=i kinds=i labels=i names=i nothing=i points=i ranks=i ratios=i realms=i sums=i zeros=iq');
equal('more', 0);
answered('more', 'days=i dense=iq flags=i kinds=i labels=i names=i nothing=i points=i ranks=i ratios=i realms=i sums=i zeros=i');
equal('null', -1);
$node->safe_psql('postgres', 'SELECT lb_stat_reset()');

# Writes, and what a transaction sees of its own
both('points', $_) for (
	'DELETE FROM T WHERE player_id % 23 = 0', 'UPDATE T SET score = score + 100 WHERE player_id % 5 = 0', 'UPDATE T SET ok = NOT ok WHERE player_id % 7 = 0',
	q{INSERT INTO T SELECT g, 10000 - g, '2026-01-01', true FROM generate_series(6000, 6020) g});
both('names', q{UPDATE T SET label = name || label WHERE score < 5});
my @own = map
{
	$node->safe_psql('postgres', "BEGIN; UPDATE $_ SET score = score + 7 WHERE player_id % 3 = 0; DELETE FROM $_ WHERE player_id < 40; "
		. 'SELECT lb_page(3, B, 2), lb_at(2000, B), lb_around(1200, B, 2), lb_score_at_percentile(40, B); ROLLBACK' =~ s/\bB\b/$_ eq 'points' ? "'points'" : "'plain points'"/ger)
} 'points', 'plain_points';
is($own[0], $own[1], 'own changes');
equal('written', 691, 'points', 'ranks', 'names', 'labels');

# While rows change, ranks go on by one, and no member is twice on a page.
my $stop = "SELECT pg_sleep(0.01) FROM generate_series(1, 200)";
my $writer = IPC::Run::start([ 'psql', '-qXAt', '-d', $node->connstr('postgres'), '-c',
	'CREATE PROCEDURE write() LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..1500 LOOP UPDATE points SET score = (score * 31 + i) % 700 WHERE player_id = i * 7919 % 5000; COMMIT; END LOOP; END $$',
	'-c', 'CALL write()' ]);
my $pages = q{
	SELECT count(*) FROM generate_series(0, 4000, 100) s, LATERAL (
		SELECT count(*) AS n, count(DISTINCT t.member) AS members, min(t.rank) AS first, max(t.rank) AS last,
			bool_and(t.score <= t.before OR t.before IS NULL) AS sorted
		FROM (SELECT *, lag(score) OVER (ORDER BY rank) AS before FROM lb_top(50, 'points', s)) t) p
	WHERE p.n <> 50 OR p.members <> 50 OR p.first <> s + 1 OR p.last <> s + 50 OR NOT p.sorted};
is($node->safe_psql('postgres', $pages), '0', 'pages while rows change') for 1 .. 3;
ok($writer->finish, "the writer has written");
both('points', 'UPDATE T SET score = player_id % 300') ;
equal('after writes', 997, 'points', 'ranks');

# Without the board of each shard, or with another one of its name, the query answers.
my $shard = $node->safe_psql('postgres', q{SELECT min(shardid) FROM pg_dist_shard WHERE logicalrelid = 'points'::regclass});
my ($holder) = grep { $_->safe_psql('postgres', "SELECT count(*) FROM lb_board WHERE board = 'points_$shard'") eq '1' } @workers;
$holder->safe_psql('postgres', "SELECT lb_drop_board('points_$shard')");
$node->safe_psql('postgres', 'SELECT lb_stat_reset()');
equal('a board is missing', 1499, 'points');
$holder->safe_psql('postgres', "SELECT lb_create_board('points_$shard', 'points_$shard', rank_by => 'score DESC, at DESC', ranked_if => 'ok'), lb_wait_ready()");
equal('another board of that name', 1499, 'points');
answered('another board of that name', 'points=q');
$node->safe_psql('postgres', q{SELECT lb_rebuild('points'), lb_wait_ready()});

# So where a shard has moved to, and where one was split
my ($moved, $split) = split(/\n/, $node->safe_psql('postgres', q{SELECT shardid FROM pg_dist_shard WHERE logicalrelid = 'names'::regclass ORDER BY 1 LIMIT 2}));
my $from = $node->safe_psql('postgres', "SELECT nodeport FROM pg_dist_shard_placement WHERE shardid = $moved");
my ($to) = grep { $_ != $from } map { $_->port } @workers;
$node->safe_psql('postgres', "SELECT citus_move_shard_placement($moved, '127.0.0.1', $from, '127.0.0.1', $to, 'block_writes')");
equal('moved', 1499, 'names', 'labels');
$node->safe_psql('postgres', "SELECT citus_split_shard_by_split_points($split, ARRAY['-1300000000'],
	(SELECT array_agg(nodeid) FROM pg_dist_node WHERE groupid <> 0), 'block_writes')");
both('names', 'UPDATE T SET score = score + 1 WHERE score % 3 = 0');
equal('split', 1499, 'names', 'labels');
answered('moved and split', 'labels=q names=q');
$node->safe_psql('postgres', 'SELECT lb_maintain()');
is($node->safe_psql('postgres', 'SELECT lb_wait_ready()'), 't', 'made again: ready');
equal('made again', 997, 'names', 'labels');
answered('made again', 'labels=i names=i');

# The caller's rights
$node->safe_psql('postgres', q{CREATE ROLE reader LOGIN; CREATE ROLE stranger LOGIN; GRANT SELECT ON points, plain_points TO reader});
is($node->safe_psql('postgres', q{SET ROLE reader; SELECT count(*) FROM (SELECT * FROM lb_page(20, 'points', 2000) EXCEPT SELECT * FROM lb_page(20, 'plain points', 2000)) x}), '0', 'a role that may read the table');
fails_with($node, 'postgres', "SET ROLE stranger; SELECT lb_top(3, 'points', 2000)", '42501', qr/permission denied/, 'a role that may not');

# What the function for shards refuses
my $call = q{SELECT leaderboard_internal.lb_shard_ask('points', '', 0, 1, %s, 'points'::regclass, '{}', int8send(2) || int8send(%s) || int8send(1) || int8send(0) || int8send(%s))};
is($node->safe_psql('postgres', sprintf($call, 5, 0, 0)), '', 'no shard');
fails_with($node, 'postgres', sprintf($call, 0, -1, 0), '22023', qr/number of rows is out of range/, 'a negative number');
fails_with($node, 'postgres', sprintf($call, 0, 0, 1), '22023', qr/not the words of a key/, 'a key without words');

is($node->safe_psql('postgres', 'SELECT * FROM lb_verify_key()'), '', 'lb_verify_key()');
citus_stop(@nodes);
done_testing();
