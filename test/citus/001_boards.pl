# Boards of tables that Citus distributes: on a coordinator and two workers, each answer
# is that of a plain table with the same rows, while shards are written, moved and split.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t", $FindBin::RealBin;
use LbCitus;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my ($node, @workers) = my @nodes = citus_nodes();

# A distributed table whose name needs quotes, and a plain one with the same rows
my $table = q{"Sco're %1$s"};
my $source = $table =~ s/'/''/r;
$node->safe_psql('postgres', qq{
	CREATE TABLE $table (player_id bigint PRIMARY KEY, score bigint NOT NULL, at timestamptz NOT NULL, guild text, ok boolean DEFAULT true,
		ratio double precision GENERATED ALWAYS AS (score / 7.0) STORED);
	CREATE TABLE plain (LIKE $table INCLUDING ALL);
	SELECT create_distributed_table('$source', 'player_id', shard_count => 8)});

sub both
{
	my ($sql) = @_;

	$node->safe_psql('postgres', $sql =~ s/TABLE/$_/gr) for ($table, 'plain');
	return;
}

# What the boards of the shards are on all workers
sub shards
{
	my ($what) = @_;

	return join(' ', map { $_->safe_psql('postgres', "SELECT $what FROM lb_stat_board WHERE board ~ '_[0-9]+\$'") } @workers);
}

my @calls = (
	'lb_count(B)', 'lb_count_between(100, 400, B)', 'lb_rank_of_score(250, B)', q{lb_rank_of_score(250, B, 'dense_rank')},
	'lb_rank(7, B)', q{lb_rank(7, B, 'rank')}, q{lb_rank(7, B, 'dense_rank')}, 'lb_rank(-7, B)', 'lb_score(7, B)',
	'lb_percentile(7, B)', '* FROM lb_player(7, B)', '* FROM lb_top(10, B)', '* FROM lb_top(10, B, 700)', '* FROM lb_at(333, B)',
	'* FROM lb_around(7, B, 3)', 'lb_score_at_percentile(90, B)', q{* FROM lb_ranks('{1,2,-3,7}', B)},
	q{* FROM lb_among('{1,2,-3,7}', B)}, '* FROM lb_histogram(5, B)', '* FROM lb_page(5, B, 40)', q{lb_count_before(250, '{2026-01-01 00:00:02+00}', 1000, B)}, q{lb_top_json(5, B) -> 'entries'}, '* FROM lb_top_key(5, B)');

# The same for many members; of a board whose key Citus must not round, or send as another day
my @places = ('lb_rank(m, B)', q{lb_rank(m, B, 'rank')}, 'lb_percentile(m, B)', 'lb_player(m, B)', 'lb_score(m, B)', 'lb_rank_of_score(m, B)');
my @ratios = ('lb_rank_key(m::text, B)', q{lb_rank_key(m::text, B, 'rank')}, 'lb_player_key(m::text, B)', 'lb_percentile_key(m::text, B)',
	'lb_rank_of_score_key((m / 7.0)::text, B)', 'lb_count_between_key((m / 7.0)::text, NULL, B)');

sub equal
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @wrong;

	for my $call (@calls)
	{
		for my $names ([ 'spread', 'plain' ], [ 'guilds:g1', 'plain guilds:g1' ])
		{
			my @got = map { $node->safe_psql('postgres', 'SELECT ' . $call =~ s/\bB\b/'$_'/gr) } @$names;

			push @wrong, "$call of $names->[0]: $got[0] instead of $got[1]" if $got[0] ne $got[1];
		}
	}
	for my $call (@places)
	{
		my ($got, $wanted) = map { $call =~ s/\bB\b/'$_'/gr } 'spread', 'plain';

		push @wrong, "$call: $_" for split(/\n/, $node->safe_psql('postgres', "SELECT m FROM generate_series(1, 2200, 29) m WHERE $got IS DISTINCT FROM $wanted"));
	}
	for my $call (@ratios)
	{
		my ($got, $wanted) = map { $call =~ s/\bB\b/'$_'/gr } 'ratios', 'plain ratios';

		push @wrong, "$call: $_" for split(/\n/, $node->safe_psql('postgres', "SET extra_float_digits = -3; SET DateStyle = 'SQL, DMY'; SELECT m FROM generate_series(1, 2200, 53) m WHERE $got IS DISTINCT FROM $wanted"));
	}
	return is(join("\n", @wrong), '', "$what: all answers");
}

