# examples/beside: boards beside a server without the library.  The script finds what is
# missing, makes everything, makes it once, and removes it again.  Foreign tables on the
# main server show the ranks that PostgreSQL computes there, and a board answers them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use LbBeside;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($main, $small) = beside_nodes();

# A server that allows nothing: each thing that is missing is said, and nothing is made.
my $poor = PostgreSQL::Test::Cluster->new('poor');
init_node($poor);
$poor->append_conf('postgresql.conf', "wal_level = replica\nmax_replication_slots = 2\nmax_wal_senders = 2\nlog_statement = all");
$poor->start;
$poor->safe_psql('postgres', q{
CREATE ROLE app LOGIN PASSWORD 'x'; CREATE ROLE other; REVOKE CREATE ON SCHEMA public FROM PUBLIC;
CREATE TABLE owned (id int, score int, g int GENERATED ALWAYS AS (score) STORED);
CREATE TABLE mine (id int, score int); ALTER TABLE mine OWNER TO app;
CREATE UNLOGGED TABLE quick (id int PRIMARY KEY, score int); ALTER TABLE quick OWNER TO app;
CREATE TABLE hidden (id int PRIMARY KEY, score int); ALTER TABLE hidden OWNER TO app;
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY});
my $before = dump_of($poor, 'postgres');
my ($rc, $out, $err) = beside(config($poor, $small, 'poor', <<'END', 'postgres'));
[a]
table = owned
rank_by = score DESC
[b]
table = mine
rank_by = score DESC
[c]
table = quick
rank_by = wrong DESC
[d]
table = hidden
rank_by = score DESC
member = score
[e]
table = nowhere
rank_by = score DESC
END
isnt($rc, 0, 'a poor server: the script fails');
for my $missing (
	'wal_level of the main server is not logical', 'replication slots are free', 'WAL senders are free',
	'may not create a publication: GRANT CREATE ON DATABASE', 'cannot open a connection for replication',
	'ALTER ROLE "app" REPLICATION', 'may not create foreign tables', 'cannot create the extension postgres_fdw',
	'does not own table public.owned', 'GRANT SELECT ON "public"."owned"', 'public.mine has no primary key',
	'public.quick is unlogged', 'column "wrong" does not exist', 'row-level security would hide rows of table public.hidden',
	'board d: no unique index', 'has no table nowhere')
{
	like($err, qr/\Q$missing\E/, "... it says: $missing");
}
is(dump_of($poor, 'postgres'), $before, '... and nothing was made');
$poor->stop;

# What the script makes, of two boards on one table and one on another.
fill_game($main, 3000);
my $config = config($main, $small, 'game', boards());
my @empty = map { dump_of($_, 'game') } $main, $small;

($rc, $out, $err) = beside($config, '--dry-run');
is($rc, 0, 'a dry run') or diag($err);
like($out, qr/CREATE PUBLICATION.*CREATE SUBSCRIPTION.*lb_create_board.*IMPORT FOREIGN SCHEMA/s, '... shows the statements');
is_deeply([ map { dump_of($_, 'game') } $main, $small ], \@empty, '... and makes nothing');

