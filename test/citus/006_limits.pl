# Limits of what may be submitted to tables that Citus distributes: they refuse, flag and
# count what they do on a plain server, and what they have counted moves with the shards.

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

sub created
{
	$node->safe_psql('postgres', 'SELECT lb_maintain()');
	return is($node->safe_psql('postgres', 'SELECT lb_wait_ready()'), 't', 'ready');
}

sub verified
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	$node->safe_psql('postgres', 'SELECT lb_maintain()');
	ok($node->poll_query_until('postgres', 'SELECT lb_wait_ready()'), "$what: ready");
	return is($node->safe_psql('postgres', 'SELECT * FROM lb_verify_key()'), '', "$what: lb_verify_key()");
}

# Change limits on Citus and on the plain server.
sub change
{
	my ($sql) = @_;

	$node->safe_psql($_, "SELECT $sql") for 'postgres', 'plain';
	return;
}

# What statements return, and their errors: of those for several players the code only,
# since each shard refuses for itself.
sub outcome
{
	my ($server, $db, @calls) = @_;
	my $n = 0;
	my $script = join("\n", "\\set VERBOSITY verbose", map { my $call = $_; "\\warn == " . $n++ . "\n$call;" } @calls);
	my ($rc, $out, $err) = $server->psql($db, $script, on_error_stop => 0);
	my @errors = split(/^== \d+\n/m, $err);

	shift @errors;
	for my $i (0 .. $#calls)
	{
		$errors[$i] = join("\n", map { s/^psql:[^ ]* //r } grep { /ERROR:|DETAIL:|HINT:|CONSTRAINT NAME:/ } split(/\n/, $errors[$i] // ''));
		$errors[$i] =~ s/(ERROR:  \w+).*/$1/s if $calls[$i] =~ /lb_submit_many/;
	}
	return join("\n", $out, map { "$_: $errors[$_]" } grep { $errors[$_] ne '' } 0 .. $#calls);
}

# What is counted, with the times left out
sub same_counts
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $usage = 'SELECT limit_name, board, player_id::bigint, amount, submits FROM %s_usage ORDER BY 1, 2, 3';
	my $anomalies = 'SELECT player_id::bigint, limit_name, board, submits, max_amount, measure, value, bound, amount, match_id, at, reviewed FROM %s_anomaly ORDER BY 1, 2, 3';

	for my $query ($usage, $anomalies)
	{
		is($node->safe_psql('postgres', sprintf($query, 'player_scores')), $node->safe_psql('plain', sprintf($query, 'lb')), "$what: " . ($query =~ /_(usage|anomaly)/)[0]);
	}
	return is($node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM lb_usage) + (SELECT count(*) FROM lb_anomaly)'), '0', "$what: nothing in the extension's own tables");
}

$node->safe_psql('postgres', 'CREATE DATABASE plain');
$node->safe_psql('plain', q{CREATE EXTENSION leaderboard; SELECT lb_create_tables()});
$node->safe_psql('postgres', $tables);
created();
change($_) for q{lb_close_window('daily'), lb_close_window('weekly')}, q{lb_open_window('cup:1', starts => '2026-01-01', ends => '2100-01-01')};

# The same calls on both; each part of them on another server, with other limits
my @limits = (
	[q{lb_set_limit('match', 'global', max_amount => 80)}, q{lb_set_limit('flagged', 'global', max_amount => 60, action => 'flag')}],
	[q{lb_set_limit('cup', 'cup:1', max_submits => 6, max_amount => 90)}, q{lb_set_limit('hourly', 'global', period => '1 hour', max_period_amount => 700)}, q{lb_set_limit('flagged', 'global', min_score => 20, max_score => 300, action => 'flag')}],
	[q{lb_set_limit('cup', 'cup:1', max_submits => 9, max_score => 200, action => 'flag')}, q{lb_set_limit('match', 'global', min_score => 5)}, q{lb_set_limit('tries', 'global', max_submits => 12)}],
	[q{lb_drop_limit('tries')}, q{lb_set_limit('tries', 'global', period => '1 day', max_submits => 7, action => 'flag')}],
	[q{lb_set_limit('match', 'global', max_score => 400)}, q{lb_drop_limit('flagged')}, q{lb_set_limit('hourly', 'global', max_amount => 60, period => '1 hour', max_period_amount => 300, max_submits => 9, action => 'flag')}],
	[q{lb_set_limit('cup', 'global', max_amount => 100)}, q{lb_set_limit('tries', 'global', max_amount => 90, max_submits => 25, max_score => 500)}]);
srand(4711);
for my $part (0 .. $#limits)
{
	my @calls;

	change($_) for @{ $limits[$part] };
	for my $n (1 .. 40)
	{
		my $player = int(rand(12)) + 1;
		my $op = ('incr', 'incr', 'incr', 'best', 'set')[ int(rand(5)) ];
		my $match = rand() < 0.4 ? "'m" . int(rand(6)) . "'" : 'NULL';
		my $at = sprintf(q{timestamptz '2026-01-01' + interval '%d s'}, $part * 50 + $n);
		my $amount = int(rand(120)) - 20;
		my $submit = "SELECT board, score, applied FROM lb_submit($player, $amount, '$op', $match, $at)";
		my @players = map { int(rand(12)) + 1 } 0 .. rand(9);
		my $many = sprintf(q{'{%s}', '{%s}', '%s', '{%s}', %s}, join(',', @players), join(',', map { int(rand(100)) } @players), $op,
			join(',', map { rand() < 0.4 ? 'm' . int(rand(6)) : 'NULL' } @players), $at);

		$submit =~ s/lb_submit\((\d+)/lb_submit_key('$1'/ if rand() < 0.2;
		if (rand() < 0.2) { push @calls, "SELECT lb_submit_many($many)" }
		elsif (rand() < 0.4) { push @calls, "SELECT * FROM lb_submit_each($many)" }
		elsif (rand() < 0.1) { push @calls, "SELECT * FROM lb_submit_each_key($many)" }
		elsif (rand() < 0.1) { push @calls, qq(SELECT board, score, applied FROM lb_submit_match($player, '{"global": $amount}', $match, $at)) }
		elsif (rand() < 0.1) { push @calls, 'BEGIN', $submit, 'SAVEPOINT s', $submit, 'ROLLBACK TO s', $submit, rand() < 0.5 ? 'COMMIT' : 'ROLLBACK' }
		else { push @calls, $submit }
	}
	push @calls, 'SELECT player_id, score FROM player_scores ORDER BY 1', 'SELECT player_id, window_key, score FROM player_score_windows ORDER BY 1, 2';
	is(outcome($nodes[ $part % 3 ], 'postgres', @calls), outcome($node, 'plain', @calls), "the same answers and errors on server " . ($part % 3));
	same_counts("part $part");

	# The period of some is over, and what others have done has been reviewed.
	for my $of ([ 'postgres', 'player_scores' ], [ 'plain', 'lb' ])
	{
		my ($db, $prefix) = @$of;

		$node->safe_psql($db, "UPDATE ${prefix}_usage SET since = date_trunc('hour', now()) - interval '2 hours' WHERE player_id::bigint % 2 = 0;
			UPDATE ${prefix}_anomaly SET reviewed = true WHERE player_id::bigint % 3 = 0");
	}
}
for my $table ('usage', 'anomaly')
{
	cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM player_scores_$table"), '>', 5, "rows in player_scores_$table");
}
verified('as plain');

# What has been counted moves with its shard, and is split with it.
sub submits
{
	my (@players) = @_;

	return join(' ', map { (outcome($nodes[ $_ % 3 ], 'postgres', "SELECT applied FROM lb_submit($_, 1, boards => '{global}')") =~ /(^t$|"\w+"$)/m)[0] } @players);
}

$node->safe_psql('postgres', 'TRUNCATE player_scores, player_scores_usage, player_scores_anomaly');
change($_) for q{lb_drop_limit('cup')}, q{lb_drop_limit('match')}, q{lb_drop_limit('hourly')}, q{lb_set_limit('tries', 'global', max_submits => 2)};
is(submits(1 .. 4, 1 .. 4), join(' ', ('t') x 8), 'two submits of each');
for my $player (1 .. 3)
{
	my ($shard, $port) = split(/\|/, $node->safe_psql('postgres', "SELECT shardid, nodeport FROM pg_dist_shard_placement
		WHERE shardid = get_shard_id_for_distribution_column('player_scores', $player)"));
	my ($to) = grep { $_->port != $port } @workers;

	$node->safe_psql('postgres', sprintf(q{SELECT citus_move_shard_placement(%d, '127.0.0.1', %d, '127.0.0.1', %d, '%s')}, $shard, $port, $to->port, ('auto', 'block_writes', 'force_logical')[ $player - 1 ]));
}
my $split = $node->safe_psql('postgres', q{SELECT get_shard_id_for_distribution_column('player_scores', 4)});
$node->safe_psql('postgres', "SELECT citus_split_shard_by_split_points($split, (SELECT ARRAY[(shardminvalue::bigint + 100000000)::text] FROM pg_dist_shard WHERE shardid = $split),
	(SELECT array_agg(nodeid) FROM pg_dist_node WHERE groupid <> 0), 'block_writes')");
is(submits(1 .. 4), join(' ', ('"tries"') x 4), 'a third one is refused after moves and a split');
is($node->safe_psql('postgres', 'SELECT sum(score), count(*) FROM player_scores'), '8|4', 'and writes nothing');
verified('moved and split');

# A limit that is dropped, or goes with its board, takes with it what it has counted.
my $limits = 'SELECT l FROM lb_limit l ORDER BY name';
my $counted = q{SELECT count(*) FROM player_scores_usage WHERE limit_name = 'tries'};
is($node->safe_psql('postgres', $counted), '4', 'counted');
change(q{lb_drop_limit('tries')});
is($node->safe_psql('postgres', $counted), '0', 'lb_drop_limit()');
change(q{lb_set_limit('tries', 'global', max_submits => 1)});
is(submits(1, 1), 't "tries"', 'counted from the beginning');
is($_->safe_psql('postgres', $limits), $node->safe_psql('postgres', $limits), 'the same limits on all nodes') for @workers;
for my $call (q{lb_drop_limit('tries')}, q{lb_set_limit('other', 'global', 5)})
{
	fails_with($node, 'postgres', "BEGIN; SELECT $call", '25001', qr/cannot be changed in a transaction block/, "in a transaction: $call");
}
$workers[1]->safe_psql('postgres', 'DELETE FROM lb_limit');
$node->safe_psql('postgres', 'SELECT lb_maintain()');
is($_->safe_psql('postgres', $limits), $node->safe_psql('postgres', $limits), 'lb_maintain() has other nodes record them again') for @workers;
is($node->safe_psql('postgres', $counted), '1', 'what is counted stays');
$node->safe_psql('postgres', q{SELECT lb_drop_board('global')});
is($_->safe_psql('postgres', $limits), '', 'a board takes its limits with it') for @nodes;
is($node->safe_psql('postgres', $counted), '1', 'the table stays');
$node->safe_psql('postgres', q{SELECT lb_create_board('global', 'player_scores', rank_by => 'score DESC, updated_at ASC', ranked_if => 'ranked')});
created();
$node->safe_psql('postgres', q{SELECT lb_set_limit('tries', 'global', max_submits => 1)});
is(submits(1, 1), 't "tries"', 'a limit of the same name counts from the beginning');

# lb_maintain() removes what lb_usage and lb_anomaly would not keep, unless it is locked.
sub trimmed
{
	my ($rows) = @_;

	return $node->safe_psql('postgres', "SET DateStyle = 'SQL, DMY'; SET IntervalStyle = sql_standard; SET leaderboard.anomaly_retention = '1d'; SELECT removed, more FROM lb_maintain($rows)");
}

$node->safe_psql('postgres', q{SELECT lb_set_limit('hourly', 'global', period => '1 hour', max_submits => 100), lb_set_limit('none', 'global', max_submits => 5)});
trimmed(1000);
$node->safe_psql('postgres', q{
	TRUNCATE player_scores_usage, player_scores_anomaly;
	INSERT INTO player_scores_usage SELECT g, 'gone', 'global', now(), 1, 1 FROM generate_series(1, 30) g;
	INSERT INTO player_scores_usage SELECT g, 'hourly', 'global', now() - interval '61 min', 1, 1 FROM generate_series(1, 30) g;
	INSERT INTO player_scores_usage SELECT g, 'tries', 'weekly:202601', now(), 1, 1 FROM generate_series(1, 30) g;
	INSERT INTO player_scores_usage SELECT g, 'hourly', 'weekly:202602', now() - interval '59 min', 1, 1 FROM generate_series(1, 30) g;
	INSERT INTO player_scores_usage SELECT g, 'none', 'global', '-infinity', 1, 1 FROM generate_series(1, 30) g;
	INSERT INTO player_scores_anomaly SELECT g, 'tries', 'global', 1, at, at, 1, 'the amount', 1, 1, 1, NULL, now()
	FROM generate_series(1, 30) g, LATERAL (SELECT now() - (g % 3) * interval '1 day' AS at) AS a});
$node->safe_psql('postgres', q{INSERT INTO lb_closed (board, closed_at) VALUES ('weekly:202601', now())});
my $locker = $node->background_psql('postgres');
$locker->query_safe(q{BEGIN; SELECT FROM player_scores_usage WHERE player_id = 7 FOR UPDATE; SELECT FROM player_scores_anomaly WHERE player_id = 7 FOR UPDATE});
my ($removed, $calls) = (0, 0);
for (my $more = 't'; $more eq 't'; $calls++)
{
	(my $n, $more) = split(/\|/, trimmed(50));
	cmp_ok($n, '<=', 100, 'at most 50 of each');
	$removed += $n;
}
is($removed, 87 + 19, 'all but those that are locked');
is($calls, 2, 'in two calls');
$locker->query_safe('COMMIT');
$locker->quit;
is(trimmed(50), '4|f', 'which are removed later');
is($node->safe_psql('postgres', 'SELECT limit_name, board, count(*) FROM player_scores_usage GROUP BY 1, 2 ORDER BY 1, 2'), "hourly|weekly:202602|30\nnone|global|30", 'what lb_usage would keep');
is($node->safe_psql('postgres', q{SELECT count(*), bool_and(player_id % 3 = 0) FROM player_scores_anomaly}), '10|t', 'what lb_anomaly would keep');

# ... as does the maintenance worker, where there are other boards.
$node->safe_psql('postgres', q{CREATE TABLE plain (player_id bigint PRIMARY KEY, score bigint); SELECT lb_create_board('plain', 'plain')});
$node->safe_psql('postgres', q{UPDATE player_scores_usage SET since = '2026-01-01' WHERE limit_name = 'hourly'});
$node->append_conf('postgresql.conf', 'leaderboard.maintenance_interval = 1');
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT count(*) FROM player_scores_usage WHERE limit_name = 'hourly'}, '0'), 'the worker removes rows');
$node->append_conf('postgresql.conf', 'leaderboard.maintenance_interval = 0');
$node->reload;
is($node->safe_psql('postgres', 'SELECT count(*) FROM player_scores_usage'), '30', 'and no others');

# Batches that lock many counted rows, beside limits that are dropped, never wait in a circle.
$node->safe_psql('postgres', q{SELECT lb_drop_limit(name) FROM (SELECT name FROM lb_limit) l});
$node->safe_psql('postgres', q{SELECT lb_set_limit('all', 'global', max_submits => 1000000000, max_period_amount => 1, period => '1 hour', action => 'flag')});
my ($first, $second) = split(/,/, $node->safe_psql('postgres', q{
	SELECT string_agg(g::text, ',' ORDER BY g::text COLLATE "C") FROM generate_series(1, 40) g GROUP BY get_shard_id_for_distribution_column('player_scores', g) ORDER BY count(*) DESC LIMIT 1}));
$node->safe_psql('postgres', "SELECT lb_submit($_, 1)") for $second, $first;
my $holder = $node->background_psql('postgres');
my $dropper = $node->background_psql('postgres');
$holder->query_safe("BEGIN; SELECT FROM player_scores_usage WHERE player_id = $first FOR UPDATE");
$dropper->query_until(qr/started/, "\\echo started\nSELECT lb_drop_limit('all');\n");
my $waits = q{SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ 'player_scores_usage'};
my ($holds) = grep { $node->safe_psql('postgres', "SELECT nodeport FROM pg_dist_shard_placement WHERE shardid = get_shard_id_for_distribution_column('player_scores', $first)") == $_->port } @workers;
ok($holds->poll_query_until('postgres', $waits, '1'), 'lb_drop_limit() waits for a row');
is($holder->query_safe("SELECT submits FROM player_scores_usage WHERE player_id = $second FOR UPDATE NOWAIT"), '1', 'and has not locked the next one');
$holder->query_safe('COMMIT');
$holder->quit;
$dropper->query_safe('SELECT 1');
$dropper->quit;
is($node->safe_psql('postgres', q{SELECT count(*) FROM player_scores_usage WHERE limit_name = 'all'}), '0', 'then it removes both');
$node->safe_psql('postgres', q{SELECT lb_set_limit('all', 'global', max_submits => 1000000000, max_period_amount => 1, period => '1 hour', action => 'flag')});
my $script = $node->basedir . '/batches.sql';
append_to_file($script, <<'END');
\set a random(1, 40)
SELECT lb_submit_many(ARRAY(SELECT g FROM generate_series(1, 60) g ORDER BY g % :a), ARRAY(SELECT 1 FROM generate_series(1, 60)));
END
my @benches = map {
	my ($out, $err) = ('', '');
	my $n = $_;

	[ IPC::Run::start([ 'pgbench', '-n', '-h', $n->host, '-p', $n->port, '-f', $script, '-c', '2', '-T', '6', 'postgres' ], '>', \$out, '2>', \$err), \$out, \$err ]
} @nodes;
for my $n (1 .. 6)
{
	$node->safe_psql('postgres', q{SELECT lb_drop_limit('all')});
	trimmed(20);
	$node->safe_psql('postgres', q{SELECT lb_set_limit('all', 'global', max_submits => 1000000000, max_period_amount => 1, period => '1 hour', action => 'flag')});
}
for (@benches)
{
	my ($run, $out, $err) = @$_;

	$run->finish;
	like($$out, qr/number of failed transactions: 0 /, 'no batch has failed');
	unlike($$err, qr/ERROR/, 'nor any client');
}
verified('batches');

# Roles need no privileges on what is beside the scores.
$node->safe_psql('postgres', q{CREATE ROLE server LOGIN; GRANT SELECT, INSERT, UPDATE ON player_scores, player_score_windows TO server; CREATE ROLE moderator LOGIN; GRANT SELECT, UPDATE (reviewed) ON player_scores_anomaly TO moderator});
change(q{lb_set_limit('match', 'global', max_amount => 5, action => 'flag')});
is($node->safe_psql('postgres', q{SET ROLE server; SELECT applied FROM lb_submit(500, 6, boards => '{global}')}), 't', 'a role that submits is counted');
is($node->safe_psql('postgres', q{SET ROLE moderator; UPDATE player_scores_anomaly SET reviewed = true WHERE limit_name = 'match' AND player_id = 500 AND NOT reviewed RETURNING value}), '6', 'a role that reviews');
fails_with($node, 'postgres', "SET ROLE server; SELECT * FROM player_scores_$_", '42501', qr/permission denied/, $_) for 'usage', 'anomaly';
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION lb_set_limit TO server');
fails_with($node, 'postgres', q{SET ROLE server; SELECT lb_set_limit('own', 'global', max_amount => 5)}, '42501', qr/must be owner of table player_scores/, 'lb_set_limit() of another role');
for my $call (q{lb_set_limit('worker', 'global', max_amount => 5)}, q{lb_drop_limit('match')})
{
	fails_with($_, 'postgres', "SELECT $call", '55000', qr/Connect to the coordinator/, "$call on a worker") for @workers;
}

# Players of other types
$node->safe_psql('postgres', 'DROP TABLE player_scores, player_score_windows');
is($node->safe_psql('postgres', 'SELECT count(*) FROM citus_tables'), '0', 'what is beside the scores is gone with them');
for my $case ([ 'text', map({ "O''Neil, \"$_\" %1\$s {}" } 1 .. 6) ], [ 'varchar(40)', 'a' .. 'f' ], [ 'integer', 1 .. 6 ], [ 'uuid', map { "00000000-0000-0000-0000-00000000000$_" } 1 .. 6 ])
{
	my ($type, @players) = @$case;

	$node->safe_psql('postgres', $tables =~ s/\)$/, player_type => '$type')/r);
	created();
	$node->safe_psql('postgres', q{SELECT lb_set_limit('one', 'global', max_submits => 1), lb_set_limit('flag', 'global', max_amount => 5, action => 'flag')});
	$node->safe_psql('postgres', join(';', map { "SELECT lb_submit_key('$_', 7)" } @players));
	like(outcome($node, 'postgres', "SELECT lb_submit_key('$players[0]', 7)"), qr/ERROR:  23514.*exceeds limit "one"/, "$type: refused");
	is($node->safe_psql('postgres', q{SELECT (SELECT count(*) FROM player_scores_usage), (SELECT count(*) FROM player_scores_anomaly)}), '6|6', "$type: counted");
	$node->safe_psql('postgres', q{SELECT lb_drop_limit('one'); SET leaderboard.anomaly_retention = 0; SELECT lb_maintain()});
	is($node->safe_psql('postgres', q{SELECT (SELECT count(*) FROM player_scores_usage), (SELECT count(*) FROM player_scores_anomaly)}), '0|0', "$type: removed");
	is($node->safe_psql('postgres', 'SELECT * FROM lb_verify_key()'), '', "$type: lb_verify_key()");
	$node->safe_psql('postgres', 'DROP TABLE player_scores, player_score_windows');
}

# A limit can go to another leaderboard, and back.
$node->safe_psql('postgres', $tables);
$node->safe_psql('postgres', q{SELECT lb_create_leaderboard('kills', windows => '{}', distributed => true, shard_count => 4)});
created();
for my $board ('kills', 'global', 'kills')
{
	$node->safe_psql('postgres', "SELECT lb_set_limit('goes', '$board', max_submits => 1)");
	is($_->safe_psql('postgres', $limits), "(goes,$board,,,,,,1,reject)", "for $board") for @nodes;
	for my $leaderboard ('kills', 'global')
	{
		my @submits = map { "SELECT applied FROM lb_submit(7, 1, leaderboard => '$leaderboard', boards => '{$leaderboard}')" } 1, 2;

		like(outcome($node, 'postgres', @submits), $leaderboard eq $board ? qr/"goes"/ : qr/\At\nt\Z/, "for $board: submits to $leaderboard");
	}
	$node->safe_psql('postgres', 'TRUNCATE player_scores_usage, kills_scores_usage');
}
is($node->safe_psql('postgres', q{SELECT count(*) FROM lb_drop_leaderboard('kills')}), '1', 'the leaderboard is dropped');
is($_->safe_psql('postgres', $limits), '', 'with its limits') for @nodes;
is($node->safe_psql('postgres', 'SELECT * FROM lb_verify_key()'), '', 'two leaderboards: lb_verify_key()');
$node->safe_psql('postgres', 'DROP TABLE player_scores, player_score_windows');

# A table of one's own has nothing to count in.
$node->safe_psql('postgres', q{CREATE TABLE own (player_id bigint PRIMARY KEY, score bigint NOT NULL); SELECT create_distributed_table('own', 'player_id', shard_count => 4)});
$node->safe_psql('postgres', q{SELECT lb_create_board('global', 'own')});
is($node->safe_psql('postgres', 'SELECT lb_wait_ready()'), 't', 'an own table: ready');
for my $limit (q{max_submits => 1}, q{period => '1 h', max_period_amount => 1}, q{max_amount => 1, action => 'flag'})
{
	fails_with($node, 'postgres', "SELECT lb_set_limit('own', 'global', $limit)", '0A000', qr/cannot be counted for limits/, "an own table: $limit");
}
$node->safe_psql('postgres', q{SELECT lb_set_limit('own', 'global', max_amount => 5, max_score => 8)});
like(outcome($node, 'postgres', map { "SELECT score FROM lb_submit(1, $_)" } 5, 6, 4, 3), qr/\A5\n8\n1: ERROR:  23514: [^\n]*"own"\nDETAIL: [^\n]*the amount is 6;.*\n2: ERROR:  23514: [^\n]*"own"\nDETAIL: [^\n]*the score is 9;/s, 'an own table: limits that count nothing');
for my $set (q{max_submits = 1}, q{max_submits = NULL, max_amount = 0, action = 'flag'})
{
	$_->safe_psql('postgres', "UPDATE lb_limit SET $set") for @nodes;
	fails_with($node, 'postgres', 'SELECT lb_submit(1, 1)', '0A000', qr/cannot be counted for limits/, "an own table: submits with $set");
}
is($node->safe_psql('postgres', 'SELECT score FROM own'), '8', 'an own table: what it holds');
is($node->safe_psql('postgres', 'SELECT * FROM lb_verify_key()'), '', 'an own table: lb_verify_key()');
citus_stop(@nodes);
done_testing();