sub verified
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	is($node->safe_psql('postgres', 'SELECT lb_wait_ready()'), 't', "$what: ready");
	return is($node->safe_psql('postgres', 'SELECT * FROM lb_verify_key()'), '', "$what: lb_verify_key()");
}

both(q{INSERT INTO TABLE (player_id, score, at, guild, ok) SELECT g, g * 7919 % 500, timestamptz '2026-01-02' + g % 5 * interval '25 h', 'g' || g % 3, g % 50 > 0 FROM generate_series(1, 2000) g});
my $order = q{rank_by => 'score DESC, at ASC', ranked_if => 'ok'};
fails_with($node, 'postgres', "SELECT lb_create_board('refused', '$source', 'guild')", '55000',
	qr/board "refused_\d+" of a shard has failed\nDETAIL:  The server 127.0.0.1:\d+ has answered: ERROR:  .*unique index/, 'a shard refuses');
$node->safe_psql('postgres', qq{
	SELECT lb_create_board('spread', '$source', $order), lb_create_board('guilds', '$source', $order, board_column => 'guild'),
		lb_create_board('ratios', '$source', rank_by => 'ratio DESC, at DESC'), lb_create_board('plain ratios', 'plain', rank_by => 'ratio DESC, at DESC'),
		lb_create_board('plain', 'plain', $order), lb_create_board('plain guilds', 'plain', $order, board_column => 'guild')});
verified('created');
is(shards('count(*)'), '12 12', 'each shard has its boards');
my $states = q{SELECT board, state, reason, members FROM lb_stat_board WHERE board !~ 'plain' ORDER BY 1};
is($node->safe_psql('postgres', $states), "guilds|distributed||\nratios|distributed||\nspread|distributed||", 'the table itself has no index');
is($node->safe_psql('postgres', q{SELECT count(DISTINCT shard), count(DISTINCT server), sum(members) = lb_count('spread'), bool_and(state = 'ready' AND bytes > 0) FROM lb_stat_shards('spread')}),
	'8|2|t|t', 'lb_stat_shards()');
is($node->safe_psql('postgres', q{SELECT count(*), sum(members) = lb_count('guilds:g1') FROM lb_stat_shards('guilds:g1')}), '8|t', 'lb_stat_shards() of a family\'s board');
is($node->safe_psql('postgres', q{SELECT count(*) FROM lb_stat_shards('plain')}), '0', 'lb_stat_shards() of a plain table');
$_->safe_psql('postgres', 'SELECT lb_stat_reset()') for @workers;
equal('created');
is(shards('sum(planned_reads) > 0'), 't t', 'the boards of the shards answer');
is($node->safe_psql('postgres', 'SET leaderboard.enable_index = off; SELECT lb_count(\'spread\')'), '1960', 'a query without parameters');

# Writes of every kind
both($_) for (
	'UPDATE TABLE SET score = 1000, at = at WHERE player_id = 7',
	'UPDATE TABLE SET score = score + 1 WHERE score % 3 = 0',
	'DELETE FROM TABLE WHERE player_id % 17 = 0',
	q{INSERT INTO TABLE (player_id, score, at, guild, ok) SELECT g, g % 300, '2026-01-02', 'g1', true FROM generate_series(1990, 2100) g
		ON CONFLICT (player_id) DO UPDATE SET score = EXCLUDED.score},
	q{COPY TABLE (player_id, score, at, guild, ok) FROM STDIN;
5001	250	2026-01-01	g1	t
5002	251	2026-01-01	g2	t
\.
},
	'BEGIN; UPDATE TABLE SET score = 0 WHERE player_id < 100; ROLLBACK',
	'UPDATE TABLE SET ok = NOT ok WHERE player_id % 40 = 0');
equal('written');
verified('written');

# A transaction sees what it has written itself.
is($node->safe_psql('postgres', qq{BEGIN; UPDATE $table SET score = 5000 WHERE player_id = 8; SELECT lb_rank(8, 'spread'), lb_count_between(5000, NULL, 'spread'); ROLLBACK}),
	'1|1', 'own changes');

