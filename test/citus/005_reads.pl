# Reads of boards of distributed tables: what leaderboard.offline does to them, and calls
# for each row of a distributed table.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use LbCitus;
use LbTest;
use Test::More;

# In the schema public, which belongs to the owner of the database
my ($node, @workers) = my @nodes = citus_nodes('CREATE EXTENSION leaderboard');

sub sql
{
	my ($sql, $where) = @_;

	return ($where // $node)->safe_psql('postgres', $sql);
}

# A distributed table, a reference table and a tenant's one, beside a plain one with the same rows
sql(q{CREATE TABLE scores (player_id bigint PRIMARY KEY, score bigint NOT NULL, guild text NOT NULL);
	SELECT create_distributed_table('scores', 'player_id', shard_count => 4);
	CREATE TABLE plain (LIKE scores INCLUDING ALL);
	CREATE TABLE everywhere (LIKE scores INCLUDING ALL);
	SELECT create_reference_table('everywhere');
	SET citus.enable_schema_based_sharding = on;
	CREATE SCHEMA tenant});
sql(q{CREATE TABLE tenant.scores (player_id bigint PRIMARY KEY, score bigint NOT NULL, guild text NOT NULL)});
my %sources = (global => 'scores', plain => 'plain', everywhere => 'everywhere', tenant => 'tenant.scores');
for my $board (sort keys %sources)
{
	sql("INSERT INTO $sources{$board} SELECT g, g * 7919 % 300, 'g' || g % 2 FROM generate_series(1, 1000) g");
	sql("SELECT lb_create_board('$board', '$sources{$board}')");
}
sql(q{SELECT lb_create_board('guild', 'scores', board_column => 'guild')});
is(sql('SELECT lb_wait_ready()'), 't', 'ready');


# A distributed board is offline if a shard's board is: leaderboard.offline makes that an error.

my @calls = ('lb_count(B)', 'lb_count_between(100, NULL, B)', 'lb_rank_of_score(250, B)', 'lb_rank(7, B)', q{lb_rank(7, B, 'dense_rank')},
	'lb_score(7, B)', 'lb_percentile(7, B)', 'lb_player(7, B)', 'lb_top(3, B)', 'lb_at(333, B)', 'lb_around(7, B, 3)', 'lb_score_at_percentile(90, B)',
	q{lb_ranks('{1,7}', B)}, q{lb_among('{1,7}', B)}, 'lb_histogram(5, B)', 'lb_page(5, B, 40)', q{lb_count_before(250, '{}', 1000, B)},
	q{lb_top_json(5, B) -> 'entries'}, 'lb_tier(7, B)', 'lb_top_key(5, B)');

# The answers of all calls of a board, in one session, and the numbers of errors that say that it is offline
sub answers
{
	my ($board, $where, $settings) = @_;
	my $err;
	my ($rc, $out) = ($where // $node)->psql('postgres', join(";\n", $settings, map { 'SELECT ' . s/\bB\b/'$board'/gr } @calls),
		on_error_stop => 0, stderr => \$err);

	return $out . 'offline: ' . (() = $err =~ /ERROR:  board "$board" is offline$/gm) . ' of ' . (() = $err =~ /ERROR/g);
}

my $error = 'SET leaderboard.offline = error;';
for my $board ('global', 'everywhere', 'tenant')
{
	for my $where ($node, @workers)
	{
		is(answers($board, $where, $error), answers('plain', $node, ''), "leaderboard.offline = error: $board on " . $where->name);
	}
}
is(sql("$error SELECT lb_count('guild:g1'), lb_rank(7, 'guild:g1'), lb_count('guild:none'), (SELECT count(*) FROM lb_verify('global'))"), '500|' .
	sql(q{SELECT 1 + count(*) FROM plain WHERE guild = 'g1' AND (score, -player_id) > (SELECT score, -player_id FROM plain WHERE player_id = 7)}) . '|0|0', 'a family');

# A board that cannot answer for another reason is not offline.
$_->append_conf('postgresql.conf', 'leaderboard.enable_index = off') for @workers;
$_->reload for @workers;
ok($_->poll_query_until('postgres', 'SHOW leaderboard.enable_index', 'off'), 'no index on ' . $_->name) for @workers;
is(answers('global', $node, $error), answers('plain', $node, ''), 'no index');
$_->append_conf('postgresql.conf', 'leaderboard.enable_index = on') for @workers;
$_->reload for @workers;
ok($_->poll_query_until('postgres', 'SHOW leaderboard.enable_index', 'on'), 'index on ' . $_->name) for @workers;

# The board of a shard is missing, or has no trigger.
my $offline = 'offline: ' . @calls . ' of ' . @calls;
my ($shard) = sql(q{SELECT board FROM lb_board WHERE board ~ '^global_[0-9]+$' LIMIT 1}, $workers[0]);
sql("SELECT lb_drop_board('$shard')", $workers[0]);
is(answers('global', $_, $error), $offline, 'a shard has no board: ' . $_->name) for $node, @workers;
is(answers('global', $node, ''), answers('plain', $node, ''), 'leaderboard.offline = query');
fails_with($node, 'postgres', "$error SELECT lb_rank(7)", '55000',
	qr/board "global" is offline\nDETAIL:  Reason: some of its table's shards have no board that is ready, or have a row with a text that is too long for the index\.\nHINT:  lb_stat_shards\(\) shows them\..*lb_maintain\(\)/, 'what the error says');
sql('SELECT lb_maintain()');
is(answers('global', $node, $error), answers('plain', $node, ''), 'made again');
my $table = sql(q{SELECT source FROM lb_board WHERE board ~ '^global_[0-9]+$' LIMIT 1}, $workers[1]);
my $trigger = sql("SELECT quote_ident(tgname) FROM pg_trigger WHERE tgrelid = '$table'::regclass AND tgname ~ 'capture' LIMIT 1", $workers[1]);
sql("ALTER TABLE $table DISABLE TRIGGER $trigger", $workers[1]);
is(answers('global', $node, $error), $offline, 'a shard has no trigger');
# What the board says of its reads is recorded on all nodes.
sql(q{SELECT lb_set_offline('global', 'error')});
is(answers('global', $_, ''), $offline, 'the board says error: ' . $_->name) for $node, @workers;
fails_with($node, 'postgres', 'SELECT lb_rank(7)', '55000', qr/With "leaderboard\.enable_index" set to "off" reads run queries/, 'what the error says of it');
is(answers('global', $node, 'SET leaderboard.enable_index = off;'), answers('plain', $node, ''), 'a session that wants the query');
sql(q{SELECT lb_set_offline('global', 'query')});
is(answers('global', $_, $error), answers('plain', $node, ''), 'the board says query: ' . $_->name) for $node, @workers;
sql(q{SELECT lb_set_offline('global', NULL)});
is(answers('global', $_, $error), $offline, 'it says nothing: ' . $_->name) for $node, @workers;
fails_with($workers[0], 'postgres', q{SELECT lb_set_offline('global', 'error')}, '55000', qr/lb_set_offline\(\) does not work on a worker/, 'on a worker');
sql("ALTER TABLE $table ENABLE ALWAYS TRIGGER $trigger", $workers[1]);
sql('SELECT lb_rebuild()');
is(sql('SELECT lb_wait_ready()'), 't', 'rebuilt');
is(answers('global', $node, $error), answers('plain', $node, ''), 'the trigger is back');

# The table of places is missing.
sql('DROP TABLE scores_lb_places');
is(answers('global', $node, $error), $offline, 'no table of places');
sql('SELECT lb_maintain()');
is(answers('global', $node, $error), answers('plain', $node, ''), 'the table of places is back');
is(sql("$error SELECT lb_watch('global', 3)"), '', 'lb_watch()');
sql("UPDATE $_ SET score = 5000 WHERE player_id = 7") for values %sources;
sql("$error SELECT lb_notify()");
is(sql(q{SELECT problem IS NULL, last_members[1] FROM lb_watched}), 't|7', 'lb_notify()');


# A shard has a row whose text is too long for the index.
sql(q{CREATE TABLE named (name text COLLATE "C" PRIMARY KEY, score bigint NOT NULL);
	SELECT create_distributed_table('named', 'name', shard_count => 4)});
sql(q{INSERT INTO named SELECT 'n' || g, g FROM generate_series(1, 40) g});
sql(q{SELECT lb_create_board('named', 'named', 'name')});
is(sql('SELECT lb_wait_ready()'), 't', 'ready');
sql(q{INSERT INTO named VALUES (repeat('long', 200), 39)});
is(sql(q{SELECT lb_rank_key('n39', 'named'), lb_rank_key('n38', 'named'), lb_count('named')}), '3|4|41', 'a text that is too long');
fails_with($node, 'postgres', "$error SELECT $_", '55000', qr/board "named" is offline\nDETAIL:  .*have a row with a text that is too long/, "$_: an error beside it")
	for q{lb_rank_key('n38', 'named')}, q{lb_count('named')};
sql('DELETE FROM named WHERE length(name) > 100');
is(sql(qq{$error SELECT lb_rank_key('n38', 'named'), lb_count('named')}), '3|40', 'without it');
is(sql(q{SELECT count(*) FROM lb_verify('named')}), '0', 'lb_verify()');


# Calls for rows of a distributed table: T is that table and B its board, or the plain ones.

my @queries = (
	'SELECT player_id, lb_rank(player_id, B), lb_score(player_id, B) FROM T WHERE player_id < 30 ORDER BY 1',
	'SELECT lb_rank(player_id, B) FROM T WHERE player_id = 5',
	'SELECT lb_rank_key(player_id::text, B), lb_count(B), t.guild FROM T t WHERE player_id IN (3, 44) ORDER BY 1',
	q{SELECT lb_rank(player_id, method => 'dense_rank', board => B) FROM T WHERE player_id < 9 ORDER BY 1},
	'SELECT t.player_id, p.* FROM T t, LATERAL lb_player(t.player_id, B) p WHERE t.player_id < 20 ORDER BY 1',
	'SELECT t.player_id, p.rank FROM T t CROSS JOIN LATERAL lb_player(t.player_id, B) p WHERE p.rank < 20 AND t.player_id < 500 ORDER BY p.rank',
	'SELECT t.player_id, a.* FROM (SELECT player_id FROM T) t JOIN LATERAL lb_around(t.player_id, B, 1) a ON a.rank <> t.player_id WHERE t.player_id = 77 ORDER BY 2',
	'SELECT t.player_id, p.rank, r.rank FROM T t, LATERAL lb_player(t.player_id, B) p, LATERAL lb_ranks(ARRAY[t.player_id, p.rank], B) r WHERE t.player_id < 4 ORDER BY 1, 2, 3',
	'SELECT player_id FROM T ORDER BY lb_rank(player_id, B) DESC LIMIT 3',
	'SELECT player_id FROM T WHERE lb_rank(player_id, B) < 6 AND guild = \'g1\' ORDER BY 1',
	'SELECT player_id, lb_rank(player_id, B) FROM T ORDER BY score DESC, player_id LIMIT 5 OFFSET 40',
	'SELECT lb_rank(player_id, B) FROM T WHERE guild = \'g0\' ORDER BY score * 2 DESC, player_id FETCH FIRST 2 ROWS WITH TIES',
	'SELECT guild, sum(lb_rank(player_id, B)) FROM T WHERE player_id < 50 GROUP BY guild HAVING count(*) > 3 ORDER BY 1',
	'SELECT DISTINCT lb_rank(player_id, B) > 500 FROM T WHERE player_id < 90 ORDER BY 1',
	'SELECT rank() OVER (PARTITION BY guild ORDER BY lb_rank(player_id, B)), player_id FROM T WHERE player_id < 9 ORDER BY 2',
	'WITH few AS (SELECT player_id FROM T WHERE player_id < 7) SELECT lb_rank(t.player_id, B) FROM T t JOIN few USING (player_id) ORDER BY 1',
	'WITH few AS (SELECT player_id FROM T WHERE player_id < 7) SELECT lb_rank(player_id, B) FROM few ORDER BY 1',
	'WITH ranks AS (SELECT player_id, lb_rank(player_id, B) AS r FROM T WHERE player_id < 7) SELECT max(r), min(player_id) FROM ranks',
	'SELECT lb_rank(player_id, B) FROM T WHERE player_id < 3 UNION ALL SELECT lb_score(player_id, B) FROM T WHERE player_id < 3 ORDER BY 1',
	'SELECT (SELECT max(lb_rank(player_id, B)) FROM T WHERE player_id < 3)',
	'SELECT * FROM lb_ranks(ARRAY(SELECT player_id FROM T WHERE player_id < 6), B) ORDER BY 1',
	'SELECT count(*), lb_count(B) FROM (SELECT player_id FROM T OFFSET 0) t WHERE lb_count(B) > 5',
	# As docs/scale-out.md has them
	'SELECT t.guild, r.rank FROM T t JOIN (SELECT r.* FROM (SELECT array_agg(player_id) AS players FROM T WHERE guild = \'g1\' AND player_id < 20) s, LATERAL lb_ranks(s.players, B) r OFFSET 0) r ON r.member = t.player_id ORDER BY 2',
	'SELECT guild, lb_rank(least, B) FROM (SELECT guild, min(player_id) AS least FROM T GROUP BY guild OFFSET 0) t ORDER BY 1',
	'SELECT t.player_id, p.rank FROM (SELECT player_id FROM T WHERE player_id < 9 OFFSET 0) t LEFT JOIN LATERAL lb_player(t.player_id, B) p ON true ORDER BY 1');

sub of_table
{
	my ($query, $table, $board) = @_;

	return $query =~ s/\bT\b/$table/gr =~ s/\bB\b/'$board'/gr;
}

for my $query (@queries)
{
	my $wanted = sql(of_table($query, 'plain', 'plain'));

	cmp_ok(length($wanted), '>', 0, $query);
	is(sql(of_table($query, $sources{$_}, $_), $node), $wanted, "of $_") for 'global', 'everywhere', 'tenant';
	is(sql("SET citus.task_assignment_policy = 'round-robin';" . of_table($query, 'scores', 'global'), $workers[0]), $wanted, 'on a worker');
}

# A transaction sees its own changes; a board's name can be a parameter.
is(sql(q{BEGIN; UPDATE scores SET score = 9000 WHERE player_id = 11; SELECT player_id, lb_rank(player_id) FROM scores WHERE player_id IN (7, 11) ORDER BY 1; ROLLBACK}), "7|2\n11|1", 'own changes');
is(sql(q{PREPARE ranks(text) AS SELECT lb_rank(player_id, $1) FROM scores WHERE player_id = 7;} . q{EXECUTE ranks('global'); EXECUTE ranks('plain');} x 7), "1\n1" . "\n1\n1" x 6, 'a parameter');
is(sql('SELECT lb_rank((SELECT player_id FROM scores WHERE player_id = 8))'), sql(q{SELECT lb_rank(8, 'plain')}), 'of a subquery');
is(sql('SELECT guild, lb_rank(min(player_id)) FROM scores GROUP BY guild ORDER BY 1'), sql(q{SELECT guild, lb_rank(min(player_id), 'plain') FROM plain GROUP BY guild ORDER BY 1}), 'of an aggregate');
sql(q{CREATE VIEW ranked AS SELECT player_id, lb_rank(player_id) AS rank FROM scores});
is(sql('SELECT rank FROM ranked WHERE player_id = 7'), '1', 'a view');
sql(q{CREATE ROLE reader; GRANT SELECT (player_id) ON scores TO reader});
fails_with($node, 'postgres', 'SET ROLE reader; SELECT lb_rank(player_id), score FROM scores WHERE player_id = 7', '42501', qr/permission denied for table scores/, 'privileges');
fails_with($node, 'postgres', 'SELECT t.player_id, p.rank FROM scores t LEFT JOIN LATERAL lb_player(t.player_id) p ON true', '0A000',
	qr/boards of distributed tables cannot be read by a query of a shard\nDETAIL:  .*\nHINT:  Fetch the rows first: FROM \(SELECT \.\.\. OFFSET 0\)/, 'what cannot be done');

# Shards count their rows, which need not be fetched for calls that are the same for all; nor for a function that is not ours.
sql(q{CREATE TABLE local (LIKE plain INCLUDING ALL); INSERT INTO local SELECT * FROM plain; SELECT citus_add_local_table_to_metadata('local');
	CREATE FUNCTION lb_mine(player bigint, board text DEFAULT 'global') RETURNS bigint STABLE LANGUAGE sql AS 'SELECT player * 2'});
for my $query ('SELECT count(*), lb_count() FROM scores', 'SELECT guild, count(*) FROM scores GROUP BY 1 HAVING max(score) >= lb_score(62)',
	'SELECT lb_mine(player_id) FROM scores WHERE player_id = 4')
{
	cmp_ok(length(sql($query)), '>', 0, $query);
	unlike(sql("EXPLAIN $query"), qr/Subplan/, "not fetched: $query");
}
# Rows that are here
my @here = ('SELECT guild, lb_rank(player_id, B) FROM T WHERE player_id < 3 GROUP BY player_id ORDER BY player_id',
	q{SELECT t.player_id, z.x FROM T t, LATERAL lb_player(t.player_id, B) p, unnest(ARRAY[1]) u, XMLTABLE('/a' PASSING xmlelement(name a, p.total) COLUMNS x text PATH '.') z WHERE t.player_id = 3});
for my $query (@here)
{
	is(sql(of_table($query, $_, 'global')), sql(of_table($query, 'plain', 'plain')), "$_: $query") for 'everywhere', 'local';
}
is(sql(q{SELECT t.guild, lb_rank(t.player_id) FROM everywhere t JOIN scores USING (player_id) JOIN local USING (player_id) WHERE player_id = 8}),
	sql(q{SELECT guild, lb_rank(player_id, 'plain') FROM plain WHERE player_id = 8}), 'beside a distributed table');

# A value that is sorted by is the one that is returned.
is(sql('SELECT bool_and(r < 0.1) FROM (SELECT random() AS r, lb_rank(player_id) FROM scores ORDER BY r LIMIT 5) s'), 't', 'sorted by random()');

# What is not taken apart
for my $query (
	q{SELECT t.player_id, z.x FROM scores t, LATERAL lb_player(t.player_id) p, unnest(ARRAY[1]) u, XMLTABLE('/a' PASSING xmlelement(name a, p.total) COLUMNS x text PATH '.') z WHERE t.player_id = 3},
	q{SELECT t.player_id, z.x, p.rank FROM scores t, LATERAL lb_player(t.player_id) p, scores b, XMLTABLE('/a' PASSING xmlelement(name a, p.rank) COLUMNS x text PATH '.') z WHERE t.player_id = 4 AND b.player_id = 4},
	'SELECT lb_rank(player_id) FROM scores TABLESAMPLE system (100) WHERE player_id = 5',
	'SELECT guild, lb_rank(player_id) FROM scores WHERE player_id < 4 GROUP BY player_id',
	'SELECT to_json(t), lb_rank(t.player_id) FROM (SELECT * FROM scores) t WHERE player_id = 5',
	'SELECT count(*) FROM scores WHERE score > lb_score(5)', 'SELECT count(*), lb_count() FROM scores WHERE player_id = 5')
{
	fails_with($node, 'postgres', $query, '0A000', qr/boards of distributed tables cannot be read by a query of a shard/, $query);
}

# If the database belongs to a role that is no superuser, its schemas do: no superuser then calls functions there by name.
sql('CREATE ROLE other LOGIN; ALTER DATABASE postgres OWNER TO other');
is(sql('SELECT lb_rank(7), lb_count()'), '1|1000', 'a superuser\'s table');
fails_with($node, 'postgres', "$error SELECT lb_rank(7)", '55000', qr/board "global" is offline/, 'a superuser\'s table: its query');
fails_with($node, 'postgres', 'SELECT * FROM lb_submit(7, 1)', '42501', qr/a superuser's distributed table cannot be submitted to/, 'a superuser\'s table: lb_submit()');
sql('ALTER DATABASE postgres OWNER TO CURRENT_USER');
is(sql("$error SELECT lb_rank(7)"), '1', 'a superuser\'s schema');
fails_with($node, 'postgres', 'SELECT * FROM lb_submit(7, 1)', '23502', qr/null value in column "guild"/, 'a superuser\'s schema: lb_submit() reaches the shard');

is(sql('SELECT * FROM lb_verify()'), '', 'lb_verify()');
citus_stop(@nodes);
done_testing();