my $writers = start_game_writers($main, 3000);
# At first without the third board, whose table is added then.
($rc, $out, $err) = beside(config($main, $small, 'two', boards() =~ s/^\[score\].*//msr));
is($rc, 0, 'it makes everything, while clients write') or diag($err);
($rc, $out, $err) = beside($config);
is($rc, 0, 'another table') or diag($err);
stop_game_writers($writers);
same($main, $small, 'made');
is( $small->safe_psql('game', q{SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = 'player'::regclass AND attnum > 0}),
	'id name country tier score reached_at banned', 'only the columns that are needed travel');
is( $small->safe_psql('game', q{SELECT string_agg(format_type(atttypid, atttypmod), ' ' ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = 'player'::regclass AND attnum > 0}),
	'uuid text text text bigint timestamp with time zone boolean', 'a domain is what it is over, an enum a text');

my @made = map { dump_of($_, 'game') } $main, $small;
my $slot = $main->safe_psql('game', 'SELECT slot_name, restart_lsn IS NOT NULL FROM pg_replication_slots');
($rc, $out, $err) = beside($config);
is($rc, 0, 'it runs twice') or diag($err);
is_deeply([ map { dump_of($_, 'game') } $main, $small ], \@made, '... without a change');
is($main->safe_psql('game', 'SELECT slot_name, restart_lsn IS NOT NULL FROM pg_replication_slots'), $slot, '... with the same slot');
same($main, $small, 'made twice');
($rc, $out, $err) = beside($config, '--rotate');
is($rc, 0, 'another password') or diag($err);
same($main, $small, 'another password');

is($main->safe_psql('game', 'SET ROLE web; SELECT count(*) FROM ranked_country'), as_app($main, 'SELECT count(*) FROM player WHERE score IS NOT NULL'), 'another role that was named');
like(($main->psql('game', 'SET ROLE nobody; SELECT count(*) FROM ranked_country'))[2], qr/permission denied|user mapping not found/, '... and one that was not');

# What role reads the ranks: one that may read the views, and nothing else.
is( $small->safe_psql('game', q{SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class
		WHERE relkind IN ('r', 'v', 'p') AND relnamespace IN ('public'::regnamespace, 'beside'::regnamespace)
		AND has_table_privilege('beside_reader', oid, 'SELECT')}),
	'ranked ranked_country score', 'the role of the foreign tables may read the views only');
is( $small->safe_psql('game', q{SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls FROM pg_roles WHERE rolname = 'beside_reader'}),
	'f', '... and has no attribute');

# No password in a log, or among the arguments of a program.
for my $text (slurp_file($main->logfile), slurp_file($small->logfile), arguments())
{
	unlike($text, qr/@{[ quotemeta password() ]}/, 'the password is nowhere');
	unlike($text, qr/[0-9a-f]{48}/, '... and that of the role neither');
}
like(arguments(), qr/dbname=game/, '... and the arguments are those of psql');

#
# What postgres_fdw sends, and that a board answers it.
#
$small->safe_psql('game', q{CREATE FUNCTION planned(OUT index bigint, OUT query bigint) LANGUAGE sql AS
	'SELECT sum(planned_reads), sum(planned_queries) FROM leaderboard.lb_stat_board WHERE kind <> ''family'''});

# A statement of the role "app", the remote one that it becomes, and that boards answer it.
sub pushed
{
	my ($what, $sql, $remote, %how) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $settings = $how{generic} ? 'SET plan_cache_mode = force_generic_plan;' : '';
	my $prepare = $how{prepare} ? "PREPARE q($how{prepare}) AS $sql;" : '';
	my $run = $how{prepare} ? "EXECUTE q($how{values})" : $sql;
	my $plan = as_app($main, "$settings $prepare EXPLAIN (VERBOSE, COSTS OFF) $run");
	my @remote = map { /Remote SQL: (.*)/ ? $1 : () } split /\n/, $plan;

	is_deeply(\@remote, [$remote], "$what: what is sent") or diag($plan);
	$small->safe_psql('game', 'SELECT leaderboard.lb_stat_reset()');
	my $rows = as_app($main, "$settings $prepare $run");
	my $expected = defined $how{expected} ? as_app($main, $how{expected}) : undef;
	is($rows, $expected, "$what: the result") if defined $expected;
	$small->poll_query_until('game', 'SELECT index >= 1 AND query = 0 FROM planned()')
	  ? pass("$what: a board answers") : fail("$what: a board answers");
	return;
}

# Plans follow the estimates of the small server.
$small->safe_psql('game', 'ANALYZE');

# The writers may have removed any player.  Who is not ranked is not asked of a board.
as_app($main, q{TRUNCATE friend;
	INSERT INTO friend SELECT 1, id FROM player WHERE NOT banned AND score IS NOT NULL ORDER BY id LIMIT 8;
	INSERT INTO friend SELECT 2, id FROM player WHERE NOT banned AND score IS NOT NULL ORDER BY id DESC LIMIT 2;
	ANALYZE friend});
my $id = as_app($main, 'SELECT id FROM player WHERE score IS NOT NULL AND NOT banned ORDER BY id LIMIT 1');
my $truth = 'SELECT id, name, score, rank() OVER (ORDER BY score DESC) AS rank FROM player WHERE NOT banned AND score IS NOT NULL AND reached_at IS NOT NULL';

pushed('a rank', "SELECT rank FROM ranked WHERE id = '$id'",
	"SELECT rank FROM beside.ranked WHERE ((id = '$id'))", expected => "SELECT rank FROM ($truth) s WHERE id = '$id'");
pushed('a prepared rank', 'SELECT rank FROM ranked WHERE id = $1', 'SELECT rank FROM beside.ranked WHERE ((id = $1::uuid))',
	prepare => 'uuid', values => "'$id'", generic => 1, expected => "SELECT rank FROM ($truth) s WHERE id = '$id'");
pushed('a page', 'SELECT id, rank FROM ranked ORDER BY rank LIMIT 5 OFFSET 0',
	'SELECT id, rank FROM beside.ranked ORDER BY rank ASC NULLS LAST LIMIT 5::bigint OFFSET 0::bigint');
pushed('a page in a family',
	q{SELECT id, score, rank FROM ranked_country WHERE country = 'FR' ORDER BY rank LIMIT 10 OFFSET 100},
	q{SELECT id, score, rank FROM beside.ranked_country WHERE ((country = 'FR')) ORDER BY rank ASC NULLS LAST LIMIT 10::bigint OFFSET 100::bigint},
	expected => q{SELECT id, score, row_number() OVER (ORDER BY score DESC, reached_at, id) FROM player WHERE country = 'FR' AND score IS NOT NULL
		ORDER BY 3 LIMIT 10 OFFSET 100});
pushed('a page with parameters', 'SELECT score, rank FROM ranked ORDER BY rank LIMIT $1 OFFSET $2',
	'SELECT score, rank FROM beside.ranked ORDER BY rank ASC NULLS LAST LIMIT $1::bigint OFFSET $2::bigint',
	prepare => 'bigint, bigint', values => '10, 500', generic => 1, expected => 'SELECT score, rank() OVER (ORDER BY score DESC) FROM player
		WHERE NOT banned AND score IS NOT NULL ORDER BY 2 LIMIT 10 OFFSET 500');
pushed('ranks of a range', 'SELECT score, rank FROM ranked WHERE rank BETWEEN 11 AND 20 ORDER BY rank',
	'SELECT score, rank FROM beside.ranked WHERE ((rank >= 11)) AND ((rank <= 20)) ORDER BY rank ASC NULLS LAST',
	expected => "SELECT score, rank FROM ($truth) s WHERE rank BETWEEN 11 AND 20 ORDER BY rank");
pushed('the rank of a score', 'SELECT count(*) + 1 FROM ranked WHERE score > 400',
	'SELECT (count(*) + 1) FROM beside.ranked WHERE ((score > 400))',
	expected => 'SELECT count(*) + 1 FROM player WHERE score > 400 AND NOT banned');
pushed('the rank of a score, prepared', 'SELECT count(*) + 1 FROM ranked WHERE score > $1',
	'SELECT (count(*) + 1) FROM beside.ranked WHERE ((score > $1::bigint))',
	prepare => 'bigint', values => '400', generic => 1, expected => 'SELECT count(*) + 1 FROM player WHERE score > 400 AND NOT banned');
pushed('friends, by their array', 'SELECT r.score, r.rank FROM ranked r WHERE id = ANY (ARRAY(SELECT friend FROM friend WHERE player = 1)) ORDER BY r.rank, r.id',
	'SELECT id, score, rank FROM beside.ranked WHERE ((id = ANY ($1::uuid[]))) ORDER BY rank ASC NULLS LAST, id ASC NULLS LAST',
	expected => "SELECT score, rank FROM ($truth) s WHERE id IN (SELECT friend FROM friend WHERE player = 1) ORDER BY rank, id");
pushed('friends, by a join', 'SELECT f.friend, r.rank FROM friend f JOIN ranked r ON r.id = f.friend WHERE f.player = 2 ORDER BY 2, 1',
	'SELECT id, rank FROM beside.ranked WHERE (($1::uuid = id))',
	expected => "SELECT id, rank FROM ($truth) s WHERE id IN (SELECT friend FROM friend WHERE player = 2) ORDER BY rank, id");
pushed('friends, by a lateral subquery',
	'SELECT f.friend, r.rank FROM friend f CROSS JOIN LATERAL (SELECT rank FROM ranked WHERE id = f.friend OFFSET 0) r WHERE f.player = 1 ORDER BY 2, 1',
	'SELECT rank FROM beside.ranked WHERE ((id = $1::uuid))',
	expected => "SELECT id, rank FROM ($truth) s WHERE id IN (SELECT friend FROM friend WHERE player = 1) ORDER BY rank, id");
my $chess = as_app($main, q{SELECT player FROM s.score WHERE game = 'chess' ORDER BY player LIMIT 1});
pushed('a family of another table', "SELECT rank FROM score WHERE game = 'chess' AND player = $chess",
	"SELECT rank FROM beside.score WHERE ((game = 'chess')) AND ((player = $chess))",
	expected => "SELECT rank FROM (SELECT player, dense_rank() OVER (ORDER BY points DESC) AS rank FROM s.score WHERE game = 'chess') s WHERE player = $chess");

# Without remote estimates a join reads all ranks; the other two forms do not.
$main->safe_psql('game', q{ALTER FOREIGN TABLE ranked OPTIONS (ADD use_remote_estimate 'false')});
like(as_app($main, 'EXPLAIN (VERBOSE, COSTS OFF) SELECT f.friend, r.rank FROM friend f JOIN ranked r ON r.id = f.friend WHERE f.player = 1'),
	qr/Remote SQL: SELECT id, rank FROM beside.ranked$/m, 'without remote estimates: a join reads everything');
pushed('without remote estimates, friends by their array', 'SELECT r.rank FROM ranked r WHERE id = ANY (ARRAY(SELECT friend FROM friend WHERE player = 1))',
	'SELECT rank FROM beside.ranked WHERE ((id = ANY ($1::uuid[])))');
$main->safe_psql('game', q{ALTER FOREIGN TABLE ranked OPTIONS (DROP use_remote_estimate)});

# What is not sent.
like(as_app($main, 'EXPLAIN (VERBOSE, COSTS OFF) SELECT id, rank FROM ranked WHERE random() < 2 ORDER BY rank LIMIT 5 OFFSET 7'),
	qr/Limit.*Remote SQL: SELECT id, rank FROM beside.ranked(?: ORDER BY rank ASC NULLS LAST)?$/sm,
	'OFFSET stays here where a condition does');
like(as_app($main, 'EXPLAIN (VERBOSE, COSTS OFF) SELECT id, rank() OVER (ORDER BY score DESC) FROM ranked LIMIT 5'),
	qr/WindowAgg.*Remote SQL: SELECT id, score FROM beside.ranked/s, 'a window function is computed here');

# Instead: a view over a function on the small server, which the script shows on the main one.
$small->safe_psql('game', q{
CREATE VIEW beside.around AS SELECT p.id AS of, a.rank, a.member::uuid, a.score::bigint
	FROM player p, LATERAL leaderboard.lb_around_key(p.id::text, 'players', 2) a;
CREATE VIEW beside.best AS SELECT rank, member::uuid, score::bigint FROM leaderboard.lb_top_key(100, 'players');
GRANT SELECT ON player TO beside_reader; GRANT USAGE ON SCHEMA leaderboard TO beside_reader});
($rc, $out, $err) = beside($config);
is($rc, 0, 'views of ours become foreign tables') or diag($err);
like(as_app($main, "EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM around WHERE of = '$id'"),
	qr/Remote SQL: SELECT of, rank, member, score FROM beside.around WHERE \(\(of = '$id'\)\)/, 'the neighbours: one remote query');
is( as_app($main, "SELECT rank, score FROM around WHERE of = '$id' ORDER BY rank, score"),
	$small->safe_psql('game', "SELECT rank, score FROM leaderboard.lb_around_key('$id', 'players', 2) ORDER BY rank::int, score::int"), '... and what they are');
is( as_app($main, 'SELECT score FROM best ORDER BY rank LIMIT 10'),
	as_app($main, 'SELECT score FROM player WHERE NOT banned AND score IS NOT NULL ORDER BY score DESC LIMIT 10'), 'the best');

# A board needs other columns: said, and then copied again.
my $wider = config($main, $small, 'game', boards() =~ s/show = name/show = note, name/r);
($rc, $out, $err) = beside($wider);
isnt($rc, 0, 'other columns');
like($err, qr/run again with --recopy/, '... it says what to do');
same($main, $small, '... and all is as it was');
($rc, $out, $err) = beside($wider, '--recopy');
is($rc, 0, 'other columns, copied again') or diag($err);
same($main, $small, 'other columns, copied again');
is(as_app($main, "SELECT note FROM ranked WHERE id = '$id'"), as_app($main, "SELECT note FROM player WHERE id = '$id'"), '... the new one is shown');

# Removed, but for what is not its own.
$small->safe_psql('game', 'CREATE TABLE yours (i int); DROP FUNCTION planned()');
$empty[1] = dump_of($small, 'game', '-t', 'yours');
($rc, $out, $err) = beside($wider, '--undo', '--dry-run');
like($out, qr/DROP SUBSCRIPTION/, 'what would be removed');
same($main, $small, '... is there');
($rc, $out, $err) = beside($wider, '--undo');
is($rc, 0, 'removed') or diag($err);
is(dump_of($main, 'game'), $empty[0], '... on the main server');
is(dump_of($small, 'game'), $empty[1], '... and on the small one');
is($main->safe_psql('game', 'SELECT count(*) FROM pg_replication_slots'), '0', '... with its slot');
is($small->safe_psql('game', q{SELECT count(*) FROM pg_roles WHERE rolname LIKE 'beside%'}), '0', '... and its role');
($rc, $out, $err) = beside($wider, '--undo');
is($rc, 0, 'removed twice');
is(dump_of($main, 'game'), $empty[0], '... nothing else');

# The small server is gone.
($rc, $out, $err) = beside($config);
is($rc, 0, 'made again') or diag($err);
$small->stop('immediate');
($rc, $out, $err) = beside($config, '--undo', '--without-small');
is($rc, 0, 'removed without the small server') or diag($err);
is(dump_of($main, 'game'), $empty[0], '... from the main one');
is($main->safe_psql('game', 'SELECT count(*) FROM pg_replication_slots'), '0', '... with its slot, which would keep WAL for ever');
$main->stop;
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, $_->name . ': nothing bad in the log') for $main, $small;
done_testing();