# Shards are moved and split: at once they have no boards, and the answers are right.
my ($moved, $split) = split(/\n/, $node->safe_psql('postgres', "SELECT shardid FROM pg_dist_shard WHERE logicalrelid = '$source'::regclass ORDER BY 1 LIMIT 2"));
my $from = $node->safe_psql('postgres', "SELECT nodeport FROM pg_dist_shard_placement WHERE shardid = $moved");
my ($to) = grep { $_ != $from } map { $_->port } @workers;
$node->safe_psql('postgres', "SELECT citus_move_shard_placement($moved, '127.0.0.1', $from, '127.0.0.1', $to, 'block_writes')");
$node->safe_psql('postgres', "SELECT citus_split_shard_by_split_points($split, ARRAY['-1300000000'],
	(SELECT array_agg(nodeid) FROM pg_dist_node WHERE groupid <> 0), 'block_writes')");
equal('moved and split');
both('UPDATE TABLE SET score = score + 1 WHERE player_id % 2 = 0');
equal('moved, split and written');
is($node->safe_psql('postgres', q{SELECT count(*) FROM lb_verify('spread') WHERE problem ~ 'board "spread_\d+" does not exist'}), '3', 'lb_verify() tells of three shards');
$node->safe_psql('postgres', q{SELECT lb_rebuild('ratios')});

# Maintenance makes them: lb_maintain() those that belong to the caller, but not while the table is locked.
my $lacking = q{SELECT count(*) FROM (VALUES ('spread'), ('guilds')) b (board), LATERAL lb_verify_key(b.board) v WHERE v.problem ~ 'does not exist'};
$node->safe_psql('postgres', 'CREATE ROLE other');
fails_with($node, 'postgres', 'SET ROLE other; SELECT lb_maintain()', '42501', qr/must be superuser/, 'lb_maintain() of another role');
is($node->safe_psql('postgres', 'SET ROLE other; SELECT count(*) FROM lb_stat_shards($$spread$$)'), '0', 'lb_stat_shards() of a role that may not read');
is($node->safe_psql('postgres', q{SELECT count(*) FROM lb_stat_shards('spread') WHERE reason ~ 'no board "spread_\d+"'}), '3', 'lb_stat_shards() of shards without boards');
my $locker = $node->background_psql('postgres');
$locker->query_safe("BEGIN; LOCK TABLE $table IN ACCESS EXCLUSIVE MODE");
$node->safe_psql('postgres', 'SELECT lb_maintain()');
$locker->query_safe('ROLLBACK');
$locker->quit;
is($node->safe_psql('postgres', $lacking), '6', 'lb_maintain() leaves a locked table alone');
$node->safe_psql('postgres', 'SELECT lb_maintain()');
is($node->safe_psql('postgres', $lacking), '0', 'lb_maintain() makes the boards of shards');
equal('made again');
verified('made again');

# And what other servers record otherwise, also where it cannot be parsed.  Of what cannot be parsed here they record nothing.
my $recorded = q{SELECT ranked_if, offline, method FROM lb_board WHERE board = 'spread'};
my $known = $node->safe_psql('postgres', $recorded);
$_->safe_psql('postgres', q{UPDATE lb_board SET ranked_if = '', offline = 'error' WHERE board = 'spread'}) for @workers;
$node->safe_psql('postgres', 'SELECT lb_maintain()');
is($_->safe_psql('postgres', $recorded), $known, 'recorded on ' . $_->name) for @workers;
$node->safe_psql('postgres', q{UPDATE lb_board SET member = 'a,,b' WHERE board = 'spread'});
$node->psql('postgres', 'SELECT lb_maintain()');
is($_->safe_psql('postgres', q{SELECT string_agg(DISTINCT member, ' ') FROM lb_board WHERE board = 'spread' OR board ~ '^spread_[0-9]+$'}), 'player_id', 'the member on ' . $_->name) for @workers;
$node->safe_psql('postgres', q{UPDATE lb_board SET member = 'player_id' WHERE board = 'spread'; SELECT lb_maintain(); SELECT lb_wait_ready()});
equal('recorded again');

# So does the worker, as the table's owner.
$_->safe_psql('postgres', q{SELECT lb_drop_board(board) FROM lb_board WHERE board ~ '^guilds_[0-9]+$'}) for @workers;
is($node->safe_psql('postgres', $lacking), '9', 'boards of shards are dropped');
$node->append_conf('postgresql.conf', 'leaderboard.maintenance_interval = 1');
$node->reload;
ok($node->poll_query_until('postgres', $lacking, '0'), 'the worker makes the boards of shards');
$node->append_conf('postgresql.conf', 'leaderboard.maintenance_interval = 0');
$node->reload;
verified('by the worker');

