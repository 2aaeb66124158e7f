# Submits to tables that Citus distributes: each returns what it returns on a plain server,
# on whatever server it is called, and none is lost or applied twice while shards are moved
# and split, servers end, and transactions are in doubt.

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
my $tables = 'SELECT lb_create_tables(distributed => true, shard_count => 8)';

# The boards of new tables' shards; other tests are for windows.
sub created
{
	$node->safe_psql('postgres', 'SELECT lb_maintain()');
	$node->safe_psql('postgres', q{SELECT lb_close_window('daily'), lb_close_window('weekly')});
	return is($node->safe_psql('postgres', 'SELECT lb_wait_ready()'), 't', 'ready');
}

sub verified
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	$node->safe_psql('postgres', 'SELECT lb_maintain()');
	ok($node->poll_query_until('postgres', 'SELECT lb_wait_ready()'), "$what: ready");
	is($node->safe_psql('postgres', 'SELECT sum(score) FROM player_scores'),
		$node->safe_psql('postgres', q{SELECT sum(amount) FROM player_scores_event WHERE op = 'incr'}), "$what: nothing is lost, nothing counts twice")
	  if $what ne 'as plain';
	return is($node->safe_psql('postgres', 'SELECT * FROM lb_verify_key()'), '', "$what: lb_verify_key()");
}

