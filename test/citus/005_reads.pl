# Reads of boards of distributed tables: what leaderboard.offline does to them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use LbCitus;
use LbTest;
use Test::More;

my ($node, @workers) = my @nodes = citus_nodes();

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
	qr/board "global" is offline\nDETAIL:  Reason: some of its table's shards have no board that is ready\.\nHINT:  Use lb_maintain\(\)/, 'what the error says');
sql('SELECT lb_maintain()');
is(answers('global', $node, $error), answers('plain', $node, ''), 'made again');
my $table = sql(q{SELECT source FROM lb_board WHERE board ~ '^global_[0-9]+$' LIMIT 1}, $workers[1]);
my $trigger = sql("SELECT quote_ident(tgname) FROM pg_trigger WHERE tgrelid = '$table'::regclass AND tgname ~ 'capture' LIMIT 1", $workers[1]);
sql("ALTER TABLE $table DISABLE TRIGGER $trigger", $workers[1]);
is(answers('global', $node, $error), $offline, 'a shard has no trigger');
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
sql('UPDATE scores SET score = 5000 WHERE player_id = 7');
sql("$error SELECT lb_notify()");
is(sql(q{SELECT problem IS NULL, last_members[1] FROM lb_watched}), 't|7', 'lb_notify()');

is(sql('SELECT * FROM lb_verify()'), '', 'lb_verify()');
citus_stop(@nodes);
done_testing();