# A worker goes and comes back.
$workers[1]->stop('immediate');
is($node->safe_psql('postgres', q{SELECT lb_wait_ready('1 s')}), 'f', 'a worker is away');
fails_with($node, 'postgres', q{SELECT lb_rebuild('spread')}, '55000', qr/spread_\d+" of a shard has failed/, 'a worker is away: lb_rebuild()');
my ($there) = $workers[0]->safe_psql('postgres', q{SELECT board FROM lb_board WHERE board ~ '^spread_[0-9]+$' LIMIT 1});
$workers[0]->safe_psql('postgres', "SELECT lb_drop_board('$there')");
my ($rc, $out, $err) = $node->psql('postgres', 'SELECT lb_maintain()');
is($rc, 0, 'a worker is away: lb_maintain()');
is($node->safe_psql('postgres', q{SELECT state, count(*), sum(members) > 0, bool_and(reason ~ 'failed to connect') FROM lb_stat_shards('spread') GROUP BY 1 ORDER BY 1}),
	"offline|5||t\nready|4|t|", 'a worker is away: lb_stat_shards()');
like($err, qr/WARNING: .*"spread_\d+" of a shard has failed/, 'a worker is away: lb_maintain() warns');
is($workers[0]->safe_psql('postgres', "SELECT count(*) FROM lb_board WHERE board = '$there'"), '1', 'a worker is away: the others are mended');
$workers[1]->start;
equal('a worker is back');
verified('a worker is back');

# Dropped, with a board of a shard that is left over, and made anew with another order
fails_with($node, 'postgres', "SELECT lb_create_board('spread', '$source', $order)", '42710', qr/already exists/, 'created twice');
$node->safe_psql('postgres', q{SELECT lb_drop_board('guilds'), lb_drop_board('ratios'); DELETE FROM lb_board WHERE board = 'spread'});
is(join(' ', sort split(/ /, shards('count(*)'))), '4 5', 'the boards of a family are dropped');
$node->safe_psql('postgres', qq{SELECT lb_create_board('spread', '$source', rank_by => 'score ASC', method => 'rank')});
is(shards(q{bool_and(distinct_scores > 0)}), 't t', 'made anew');
is($node->safe_psql('postgres', q{SELECT lb_rank(5001, 'spread'), lb_count('spread')}),
	$node->safe_psql('postgres', 'SELECT (SELECT count(*) + 1 FROM plain WHERE score < 250), count(*) FROM plain'), 'another order');
is($node->safe_psql('postgres', q{SELECT count(*) FROM lb_verify('spread')}), '0', 'another order: lb_verify()');
fails_with($node, 'postgres', 'SELECT lb_create_board(repeat($$x$$, 60), $$plain$$::regclass) IS NULL; SELECT lb_create_board(repeat($$y$$, 60), ' . "'$source')",
	'42622', qr/too long for a distributed table/, 'a name without room for a shard');

# A table that is dropped takes the boards with it, by two-phase commit.
$node->safe_psql('postgres', "DROP TABLE $table");
is(shards('count(*)'), '0 0', 'the boards are gone with the table');
is($node->safe_psql('postgres', q{SELECT count(*) FROM lb_board WHERE board = 'spread'}), '0', 'and is not recorded');

# A reference table has one shard on every server; a tenant's table has one.
$node->safe_psql('postgres', q{
	CREATE TABLE everywhere (LIKE plain INCLUDING ALL);
	SELECT create_reference_table('everywhere');
	SET citus.enable_schema_based_sharding = on;
	CREATE SCHEMA tenant});
$node->safe_psql('postgres', q{
	CREATE TABLE tenant.scores (player_id bigint PRIMARY KEY, score bigint NOT NULL, at timestamptz NOT NULL, guild text, ok boolean);
	INSERT INTO everywhere (player_id, score, at, guild, ok) SELECT player_id, score, at, guild, ok FROM plain;
	INSERT INTO tenant.scores SELECT player_id, score, at, guild, ok FROM plain});
for my $case ([ 'everywhere', 3 ], [ 'tenant.scores', 1 ])
{
	my ($name, $placements) = @$case;

	$node->safe_psql('postgres', "SELECT lb_create_board('one', '$name', $order)");
	verified($name);
	is($node->safe_psql('postgres', q{SELECT lb_wait_ready('1 s'), lb_rank(7, 'one') = lb_rank(7, 'plain'), lb_count('one') = lb_count('plain')}),
		't|t|t', "$name: answers");
	is(eval(join('+', map { $_->safe_psql('postgres', q{SELECT count(*) FROM lb_stat_board WHERE board ~ '^one_' AND state = 'ready'}) } @nodes)),
		$placements, "$name: its boards");
	$node->safe_psql('postgres', q{SELECT lb_drop_board('one')});
	is(shards('count(*)'), '0 0', "$name: dropped");
}
is($node->safe_psql('postgres', 'SET ROLE other; SELECT lb_wait_ready()'), 't', 'another role waits for plain boards');

# The examples of docs/scale-out.md: citus_nodes() has run the first of them.
my (undef, @examples) = map { citus_examples($_) } '## Citus', '### Submits', '### Seasons, and players who leave';
$node->safe_psql('postgres', 'CREATE ROLE maker');
for my $sql (@examples, (citus_examples('### Regional boards'))[0])
{
	my ($rc, $out, $err) = $node->psql('postgres', 'SET client_min_messages = warning; ' . $sql =~ s/shard_count => 32/shard_count => 4/r);

	is("$rc $err", '0 ', 'docs: ' . $sql =~ s/\n.*//sr);
}
$node->safe_psql('postgres', q{INSERT INTO scores SELECT g, g FROM generate_series(1, 100) g;
	INSERT INTO regional SELECT CASE WHEN g % 2 = 0 THEN 'us' ELSE 'eu' END, g, g FROM generate_series(1, 100) g});
is($node->safe_psql('postgres', q{SELECT lb_rank(91, 'points'), lb_rank(90, 'region:us'), lb_rank_key('(us,90)', 'world')}), '10|6|11', 'docs: ranks');
verified('docs');

# No server needs the path: all find the functions by the schema's name, in new sessions.
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET search_path');
is($_->safe_psql('postgres', 'SHOW search_path'), '"$user", public', 'no path on ' . $_->name) for @nodes;
fails_with($node, 'postgres', q{SELECT lb_rank(91, 'points')}, '42883', qr/function lb_rank.* does not exist/, 'without the path');
for my $server (@nodes)
{
	is($server->safe_psql('postgres', q{SELECT leaderboard.lb_rank(91, 'points'), leaderboard.lb_rank(91, 'points', 'dense_rank'), (SELECT string_agg(t::text, ' ') FROM leaderboard.lb_top(2, 'points') t);
		SELECT r.* FROM scores s, LATERAL leaderboard.lb_player(s.player_id, 'points') r WHERE s.player_id = 91}),
		"10|10|(1,100,100) (2,99,99)\n10|91|91|100", 'without the path on ' . $server->name);
}
$node->safe_psql('postgres', $_) for q{SELECT leaderboard.lb_create_leaderboard('kills', distributed => true, shard_count => 4)}, 'SELECT leaderboard.lb_maintain()',
	q{SELECT leaderboard.lb_open_window('cup:1', starts => now(), ends => now() + interval '1 day')}, q{SELECT leaderboard.lb_rebuild('points')};
is($node->safe_psql('postgres', q{SELECT score FROM leaderboard.lb_submit(7, 5, leaderboard => 'kills', boards => '{kills}')}), '5', 'another leaderboard without the path');
is($_->safe_psql('postgres', q{SELECT board, applied FROM leaderboard.lb_submit(7, 5, boards => '{global,cup:1}') ORDER BY board}), "cup:1|t\nglobal|t", 'a submit without the path on ' . $_->name) for @nodes;
is($node->safe_psql('postgres', q{SELECT leaderboard.lb_score(7), leaderboard.lb_score(7, 'cup:1'), leaderboard.lb_wait_ready(), (SELECT count(*) FROM leaderboard.lb_verify_key())}),
	'15|15|t|0', 'all is well without the path');

# The schema's owner says what its name means on other servers.  A superuser's table is
# safe from that.
$node->safe_psql('postgres', 'ALTER SCHEMA leaderboard OWNER TO other');
is($node->safe_psql('postgres', q{SELECT leaderboard.lb_rank(91, 'points')}), '10', 'the schema of another role: a read');
fails_with($node, 'postgres', 'SELECT * FROM leaderboard.lb_submit(7, 5)', '42501', qr/a superuser's distributed table cannot be submitted to.*or the schema to a superuser/s, 'the schema of another role: a submit');
$node->safe_psql('postgres', 'ALTER SCHEMA leaderboard OWNER TO CURRENT_USER');
is($_->safe_psql('postgres', q{SELECT applied FROM leaderboard.lb_submit(7, 5, boards => '{global}')}), 't', 'a superuser\'s schema: a submit on ' . $_->name) for @nodes;

citus_stop(@nodes);
done_testing();
