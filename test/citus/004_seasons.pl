# The end of seasons of tables that Citus distributes, and players who are forgotten: as on
# a plain server, and with no score lost or counted twice while all servers write.

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

sub query { return $node->safe_psql('postgres', $_[0]); }

sub created
{
	query('SELECT lb_maintain()');
	return is(query('SELECT lb_wait_ready()'), 't', 'ready');
}

sub verified
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	is(query('SELECT * FROM lb_verify_key()'), '', "$what: lb_verify_key()");
	return is(join(' ', map { $_->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts') } @nodes), '0 0 0', "$what: nothing is in doubt");
}

# The server that has a player, and the number of the shard
sub server_of
{
	my ($player) = @_;
	my ($number, $port) = split(/\|/, query("SELECT shardid, nodeport FROM pg_dist_shard_placement WHERE shardid = get_shard_id_for_distribution_column('player_scores', '$player'::text)"));

	return ((grep { $_->port == $port } @workers), $number);
}

# A statement that waits in the background, until $waits does on that server; returns what
# ends it and gives its result
sub waiting
{
	my ($on, $sql, $server, $waits, $what) = @_;
	my $session = $on->background_psql('postgres');
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	$session->query_until(qr/started/, "\\echo started\n$sql;\n");
	ok($server->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE query ~ '$waits' AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()"), "$what: waits");
	return sub {
		my $result = $session->query_safe('SELECT 1') =~ s/\s*1$//r;

		$session->quit;
		return $result;
	};
}

my $archive = 'SELECT board, season, place, rank, member, score FROM lb_archive ORDER BY 1, 2, 3, 4, 5, 6';
my $seasons = 'SELECT board, season, archive_top, members FROM lb_season ORDER BY 1, 2';
my $scores = 'SELECT player_id, score, ranked FROM player_scores ORDER BY 1';
my $windows = 'SELECT player_id, window_key, score FROM player_score_windows ORDER BY 1, 2';

$node->safe_psql('postgres', 'CREATE DATABASE plain');
$node->safe_psql('plain', q{CREATE EXTENSION leaderboard; SELECT lb_create_tables(); SELECT lb_close_window('daily'), lb_close_window('weekly')});
query('SELECT lb_create_tables(distributed => true, shard_count => 8)');
created();
query(q{SELECT lb_close_window('daily'), lb_close_window('weekly')});
$node->safe_psql($_, q{SELECT lb_open_window('cup:0', starts => '2020-01-01', ends => '9999-01-01')}) for 'postgres', 'plain';


# ----------------------------------------------------------------
#		As on a plain server
# ----------------------------------------------------------------

srand(1729);
my $season = 0;
my $style = q{SET DateStyle = 'SQL, DMY'};
for my $part (0 .. 3)
{
	my @calls;

	for my $n (1 .. 40)
	{
		my $player = int(rand(12)) + 1;
		my $at = sprintf(q{timestamptz '2026-01-01' + interval '%d s'}, $part * 50 + $n);
		my $what = rand();

		if ($what < 0.45) { push @calls, "SELECT board, score, applied FROM lb_submit($player, " . int(rand(50)) . ", 'incr', " . (rand() < 0.5 ? "'m" . int(rand(6)) . "'" : 'NULL') . ", $at)" }
		elsif ($what < 0.55) { push @calls, sprintf(q{SELECT lb_submit_many('{%s}', '{%s}', at => %s)}, join(',', 1 .. 9), join(',', map { int rand 20 } 1 .. 9), $at) }
		elsif ($what < 0.62) { push @calls, "SELECT lb_hide($player, '{global}')" }
		elsif ($what < 0.66) { push @calls, "SELECT lb_show($player, '{global}')" }
		elsif ($what < 0.72) { push @calls, 'RESET DateStyle', "INSERT INTO player_score_windows (player_id, window_key, score) VALUES ($player, 'cup:" . int(rand(3)) . "', " . int(rand(9)) . ') ON CONFLICT DO NOTHING', $style }
		elsif ($what < 0.76) { push @calls, "SELECT lb_watch_member($player)" }
		elsif ($what < 0.88)
		{
			my @call = (sprintf(q{SELECT lb_close_season('global', 's%d', %s, %s)}, $season++, ('NULL', 'NULL', 0, 1, 3, 100000)[ int(rand(6)) ], (0, 0, 7, -3, 'NULL')[ int(rand(5)) ]));

			push @calls, rand() < 0.7 ? @call : ('BEGIN', @call, 'SELECT * FROM lb_top(3)', rand() < 0.5 ? 'COMMIT' : 'ROLLBACK');
		}
		# In place of lb_applied and lb_event, there are tables beside the scores.
		else
		{
			push @calls, sprintf(q{SELECT regexp_replace(relation::text, '^player_scores_(applied|event|usage|anomaly)$', 'lb_\1'), sum(removed) FROM %s WHERE relation::text <> 'player_scores_hidden' GROUP BY 1 HAVING sum(removed) > 0 ORDER BY 1},
				rand() < 0.5 ? "lb_forget_player($player)" : "lb_forget_player_key('$player')");
		}
	}
	push @calls, $archive, $seasons, $scores, $windows, 'SELECT * FROM lb_top(20)', q{SELECT member FROM lb_watched WHERE board = 'global' AND member IS NOT NULL ORDER BY 1};
	my $calls = "$style; SET TimeZone = 'Asia/Kolkata'; " . join(";\n", @calls);

	is(query($calls), $node->safe_psql('plain', $calls), "the same calls, part $part");
}
is(query('SELECT player_id, match_id, scores FROM player_scores_applied ORDER BY 1, 2'),
	$node->safe_psql('plain', 'SELECT player_id, match_id, scores FROM lb_applied ORDER BY player_id::bigint, match_id'), 'the same matches');
is(query('SELECT player_id, amount, match_id, scores FROM player_scores_event ORDER BY player_id, at, amount, match_id'),
	$node->safe_psql('plain', 'SELECT player_id, amount, match_id, scores FROM lb_event ORDER BY player_id::bigint, at, amount, match_id'), 'the same log');
cmp_ok(query('SELECT count(*) FROM lb_season'), '>', 5, 'seasons were closed');
verified('as plain');

# All places of a large board, with ties, hidden players, and rows that are reset already
for my $db ('postgres', 'plain')
{
	$node->safe_psql($db, q{
		DELETE FROM player_scores;
		INSERT INTO player_scores (player_id, score, ranked, updated_at)
			SELECT g, g * 7919 % 20000, g % 100 > 0, timestamptz '2026-01-01' + g % 7 * interval '1 s' FROM generate_series(1, 50000) g;
		TRUNCATE lb_archive});
	is($node->safe_psql($db, q{SELECT lb_close_season('global', 'large')}), '49500', "all places, $db");
}
is(query("SELECT md5(string_agg(q::text, ' ')) FROM ($archive) q"), $node->safe_psql('plain', "SELECT md5(string_agg(q::text, ' ')) FROM ($archive) q"), 'the same standings');
is(query(q{SELECT count(*), count(place), max(place), sum(score::bigint) FROM lb_archive}), '50000|49500|49500|500015000', 'of all players');
is(query('SELECT count(*), max(score), count(DISTINCT updated_at) <= 3 FROM player_scores'), '50000|0|t', 'all are reset');
is(query(q{SELECT lb_close_season('global', 'none', reset_to => NULL); SELECT count(*) FROM player_scores}), "49500\n0", 'all rows are deleted');
verified('large');


# ----------------------------------------------------------------
#		Other tables
# ----------------------------------------------------------------

query(q{
	CREATE TABLE games (id uuid, game text, score integer, PRIMARY KEY (id, game));
	SELECT create_distributed_table('games', 'id', shard_count => 4, colocate_with => 'none');
	CREATE TABLE guilds (guild integer, region text COLLATE "C", score double precision, PRIMARY KEY (region, guild));
	SELECT create_distributed_table('guilds', 'region', shard_count => 4, colocate_with => 'none');
	CREATE TABLE days (id bigint PRIMARY KEY, day date);
	SELECT create_reference_table('days')});
query(q{SELECT lb_create_board('game', 'games', 'id', board_column => 'game')});
query(q{SELECT lb_create_board('guilds', 'guilds', 'region, guild', 'score ASC', method => 'rank')});
query(q{SELECT lb_create_board('days', 'days', 'id', 'day DESC')});
is(query('SELECT lb_wait_ready()'), 't', 'other tables: ready');
query(q{
	INSERT INTO games SELECT md5(g::text)::uuid, 'g' || g % 3, g FROM generate_series(1, 30) g;
	INSERT INTO guilds SELECT g, 'r' || g % 5, g / 4.0 FROM generate_series(1, 8) g;
	INSERT INTO days SELECT g, date '2026-01-01' + g FROM generate_series(1, 4) g});
is(query(q{SELECT lb_close_season('game:g1', 'one', 2, 1), lb_close_season('guilds', 'one'), lb_close_season('days', 'one', reset_to => NULL)}), '2|8|4', 'boards of other tables');
is(query(q{SELECT game, count(*), min(score), max(score) FROM games GROUP BY 1 ORDER BY 1}), "g0|10|3|30\ng1|10|1|1\ng2|10|2|29", 'one board of a family');
is(query(q{SELECT * FROM lb_archive_top_key('game:g1')}), '1|' . query('SELECT md5($$28$$)::uuid') . "|28\n2|" . query('SELECT md5($$25$$)::uuid') . '|25', 'its first places');
is(query(q{SELECT * FROM lb_archive_top_key('guilds', 2)}), "1|(r1,1)|0.25\n2|(r2,2)|0.5", 'members of two columns');
is(query(q{SELECT * FROM lb_archive_top_key('days', 1); SELECT count(*) FROM days}), "1|4|2026-01-05\n0", 'a reference table');
fails_with($node, 'postgres', q{SELECT lb_close_season('days', 'two')}, '42804', qr/are not numbers/, 'a date');
fails_with($node, 'postgres', q{SELECT lb_close_season('guilds', 'one')}, '23505', qr/has been closed/, 'a season twice');

# Even where the table has one shard, what is written there is committed with what is archived here.
query('CREATE SCHEMA tenant');
query('SELECT citus_schema_distribute($$tenant$$); CREATE TABLE tenant.scores (player_id bigint PRIMARY KEY, score bigint NOT NULL)');
query(q{SELECT lb_create_board('tenant', 'tenant.scores')});
query('INSERT INTO tenant.scores VALUES (1, 5), (2, 6); SELECT lb_wait_ready()');
my (undef, $out, $err) = $node->psql('postgres', q{SET citus.log_remote_commands = on; SELECT lb_close_season('tenant', 'one', reset_to => 2)});
is($out, '2', 'one shard');
like($err, qr/PREPARE TRANSACTION/, 'two phases');
is(query('SELECT sum(score) FROM tenant.scores'), '4', 'it is reset');
query(q{CREATE TABLE tenant.pairs (a bigint, player_id bigint GENERATED ALWAYS AS (2 * a) STORED UNIQUE, score bigint NOT NULL);
	SELECT lb_create_board('pairs', 'tenant.pairs', 'player_id')});
query(q{INSERT INTO tenant.pairs (a, score) VALUES (1, 5), (2, 6); SELECT lb_wait_ready()});
is(query(q{SELECT lb_close_season('pairs', 'one', reset_to => 2); SELECT sum(score) FROM tenant.pairs}), "2\n4", 'a generated member');
verified('other tables');
query('DROP TABLE games, guilds, days, tenant.scores, tenant.pairs');


# ----------------------------------------------------------------
#		Transactions
# ----------------------------------------------------------------

my $state = join('; ', $archive, $seasons, $scores, $windows, 'SELECT * FROM player_scores_event ORDER BY 1, 2, 3, 4, 5', 'SELECT * FROM player_scores_applied ORDER BY 1, 2');

query('SELECT lb_show_key(player_id) FROM lb_hidden_player');
query(q{SELECT lb_submit(g, g, match_id => 'n' || g % 3) FROM generate_series(1, 40) g; SELECT lb_submit(g, 2) FROM generate_series(1, 40) g});
my $before = query($state);
query(q{BEGIN; SELECT lb_close_season('global', 'back'); SELECT lb_forget_player(3); ROLLBACK});
is(query($state), $before, 'nothing is left of a rollback');
is(query(q{BEGIN; SAVEPOINT s; SELECT lb_close_season('global', 'back', reset_to => NULL); SELECT lb_forget_player(3); ROLLBACK TO s; SELECT count(*) FROM player_scores; COMMIT}) =~ s/.*\n//sr, '40', 'nor of a rollback to a savepoint');
is(query($state), $before, 'neither after the COMMIT');
is(query(q{
	BEGIN;
	UPDATE player_scores SET score = score + 100 WHERE player_id < 3;
	SELECT lb_close_season('global', 'own');
	SELECT score FROM lb_submit(1, 4) WHERE board = 'global';
	COMMIT;
	SELECT sum(score) FROM player_scores;
	SELECT score FROM lb_archive WHERE season = 'own' AND member = '1'}), "40\n4\n4\n103", 'own changes before and after');

# A shard that refuses at its COMMIT: all servers refuse.
my ($worker, $shard) = server_of(1);
$worker->safe_psql('postgres', qq{
	SET citus.enable_ddl_propagation = off;
	CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION \$\$refused\$\$; END';
	CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE OR DELETE ON player_scores_$shard DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()});
$before = query($state);
for (q{lb_close_season('global', 'refused', reset_to => 7)}, 'lb_forget_player(1)')
{
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT $_", on_error_stop => 1);

	isnt($rc, 0, "refused at COMMIT: $_");
	like($err, qr/refused.*ERROR|ERROR.*refused/s, "by the shard: $_");
}
is(query($state), $before, 'nothing is left of what was refused');
$worker->safe_psql('postgres', "DROP TRIGGER refuse ON player_scores_$shard");
verified('transactions');


# ----------------------------------------------------------------
#		Locks
# ----------------------------------------------------------------

# A transaction that has written on any server is waited for.
for my $n (@nodes)
{
	for my $write (q{UPDATE player_scores SET score = score + 1000 WHERE player_id = 1}, q{SELECT lb_submit(1, 1000)})
	{
		my $writer = $n->background_psql('postgres');

		query('UPDATE player_scores SET score = 1');
		$writer->query_safe("BEGIN; $write;");
		my $closing = waiting($node, q{SELECT lb_close_season('global', 'wait }  . $season++ . q{')}, $n, 'LOCK|lb_close_season', $n->name . ": $write");
		$writer->query_safe('COMMIT');
		$writer->quit;
		is($closing->(), '40', 'it goes on');
		is(query(q{SELECT score FROM lb_archive WHERE season = 'wait } . ($season - 1) . q{' AND member = '1'; SELECT score FROM player_scores WHERE player_id = 1}), "1001\n0", 'and has the score');
	}
}

# One that comes later waits for the end of the season.
for my $n (@nodes)
{
	my $closer = $node->background_psql('postgres');

	query('UPDATE player_scores SET score = 1');
	$closer->query_safe(q{BEGIN; SELECT lb_close_season('global', 'late } . $season++ . q{');});
	my $update = waiting($n, 'UPDATE player_scores SET score = score + 1000 WHERE player_id = 2', $n, '^UPDATE player_scores SET', $n->name . ': an UPDATE');
	my $submit = waiting($n, q{SELECT score FROM lb_submit(1, 1000) WHERE board = 'global'}, $n, '^SELECT score FROM lb_submit', $n->name . ': a submit');
	is($n->safe_psql('postgres', 'SELECT lb_score(1), lb_count()'), '1|40', 'reads do not wait');
	$closer->query_safe('COMMIT');
	$closer->quit;
	is($submit->() . $update->(), '1000', 'they go on');
	is(query(q{SELECT sum(score::bigint) FROM lb_archive WHERE season = 'late } . ($season - 1) . q{'; SELECT sum(score) FROM player_scores}), "40\n2000", 'and are of the next season');
}

# A transaction in doubt has locks on its shard only.
query('UPDATE player_scores SET score = 1');
$worker->safe_psql('postgres', "BEGIN; SET LOCAL citus.enable_manual_changes_to_shards = on; UPDATE player_scores_$shard SET score = 500 WHERE player_id = 1; PREPARE TRANSACTION 'in doubt'");
my $closing = waiting($node, q{SELECT lb_close_season('global', 'doubt')}, $worker, 'lock_relation_if_exists', 'in doubt');
$worker->safe_psql('postgres', q{COMMIT PREPARED 'in doubt'});
is($closing->(), '40', 'it goes on');
is(query(q{SELECT score FROM lb_archive WHERE season = 'doubt' AND member = '1'; SELECT max(score) FROM player_scores}), "500\n0", 'and has that score');
query('TRUNCATE player_scores');
$worker->safe_psql('postgres', "BEGIN; SET LOCAL citus.enable_manual_changes_to_shards = on; INSERT INTO player_scores_$shard (player_id, score) VALUES (1, 700); PREPARE TRANSACTION 'in doubt'");
$closing = waiting($node, q{SELECT lb_close_season('global', 'empty')}, $worker, 'lock_relation_if_exists', 'in doubt in an empty shard');
$worker->safe_psql('postgres', q{COMMIT PREPARED 'in doubt'});
is($closing->(), '1', 'it goes on');
is(query(q{SELECT score FROM lb_archive WHERE season = 'empty'}), '700', 'and has that score');
verified('locks');


# ----------------------------------------------------------------
#		Seasons end while all servers write
# ----------------------------------------------------------------

query(q{TRUNCATE player_scores, player_scores_event, player_scores_applied; TRUNCATE lb_archive, lb_season;
	INSERT INTO player_scores SELECT g, 0 FROM generate_series(1, 100) g});
my $script = $node->basedir . '/writes.sql';
append_to_file($script, <<'END');
\set a random(1, 100)
\set b random(1, 100)
\set c random(1, 200)
SELECT lb_submit(:c, 3);
UPDATE player_scores SET score = score + 5 WHERE player_id = :a;
BEGIN;
SELECT lb_submit(least(:a, :b), 1);
SELECT lb_submit(greatest(:a, :b), 1);
COMMIT;
SELECT lb_submit_many(ARRAY[:a, :b + 100, :c], ARRAY[2, 2, 2]);
END
# Players are hidden on the coordinator only.
my $hides = $node->basedir . '/hides.sql';
append_to_file($hides, slurp_file($script) . <<'END');
SELECT lb_hide(:a, '{global}');
SELECT lb_show(:b, '{global}');
END
my $transactions = 60;
my @benches = map {
	my ($out, $err) = ('', '');

	[ IPC::Run::start([ 'pgbench', '-n', '-h', $_->host, '-p', $_->port, '-f', $_ == $node ? $hides : $script, '-c', '2', '-t', $transactions, 'postgres' ],
		'>', \$out, '2>', \$err, init => sub { $ENV{PGOPTIONS} = '-c leaderboard.submit_ranks=off' }), \$out, \$err ]
} @nodes;
my $closed = 0;
while (grep { $_->[0]->pumpable && ($_->[0]->pump_nb, $_->[0]->pumpable)[1] } @benches)
{
	query(q{SELECT lb_close_season('global', 'w} . ++$closed . q{')});
}
for (@benches)
{
	my ($run, $out, $err) = @$_;

	$run->finish;
	like($$out, qr/number of failed transactions: 0 /, 'no write has failed');
	unlike($$err, qr/ERROR/, 'nor any client');
}
my $sum = @benches * 2 * $transactions * 16;
is(query(q{SELECT (SELECT sum(score::bigint) FROM lb_archive) + (SELECT sum(score) FROM player_scores)}), $sum, 'nothing is lost, nothing counts twice');
is(query('SELECT sum(amount) FROM player_scores_event'), $sum - @benches * 2 * $transactions * 5, 'the log');
cmp_ok(query('SELECT count(DISTINCT season) FROM lb_archive WHERE score::bigint > 0'), '>', 2, "seasons with scores, of $closed");
is(query('SELECT count(*) FROM lb_season'), $closed, 'all are recorded');
is(query('SELECT count(*) FROM (SELECT season FROM lb_archive GROUP BY season HAVING count(DISTINCT member) <> count(*) OR count(place) <> coalesce(max(place), 0)) s'), '0', 'each player is in a season once');
query('SELECT lb_maintain()');
verified('writers');

# The same for rows that are deleted
query('TRUNCATE player_scores, player_scores_event; TRUNCATE lb_archive, lb_season');
$script = $node->basedir . '/submits.sql';
append_to_file($script, <<'END');
\set a random(1, 40)
SELECT lb_submit(:a, 3);
SELECT lb_submit_many(ARRAY[:a, 50 + :a], ARRAY[2, 2]);
END
@benches = map {
	my ($out, $err) = ('', '');

	[ IPC::Run::start([ 'pgbench', '-n', '-h', $_->host, '-p', $_->port, '-f', $script, '-c', '2', '-t', $transactions, 'postgres' ],
		'>', \$out, '2>', \$err, init => sub { $ENV{PGOPTIONS} = '-c leaderboard.submit_ranks=off' }), \$out, \$err ]
} @nodes;
$closed = 0;
while (grep { $_->[0]->pumpable && ($_->[0]->pump_nb, $_->[0]->pumpable)[1] } @benches)
{
	query(q{SELECT lb_close_season('global', 'w} . ++$closed . q{', reset_to => NULL)});
}
for (@benches)
{
	my ($run, $out, $err) = @$_;

	$run->finish;
	like($$out, qr/number of failed transactions: 0 /, 'no submit has failed');
	unlike($$err, qr/ERROR/, 'nor any client');
}
is(query(q{SELECT (SELECT sum(score::bigint) FROM lb_archive) + coalesce((SELECT sum(score) FROM player_scores), 0)}), @benches * 2 * $transactions * 7, 'nothing is lost, nothing counts twice, with rows deleted');
verified('rows deleted');


# ----------------------------------------------------------------
#		Players who are forgotten
# ----------------------------------------------------------------

# How many rows are left of a player
sub left_of
{
	my ($player) = @_;

	return join(' ', map { query("SELECT count(*) FROM $_ WHERE player_id = $player") }
		  split(/\n/, query(q{SELECT table_name FROM citus_tables WHERE table_name::text ~ '^player_' AND table_name::text !~ '_lb_places$' ORDER BY 1})));
}

query(q{TRUNCATE player_scores, player_score_windows, player_scores_event, player_scores_applied; TRUNCATE lb_archive, lb_season;
	INSERT INTO player_score_windows VALUES (7, 'cup:1', 5), (8, 'cup:1', 7)});
my $submit = q{lb_submit(7, 5, match_id => 'm')};
my ($server) = server_of(7);
for my $n (@nodes)
{
	# The first submit of the player, which has not ended, and another
	for my $first ('first', 'second')
	{
		my $session = $n->background_psql('postgres');

		query('SELECT lb_submit(7, 1)') if $first eq 'second';
		$session->query_safe("BEGIN; SELECT $submit;");
		my $forgetting = waiting($node, 'SELECT sum(removed) > 2 FROM lb_forget_player(7)', $server, 'lb_shard_forget', $n->name . ": the $first submit");
		$session->query_safe('COMMIT');
		$session->quit;
		is($forgetting->(), 't', 'it goes on');
		like(left_of(7), qr/^0( 0)+$/, 'the submit is forgotten as well');
	}

	# A submit that comes later
	query("SELECT $submit");
	my $session = $node->background_psql('postgres');
	$session->query_safe(q{BEGIN; SELECT lb_forget_player(7);});
	my $later = waiting($n, "SELECT score, applied FROM $submit WHERE board = 'global'", $server, 'lb_(shard_)?submit', $n->name . ': a later submit');
	$session->query_safe('COMMIT');
	$session->quit;
	is($later->(), '5|t', 'the player begins anew');
	is(query('SELECT count(*), sum(amount) FROM player_scores_event WHERE player_id = 7'), '1|5', 'with its log');
	query(q{SELECT lb_forget_player(7)});
}

query(q{INSERT INTO player_score_windows VALUES (7, 'cup:1', 5), (7, 'cup:2', 6)});
# The windows are locked against being closed, on the coordinator, which archives them.
is(query(q{BEGIN; SELECT lb_forget_player(7);
	SELECT count(DISTINCT objid) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'object' AND classid = 'lb_closed'::regclass AND mode = 'RowExclusiveLock'; ROLLBACK}) =~ s/.*\n//sr,
	'2', 'keys of windows are locked');
is(query(q{SELECT relation, removed FROM lb_forget_player(7) WHERE relation::text ~ 'window'}), 'player_score_windows|2', 'rows of windows');
is(query('SELECT player_id, window_key FROM player_score_windows'), '8|cup:1', 'of no other player');
verified('forgotten');

# While all servers submit, players are forgotten: their scores are what the log has of them.
$script = $node->basedir . '/forgotten.sql';
append_to_file($script, <<'END');
\set a random(1, 15)
\set m random(1, 50)
SELECT lb_submit(:a, 3, match_id => 'm' || :m);
SELECT lb_submit_many(ARRAY[:a, 20 - :a], ARRAY[1, 2]);
END
@benches = map {
	my ($out, $err) = ('', '');

	[ IPC::Run::start([ 'pgbench', '-n', '-h', $_->host, '-p', $_->port, '-f', $script, '-c', '2', '-t', 150, 'postgres' ],
		'>', \$out, '2>', \$err, init => sub { $ENV{PGOPTIONS} = '-c leaderboard.submit_ranks=off' }), \$out, \$err ]
} @nodes;
my $forgotten = 0;
while (grep { $_->[0]->pumpable && ($_->[0]->pump_nb, $_->[0]->pumpable)[1] } @benches)
{
	$forgotten += query('SELECT sum(removed) FROM lb_forget_player(' . (1 + $season++ % 19) . ')');
}
for (@benches)
{
	my ($run, $out, $err) = @$_;

	$run->finish;
	like($$out, qr/number of failed transactions: 0 /, 'no submit has failed');
	unlike($$err, qr/ERROR/, 'nor any client');
}
cmp_ok($forgotten, '>', 20, 'rows were removed');
query("SELECT lb_forget_player($_)") for 1 .. 10;
is(query('SELECT count(*) FROM player_scores WHERE player_id <= 10'), '0', 'forgotten at the end');
like(left_of($_), qr/^0( 0)+$/, "no row of player $_") for 1 .. 10;
is(query('SELECT count(*) FROM player_scores_applied a WHERE NOT EXISTS (SELECT FROM player_scores s WHERE s.player_id = a.player_id)'), '0', 'no match without a score');
query('SELECT lb_maintain()');
verified('forgotten under submits');


# ----------------------------------------------------------------
#		Roles and servers
# ----------------------------------------------------------------

for my $n (@workers)
{
	fails_with($n, 'postgres', "SELECT $_", '55000', qr/does not work on a worker for board "global".*HINT:  Connect to the coordinator/s, "on a worker: $_")
	  for q{lb_close_season('global', 'w')}, 'lb_forget_player(1)', q{lb_forget_player_key('1')};
}
fails_with($node, 'postgres', "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT $_", '55000', qr/snapshot of the whole transaction/, "a snapshot: $_")
  for q{lb_close_season('global', 'w')}, 'lb_forget_player(1)';
query(q{
	CREATE ROLE owner LOGIN; CREATE ROLE member LOGIN IN ROLE owner; CREATE ROLE server LOGIN; GRANT CREATE ON SCHEMA public TO owner;
	GRANT ALL ON player_scores, player_score_windows TO server});
for my $call (q{lb_close_season('global', 'w')}, 'lb_forget_player(8)')
{
	fails_with($node, 'postgres', "SET ROLE server; SELECT $call", '42501', qr/must be owner of table player_scores/, "another role: $call");
}
($server, $shard) = server_of(8);
fails_with($server, 'postgres', "SET ROLE server; SELECT * FROM leaderboard_internal.lb_shard_forget('8', $shard, '{global}')", '42501', qr/must be owner of table player_scores_$shard/, 'on the shard');
fails_with($server, 'postgres', q{SELECT * FROM leaderboard_internal.lb_shard_forget('8', 1, '{global}')}, '40001', qr/is not in shard 1 here/, 'another shard');
fails_with($server, 'postgres', "SELECT * FROM leaderboard_internal.lb_shard_forget('8', $shard, '{global,nothing}')", '55000', qr/"nothing" is not recorded/, 'another board');
query(join(';', map { "ALTER TABLE $_ OWNER TO owner" } split(/\n/, query(q{SELECT table_name FROM citus_tables WHERE table_name::text ~ '^player_'}))));
for my $role ('owner', 'member', 'postgres')
{
	query(q{SELECT lb_submit(8, 5, match_id => 'm'), lb_submit(9, 5); SELECT lb_hide(9)});
	is(query("SET ROLE $role; SELECT lb_close_season('global', 'by $role', reset_to => 4)"), query('SELECT lb_count()'), "a season closed by $role");
	is(query(q{SELECT max(score), min(score) FROM player_scores}), '4|4', "reset by $role");
	is(query("SELECT score FROM lb_archive WHERE season = 'by $role' AND member = '9' AND place IS NULL"), $role eq 'owner' ? 5 : 9, "a hidden player, by $role");
	is(query("SET ROLE $role; SELECT relation, removed FROM lb_forget_player(8) WHERE relation::text ~ '^player_scores' AND removed > 0 ORDER BY relation::text"), "player_scores|1\nplayer_scores_applied|1\nplayer_scores_event|1", "a player forgotten by $role");
	like(left_of(8), qr/^0( 0)+$/, "by $role: no row is left");
	query('SELECT lb_show(9)');
}

# Policies can keep rows from the owner, and so from all that act for the owner there.
query('ALTER TABLE player_scores ENABLE ROW LEVEL SECURITY; ALTER TABLE player_scores FORCE ROW LEVEL SECURITY');
for my $role ('owner', 'postgres')
{
	fails_with($node, 'postgres', "SET ROLE $role; SELECT $_", '42501', qr/applies to its owner/, "policies, $role: $_") for q{lb_close_season('global', 'w')}, 'lb_forget_player(9)';
}
query('ALTER TABLE player_scores NO FORCE ROW LEVEL SECURITY');
is(query(q{SET ROLE owner; SELECT lb_close_season('global', 'policies') > 0}), 't', 'policies that do not apply to the owner');
verified('roles');

# Rows beside the scores that policies hide from their owner are not left out in silence.
query('ALTER TABLE player_scores_event ENABLE ROW LEVEL SECURITY; ALTER TABLE player_scores_event FORCE ROW LEVEL SECURITY');
fails_with($node, 'postgres', 'SELECT lb_forget_player(9)', '42501', qr/row-level security policy/, 'policies beside the scores');


# ----------------------------------------------------------------
#		Players in no certain shard
# ----------------------------------------------------------------

query('DROP TABLE player_scores, player_score_windows');
query(q{
	CREATE TABLE everywhere (id integer PRIMARY KEY, points integer, updated_at timestamptz NOT NULL DEFAULT now());
	SELECT create_reference_table('everywhere');
	CREATE TABLE by_window (id integer, key text COLLATE "C", points integer, PRIMARY KEY (id, key));
	SELECT create_distributed_table('by_window', 'key', shard_count => 4)});
query(q{SELECT lb_create_board('global', 'everywhere', 'id', 'points ASC')});
query(q{SELECT lb_create_board('*', 'by_window', 'id', 'points DESC', 'key')});
query(q{INSERT INTO everywhere SELECT g, g FROM generate_series(1, 3) g; INSERT INTO by_window VALUES (1, 'cup:1', 4), (2, 'cup:1', 4), (1, 'cup:2', 4)});
is(query('SELECT lb_wait_ready()'), 't', 'tables that are not distributed by players: ready');
is(query(q{SELECT relation, removed FROM lb_forget_player(1) WHERE removed > 0 ORDER BY relation::text}), "by_window|2\neverywhere|1", 'a player of theirs');
is(query('SELECT id FROM everywhere ORDER BY 1; SELECT id FROM by_window'), "2\n3\n2", 'no row is left');
my $session = $workers[0]->background_psql('postgres');
$session->query_safe(q{BEGIN; INSERT INTO by_window VALUES (3, 'cup:9', 7);});
my $forgetting = waiting($node, q{SELECT removed FROM lb_forget_player_key('3') WHERE relation = 'by_window'::regclass}, $workers[0], 'LOCK|lb_forget_player', 'a row of theirs');
$session->query_safe('COMMIT');
$session->quit;
is($forgetting->(), '1', 'a row that was being written');
verified('not by players');
citus_stop(@nodes);
done_testing();