# The number of the shard that a player is in, and the server that has it
sub shard_of
{
	my ($player) = @_;
	my ($shard, $port) = split(/\|/, $node->safe_psql('postgres', "SELECT shardid, nodeport FROM pg_dist_shard_placement
		WHERE shardid = get_shard_id_for_distribution_column('player_scores', '$player'::text)"));

	return ($shard, grep { $_->port == $port } @workers);
}

# Tables with what only they have on a plain server
$node->safe_psql('postgres', 'CREATE DATABASE plain');
fails_with($node, 'plain', "CREATE EXTENSION leaderboard; $tables", '0A000', qr/Citus is not installed/, 'without Citus');
$node->safe_psql('plain', q{SELECT lb_create_tables(); SELECT lb_close_window('daily'), lb_close_window('weekly')});
fails_with($node, 'postgres', 'SELECT lb_create_tables(distributed => true, shard_count => 0)', '22023', qr/shard_count.*out of range/, 'no shards');
my (undef, undef, $notice) = $node->psql('postgres', $tables);
like($notice, qr/shards of board "global" have no boards yet/, 'shards that other servers do not see yet');
created();
is($node->safe_psql('postgres', q{SELECT count(*), count(DISTINCT colocation_id), min(shard_count) FROM citus_tables WHERE table_name::text !~ 'lb_places'}), '7|1|8', 'seven colocated tables');
$node->safe_psql($_, 'ALTER TABLE player_scores ADD COLUMN metadata jsonb') for 'postgres', 'plain';

# The same calls on both; each part of them on another server
srand(4711);
for my $part (0 .. 5)
{
	my @calls;

	for my $n (1 .. 50)
	{
		my $player = int(rand(12)) + 1;
		my $op = ('incr', 'incr', 'best', 'worst', 'set')[ int(rand(5)) ];
		my $match = rand() < 0.4 ? "'m" . int(rand(6)) . "'" : 'NULL';
		my $metadata = rand() < 0.2 ? qq('{"n": $n}') : 'NULL';
		my $at = sprintf(q{timestamptz '2026-01-01' + interval '%d s'}, $part * 50 + $n);
		my $call = "lb_submit($player, " . int(rand(100)) . ", '$op', $match, $at, metadata => $metadata)";

		$call =~ s/lb_submit\((\d+)/lb_submit_key('$1'/ if rand() < 0.2;
		my @players = map { int(rand(12)) + 1 } 0 .. rand(9);
		my $many = sprintf(q{'{%s}', '{%s}', '%s', '{%s}', %s}, join(',', @players), join(',', map { int(rand(100)) } @players), $op,
			join(',', map { rand() < 0.4 ? 'm' . int(rand(6)) : 'NULL' } @players), $at);

		if (rand() < 0.1) { push @calls, "SELECT lb_submit_many($many)" }
		elsif (rand() < 0.1) { push @calls, "SELECT * FROM lb_submit_each($many)" }
		elsif (rand() < 0.05) { push @calls, "SELECT lb_submit_many_key($many), lb_submit_many('{}', '{}')" }
		elsif (rand() < 0.05) { push @calls, "SELECT * FROM lb_submit_each_key($many)" }
		elsif (rand() < 0.1) { push @calls, qq(SELECT board, score, applied FROM lb_submit_match($player, '{"global": $n}', $match, $at)) }
		elsif (rand() < 0.05) { push @calls, qq(SELECT lb_submit_json('{"player_id": $player, "amount": $n, "at": "2026-01-01T00:00:00Z"}')) }
		elsif ($part % 3 == 0 && rand() < 0.3) { push @calls, rand() < 0.5 ? "SELECT lb_hide($player)" : "SELECT lb_show($player)" }
		else
		{
			# A match that has been submitted before has had other ranks then.
			my $submit = "SELECT board, score, CASE WHEN applied THEN rank END, CASE WHEN applied THEN previous_rank END, applied FROM $call";

			push @calls, rand() < 0.9 ? $submit : ('BEGIN', $submit, 'SAVEPOINT s', $submit, 'ROLLBACK TO s', rand() < 0.5 ? 'COMMIT' : 'ROLLBACK');
		}
	}
	push @calls, q{SELECT * FROM lb_top(20)}, 'SELECT player_id, score, updated_at, ranked, metadata FROM player_scores ORDER BY 1' if $part == 5;
	my $calls = "SET DateStyle = 'SQL, DMY'; " . join(";\n", @calls);

	is($nodes[ $part % 3 ]->safe_psql('postgres', $calls), $node->safe_psql('plain', $calls), "the same answers on server " . ($part % 3));
}
is($node->safe_psql('postgres', 'SELECT player_id, op, amount, match_id, at, scores FROM player_scores_event ORDER BY at, player_id, amount'),
	$node->safe_psql('plain', 'SELECT player_id, op, amount, match_id, at, scores FROM lb_event ORDER BY at, player_id::bigint, amount'), 'the same log');
is($node->safe_psql('postgres', 'SELECT player_id, match_id, scores FROM player_scores_applied ORDER BY 1, 2'),
	$node->safe_psql('plain', 'SELECT player_id, match_id, scores FROM lb_applied ORDER BY player_id::bigint, match_id'), 'the same matches');
is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_event'), '0', 'nothing in lb_event');
verified('as plain');
# Players who are hidden stay so without their rows.
$node->safe_psql('postgres', 'TRUNCATE player_scores, player_scores_event, player_scores_applied; SELECT lb_show_key(player_id) FROM lb_hidden_player');
is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_hidden_player'), '0', 'all are shown');

# Without ranks
is($node->safe_psql('postgres', 'SET leaderboard.submit_ranks = off; SELECT * FROM lb_submit(1, 5)'), 'global|5|||t', 'leaderboard.submit_ranks');

# What does not work says so, and writes nothing.
$node->safe_psql('postgres', q{SELECT lb_create_leaderboard('kills', windows => '{}')});
fails_with($node, 'postgres', q{SELECT lb_submit_match(1, '{"global": 1, "kills": 1}')}, '0A000', qr/Citus distributes/, 'leaderboards of which one is distributed');
is($node->safe_psql('postgres', 'SELECT count(*) FROM lb_drop_leaderboard($$kills$$)'), '1', 'a leaderboard beside it that is not distributed');
$node->safe_psql('postgres', q{
	CREATE TABLE guilds (player_id bigint, guild bigint, score bigint NOT NULL, PRIMARY KEY (player_id, guild));
	SELECT create_distributed_table('guilds', 'guild');
	INSERT INTO lb_leaderboard (name, op) VALUES ('guilds', 'incr')});
$node->safe_psql('postgres', q{SELECT lb_create_board('guilds', 'guilds', 'player_id, guild')});
fails_with($node, 'postgres', q{SELECT lb_submit(1, 5, leaderboard => 'guilds')}, '42804', qr/cannot be players/, 'players of two columns');
fails_with($_, 'postgres', q{SELECT * FROM leaderboard_internal.lb_shard_submit('1', 1, 'global', 5, 'incr', NULL, 0, NULL, NULL)}, '40001', qr/is not in shard 1 here/, 'another shard') for @workers;

# Roles need the privileges that they need on one server, and no more.
$node->safe_psql('postgres', 'CREATE ROLE server LOGIN; CREATE ROLE guest LOGIN; CREATE ROLE moderator LOGIN;
	GRANT SELECT, INSERT, UPDATE ON player_scores TO server; GRANT SELECT, UPDATE (ranked) ON player_scores TO moderator; GRANT SELECT ON player_scores TO guest');
is($node->safe_psql('postgres', q{SET ROLE server; SELECT * FROM lb_submit(1, 5, match_id => 'as server')}), 'global|10|1|1|t', 'a role with privileges');
is($node->safe_psql('postgres', q{SET ROLE moderator; SELECT lb_hide(1, '{global}') + lb_show(1, '{global}')}), '2', 'a role that hides');
for my $role ('guest', 'moderator')
{
	fails_with($node, 'postgres', "SET ROLE $role; SELECT * FROM lb_submit(1, 5)", '42501', qr/permission denied for table player_scores/, "submit of $role");
	my ($shard, $worker) = shard_of(1);
	fails_with($worker, 'postgres', "SET ROLE $role; SELECT * FROM leaderboard_internal.lb_shard_submit('1', $shard, 'global', 5, 'incr', NULL, 0, NULL, NULL)", '42501',
		qr/permission denied for table player_scores_$shard/, "on the shard, submit of $role");
}
fails_with($node, 'postgres', 'SET ROLE guest; SELECT lb_hide(1)', '42501', qr/permission denied/, 'a role without privileges hides');
fails_with($node, 'postgres', 'SET ROLE server; SELECT * FROM player_scores_applied', '42501', qr/permission denied/, 'what is beside the scores is of their owner');
verified('roles');

# An error at the COMMIT of the shard's server is an error of the submit.
my ($shard, $worker) = shard_of(1);
fails_with($worker, 'postgres', "SELECT * FROM leaderboard_internal.lb_shard_submit_many('{1,2,3,4,5,6,7,8,9}', $shard, 'global', '{1,2,3,4,5,6,7,8,9}', 'incr', '{a,b,c,d,e,f,g,h,i}', 0, false, '{1,2,3,4,5,6,7,8,9}')", '40001',
	qr/player "\d" of board "global" is not in shard $shard here/, 'players of several shards');
# A call of one's own on the shard's server cannot be ahead of its clock either.
my $ahead = q{(date_part('epoch', now() + interval '1 hour' - timestamptz '2000-01-01 00:00:00Z') * 1000000)::bigint};
for my $call ("leaderboard_internal.lb_shard_submit('1', $shard, 'global', 5, 'incr', NULL, $ahead, NULL, NULL)", "leaderboard_internal.lb_shard_submit_many('{1}', $shard, 'global', '{5}', 'incr', '{NULL}', $ahead, false, '{1}')")
{
	fails_with($worker, 'postgres', "SELECT * FROM $call", '22008', qr/"at" is in the future/, 'a time ahead on the shard');
}
$worker->safe_psql('postgres', qq{
	SET citus.enable_ddl_propagation = off;
	CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION \$\$refused\$\$; END';
	CREATE CONSTRAINT TRIGGER refuse AFTER INSERT OR UPDATE ON player_scores_$shard DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()});
for my $sql ('SELECT lb_submit(1, 5)', 'BEGIN; SELECT lb_submit(1, 5); COMMIT', 'BEGIN; SELECT lb_submit(g, 5) FROM generate_series(1, 9) g; COMMIT')
{
	my ($rc, $out, $err) = $node->psql('postgres', $sql, on_error_stop => 1);

	isnt($rc, 0, "refused at COMMIT: $sql");
}
$worker->safe_psql('postgres', "DROP TRIGGER refuse ON player_scores_$shard");
verified('refused');

# A transaction in doubt, through a restart of its server: the match waits for it.
$worker->safe_psql('postgres', "BEGIN; SELECT * FROM leaderboard_internal.lb_shard_submit('1', $shard, 'global', 100, 'incr', 'in doubt', 0, NULL, NULL); PREPARE TRANSACTION 'in doubt'");
$worker->stop('immediate');
my $again = q{SELECT score, applied FROM lb_submit(1, 100, match_id => 'in doubt')};
my ($rc) = $node->psql('postgres', $again);
isnt($rc, 0, 'a submit to a server that is away');
$worker->start;
my $waiting = $node->background_psql('postgres');
$waiting->query_until(qr/started/, "\\echo started\n$again;\n");
ok($worker->poll_query_until('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE query ~ 'lb_shard_submit' AND wait_event_type = 'Lock'}, '1'), 'the match waits');
$worker->safe_psql('postgres', q{COMMIT PREPARED 'in doubt'});
is($waiting->query_safe('SELECT 1') =~ s/\s*1$//r, '110|f', 'and has been applied once');
$waiting->quit;
verified('in doubt');

# Shards are moved and split under submits from all servers, some with matches that repeat.
my $script = $node->basedir . '/submits.sql';
append_to_file($script, <<'END');
\set a random(1, 300)
\set b random(1, 300)
\set m random(1, 200)
SELECT lb_submit(:a, 3);
BEGIN;
SELECT lb_submit(least(:a, :b), 2);
SELECT lb_submit(greatest(:a, :b), 1, match_id => 'm' || :m);
COMMIT;
SELECT lb_submit_many(ARRAY[1000 + :a, 1000 + :b, 1000 + :m], ARRAY[4, 5, 6], match_ids => ARRAY['n' || :m, NULL, NULL]);
END
my @benches = map {
	my ($out, $err) = ('', '');
	my $n = $_;

	[ IPC::Run::start([ 'pgbench', '-n', '-h', $n->host, '-p', $n->port, '-f', $script, '-c', '2', '-T', '8', 'postgres' ],
		'>', \$out, '2>', \$err, init => sub { $ENV{PGOPTIONS} = '-c leaderboard.submit_ranks=off' }), \$out, \$err ]
} @nodes;
for my $mode ('auto', 'block_writes', 'force_logical')
{
	my ($moved, $from) = shard_of(7);
	my ($to) = grep { $_ != $from } @workers;

	citus_settled($node);
	$node->safe_psql('postgres', sprintf(q{SELECT citus_move_shard_placement(%d, '127.0.0.1', %d, '127.0.0.1', %d, '%s')}, $moved, $from->port, $to->port, $mode));
}
my ($split) = shard_of(8);
$node->safe_psql('postgres', "SELECT citus_split_shard_by_split_points($split, (SELECT ARRAY[(shardminvalue::bigint + 100000000)::text] FROM pg_dist_shard WHERE shardid = $split),
	(SELECT array_agg(nodeid) FROM pg_dist_node WHERE groupid <> 0), 'block_writes')");
for (@benches)
{
	my ($run, $out, $err) = @$_;

	$run->finish;
	like($$out, qr/number of failed transactions: 0 /, 'no submit has failed');
	unlike($$err, qr/ERROR/, 'nor any client');
}
is($node->safe_psql('postgres', 'SELECT count(*) > 100, count(DISTINCT (player_id, match_id)) FILTER (WHERE match_id IS NOT NULL) = count(match_id) FROM player_scores_event'), 't|t', 'no match is applied twice');
is($node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM player_scores_applied) = (SELECT count(match_id) FROM player_scores_event)'), 't', 'each match is noted');
verified('moved and split');

# A server is killed under submits: what a client was told, and no match twice.
my ($out, $err) = ('', '');
my $bench = IPC::Run::start([ 'pgbench', '-n', '-h', $node->host, '-p', $node->port, '-f', $script, '-c', '4', '-T', '4', 'postgres' ], '>', \$out, '2>', \$err);
sleep 1;
$workers[1]->stop('immediate');
$workers[1]->start;
$bench->finish;
$node->safe_psql('postgres', 'SELECT recover_prepared_transactions()');
is($node->safe_psql('postgres', 'SELECT count(DISTINCT (player_id, match_id)) FILTER (WHERE match_id IS NOT NULL) = count(match_id) FROM player_scores_event'), 't', 'no match is applied twice after a kill');
verified('killed');

# Players of another type; the tables beside the scores go with them.
$node->safe_psql('postgres', 'DROP TABLE player_scores, player_score_windows, guilds');
is($node->safe_psql('postgres', 'SELECT count(*) FROM citus_tables'), '0', 'all tables are gone');
$node->safe_psql('postgres', $tables =~ s/\)$/, player_type => 'text')/r);
created();
is($_->safe_psql('postgres', q{SELECT * FROM lb_submit_key('O''Neil %1$s', 7, match_id => 'm')}), 'global|' . ($_ == $node ? '7|1||t' : '7|1|1|f'), 'a text') for @nodes;
is($node->safe_psql('postgres', q{SELECT lb_hide_key('O''Neil %1$s'), lb_rank_key('O''Neil %1$s')}), '1|', 'a text is hidden');
verified('text');

# What is beside the scores is kept as long as what is in lb_event and lb_applied.
is($_->safe_psql('postgres', 'SET leaderboard.event_retention = 0; SET leaderboard.applied_retention = 0; SELECT removed FROM lb_maintain()'), $_ == $node ? 2 : 0, 'old rows') for $workers[0], $node;
is($node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM player_scores_event) + (SELECT count(*) FROM player_scores_applied)'), '0', 'are removed by the coordinator');

# Tables beside the scores leave no shards behind; a table of that name with other columns is none of them.
my $beside = $node->safe_psql('postgres', q{SELECT string_agg(shardid::text, '|') FROM pg_dist_shard WHERE logicalrelid::text ~ '^player_scores_(applied|event|usage|anomaly|lb_places)$'});
$node->safe_psql('postgres', 'DROP TABLE player_scores, player_score_windows');
is($_->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname ~ '_($beside)\$'"), '0', 'no shards are left') for @workers;
is($node->safe_psql('postgres', 'SELECT count(*) FROM citus_tables'), '0', 'no tables either');

# Both ranks of a submit take one statement for each server, after the write, too: beside
# these there is only the submit itself.  So does the next player in another shard, and
# the ranks are those of the query.  In a block each shard is asked.
$node->safe_psql('postgres', 'SELECT lb_create_tables(distributed => true, shard_count => 16); SELECT lb_create_leaderboard(\'runs\', windows => \'{}\', distributed => true, shard_count => 16)');
$node->safe_psql('postgres', 'SELECT lb_maintain()');
is($node->safe_psql('postgres', 'SELECT lb_wait_ready()'), 't', 'with 16 shards: ready');
$node->safe_psql('postgres', q{SELECT count(*) FROM lb_submit_many((SELECT array_agg(g::bigint) FROM generate_series(1, 60) g), (SELECT array_agg(g::bigint * 10) FROM generate_series(1, 60) g), leaderboard => 'runs')});

# A submit on the coordinator, beside what the query says before and after it; returns
# how many statements were sent.
sub ranks_as_query
{
	my ($player, $rest, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $query = "SET leaderboard.enable_index = off; SELECT lb_rank($player, 'runs')";
	my $before = $node->safe_psql('postgres', $query);
	my (undef, $out, $err) = $node->psql('postgres', qq{SELECT lb_rank(1, 'runs'), lb_rank(2, 'runs');
		SET citus.log_remote_commands = on; SELECT rank, previous_rank FROM lb_submit($player, $rest, leaderboard => 'runs')});
	my $statements = () = $err =~ /NOTICE:  issuing (?:SELECT|WITH) /g;
	my $after = $node->safe_psql('postgres', $query);

	is((split(/\n/, $out))[-1], "$after|$before", "the ranks of a submit of player $player, $what");
	return $statements;
}
cmp_ok(ranks_as_query($_, '305', 'who passes others'), '<=', 3, "the statements of a submit of player $_") for 3, 4, 5, 9;

# A session that only submits learns from the first one where to ask.
my (undef, undef, $sent) = $node->psql('postgres', q{SELECT lb_submit(3, 1, leaderboard => 'runs'); SET citus.log_remote_commands = on; SELECT lb_submit(4, 1, leaderboard => 'runs')});
my $statements = () = $sent =~ /NOTICE:  issuing (?:SELECT|WITH) /g;
cmp_ok($statements, '<=', 3, 'the statements of the second submit of a session');
ranks_as_query(7, q{5, 'set'}, 'who falls behind others');
ranks_as_query(7, q{1, 'best'}, 'who stays');
ranks_as_query(61, '333', 'who is new');
$node->safe_psql('postgres', 'SELECT lb_hide(8)');
ranks_as_query(8, '500', 'who is hidden');
ranks_as_query(8, '500', 'who is hidden still');
$node->safe_psql('postgres', 'SELECT lb_show(8)');

# The boards of one server's shards are gone: the query counts the keys.
$workers[0]->safe_psql('postgres', q{SELECT lb_drop_board(board) FROM lb_board WHERE board ~ '^runs_[0-9]'});
ranks_as_query($_, '250', 'without boards, who passes others') for 10 .. 13;
ranks_as_query($_, q{7, 'set'}, 'without boards, who falls behind others') for 10 .. 13;
ranks_as_query($_, q{1, 'best'}, 'without boards, who stays') for 10 .. 13;
ranks_as_query($_, '222', 'without boards, who is new') for 62 .. 65;
$node->safe_psql('postgres', 'SELECT lb_maintain()');
is($node->safe_psql('postgres', 'SELECT lb_wait_ready()'), 't', 'the boards are there again');
for my $server (@nodes)
{
	my $name = $server->name;

	my @block = split(/\n/, $server->safe_psql('postgres', q{BEGIN; UPDATE runs_scores SET score = score + 5000 WHERE player_id IN (20, 21, 22);
		SELECT rank, previous_rank FROM lb_submit(20, 1, leaderboard => 'runs');
		SET LOCAL leaderboard.enable_index = off; SELECT lb_rank(23, 'runs'); RESET leaderboard.enable_index;
		SELECT rank, previous_rank FROM lb_submit(23, 100000, leaderboard => 'runs'); ROLLBACK}));
	is("$block[0] $block[2]", "3|3 1|$block[1]", "in a block, on $name");
}
for my $server (@nodes)
{
	my $name = $server->name;

	is($server->safe_psql('postgres', q{SELECT string_agg(f.rank::text, ', ' ORDER BY g) FROM generate_series(1, 3) g, LATERAL lb_submit(30 + g, 10000, leaderboard => 'runs') f}), '1, 1, 1', "several in a statement, on $name");
}
$node->safe_psql('postgres', q{SELECT lb_drop_leaderboard('runs'); DROP TABLE player_scores, player_score_windows});

# A table of one's own, with what a submit needs and no more
$node->safe_psql('postgres', q{
	CREATE TABLE own (id integer PRIMARY KEY, points integer);
	SELECT create_distributed_table('own', 'id', shard_count => 4);
	CREATE TABLE own_event (id integer, submitted_at timestamptz, player_id integer);
	SELECT create_distributed_table('own_event', 'player_id', colocate_with => 'own');
	INSERT INTO own_event VALUES (1, '2020-01-01', 5)});
$node->safe_psql('postgres', q{SELECT lb_create_board('global', 'own', 'id', 'points ASC')});
is($node->safe_psql('postgres', 'SELECT lb_wait_ready()'), 't', 'an own table: ready');
is($nodes[$_]->safe_psql('postgres', "SELECT * FROM lb_submit(5, $_ + 7, 'best')"), 'global|7|1|' . ($_ ? '1' : '') . '|t', "an own table on server $_") for 0 .. 2;
is($node->safe_psql('postgres', q{SELECT lb_submit_many('{5,6,7,8}', '{1,2,3,4}')}), '4', 'many of an own table');
is($node->safe_psql('postgres', 'SELECT * FROM own ORDER BY 1'), "5|8\n6|2\n7|3\n8|4", 'its scores');
fails_with($node, 'postgres', q{SELECT lb_submit(5, 1, match_id => 'm')}, '0A000', qr/takes no match_id/, 'its matches');
is($node->safe_psql('postgres', 'SET leaderboard.event_retention = 0; SELECT lb_maintain(); SELECT count(*) FROM own_event') =~ s/.*\n//sr, '1', 'another table is not trimmed');
is($node->safe_psql('postgres', 'SELECT * FROM lb_verify_key()'), '', 'an own table: lb_verify_key()');

# Ranks by the score alone, and by distinct scores
for my $method ('rank', 'dense_rank')
{
	$node->safe_psql('postgres', q{SELECT lb_drop_board('global')});
	$node->safe_psql('postgres', "DELETE FROM own; SELECT lb_create_board('global', 'own', 'id', 'points ASC', method => '$method')");
	is($node->safe_psql('postgres', 'SELECT lb_wait_ready()'), 't', "$method: ready");
	$node->safe_psql('postgres', q{SELECT lb_submit_many((SELECT array_agg(g::bigint) FROM generate_series(1, 20) g), (SELECT array_agg(g::bigint / 3) FROM generate_series(1, 20) g))});
	srand(4711);
	for my $n (1 .. 20)
	{
		my ($player, $score) = (int(rand(22)) + 1, int(rand(8)));
		my $query = "SET leaderboard.enable_index = off; SELECT lb_rank($player)";
		my $before = $node->safe_psql('postgres', $query);
		my $ranks = $nodes[ $n % 3 ]->safe_psql('postgres', "SELECT rank, previous_rank FROM lb_submit($player, $score, 'set')");

		is($ranks, $node->safe_psql('postgres', $query) . "|$before", "$method of player $player with $score");
	}
	is($node->safe_psql('postgres', 'SELECT * FROM lb_verify_key()'), '', "$method: lb_verify_key()");
}
citus_stop(@nodes);
done_testing();
