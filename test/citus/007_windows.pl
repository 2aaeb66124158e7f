# Windows of tables that Citus distributes: submits write to them, they are read on every
# server, and closed once, with the standings of all shards.

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

# What a statement returns on the coordinator and on a plain server
sub same
{
	my ($sql, $what, $on) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $expected = $node->safe_psql('plain', $sql);

	return is(($on // $node)->safe_psql('postgres', $sql), $expected, $what);
}

# The same calls, one after the other
sub on_both
{
	my (@calls) = @_;

	$node->safe_psql($_, join(";\n", @calls)) for 'plain', 'postgres';
	return;
}

sub mended
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	$node->safe_psql('postgres', 'SELECT lb_maintain()');
	ok($node->poll_query_until('postgres', 'SELECT lb_wait_ready()'), "$what: ready");
	return is($node->safe_psql('postgres', 'SELECT * FROM lb_verify_key()'), '', "$what: lb_verify_key()");
}

$node->safe_psql('postgres', 'CREATE DATABASE plain');
$node->safe_psql('plain', 'CREATE EXTENSION leaderboard; SELECT lb_create_tables()');
$node->safe_psql('postgres', 'SELECT lb_create_tables(distributed => true, shard_count => 8)');
# The worker makes the boards of their shards, though the database has no other boards.
$node->safe_psql('postgres', $_) for q{ALTER SYSTEM SET leaderboard.maintenance_interval = '1s'}, 'SELECT pg_reload_conf()';
ok($node->poll_query_until('postgres', q{SELECT count(*) = 16 FROM (SELECT state FROM lb_stat_shards() UNION ALL SELECT state FROM lb_stat_shards('*')) s WHERE state = 'ready'}), 'the worker makes boards');
$node->safe_psql('postgres', $_) for 'ALTER SYSTEM RESET leaderboard.maintenance_interval', 'SELECT pg_reload_conf()';
mended('new tables');
is($_->safe_psql('postgres', 'SELECT name, period, keep FROM lb_window ORDER BY 1'), "daily|daily|48:00:00\nweekly|weekly|14 days", 'windows on ' . $_->name) for @nodes;

# Changed on the coordinator, known on all
on_both(q{SELECT lb_open_window('tourney:T1', starts => date_trunc('hour', now()) - interval '2 hours', ends => date_trunc('hour', now()) + interval '2 hours', archive_top => 20)},
	q{SELECT lb_open_window('hourly', op => 'best', time_zone => 'Asia/Kolkata', late => '0')}, q{SELECT lb_close_window('weekly')});
my $windows = 'SELECT name, period, time_zone, first_day, starts, op, keep, late, archive_top, is_open FROM lb_window w ORDER BY name';
same($windows, 'windows on ' . $_->name, $_) for @nodes;
for my $call (q{lb_open_window('monthly')}, q{lb_close_window('daily')})
{
	fails_with($workers[0], 'postgres', "SELECT $call", '55000', qr/on a worker.*Connect to the coordinator/s, "on a worker, $call");
}
fails_with($node, 'postgres', q{BEGIN; SELECT lb_open_window('monthly')}, '25001', qr/in a transaction block/, 'what ROLLBACK would not undo');
same($windows, 'nothing has changed on ' . $_->name, $_) for @nodes;

# Two that change windows at once wait for each other, whatever their isolation.
my $holder = $node->background_psql('postgres');
$holder->query_safe('SELECT pg_advisory_lock(1)');
my $opener = $node->background_psql('postgres');
$opener->query_until(qr/started/, qq(\\echo started\nSELECT lb_open_window('alpha:1', starts => now(), ends => now() + interval '1 hour'), pg_advisory_lock(1);\n));
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'advisory'}), 'one has opened a window');
my $other = $node->background_psql('postgres');
$other->query_until(qr/started/, qq(\\echo started\nSET default_transaction_isolation = 'repeatable read';\nSELECT lb_open_window('beta:1', starts => now(), ends => now() + interval '1 hour');\n));
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'object' AND query ~ 'beta:1'}), 'another waits');
$holder->query_safe('SELECT pg_advisory_unlock(1)');
$_->query_safe('SELECT 1') for $opener, $other;
$_->quit for $holder, $opener, $other;
is($_->safe_psql('postgres', q{SELECT string_agg(name, ' ' ORDER BY name) FROM lb_window WHERE name ~ ':1$'}), 'alpha:1 beta:1', 'both are known on ' . $_->name) for @nodes;
$node->safe_psql('postgres', q{DELETE FROM lb_window WHERE name ~ ':1$'; SELECT lb_maintain()});
same($windows, 'windows that are deleted are gone on ' . $_->name, $_) for @nodes;

# The same submits on both; each part of them on another server
srand(815);
my $now = $node->safe_psql('postgres', 'SELECT now()');
for my $part (0 .. 5)
{
	my @calls;

	for my $n (1 .. 40)
	{
		my $player = int(rand(15)) + 1;
		my $op = ('incr', 'incr', 'best', 'set')[ int(rand(4)) ];
		my $match = rand() < 0.3 ? "'m" . int(rand(9)) . "'" : 'NULL';
		my $boards = rand() < 0.7 ? 'NULL' : ("'{global}'", "'{daily}'", "'{daily, tourney:T1, global}'", "'{hourly, weekly}'", "'{daily:20200101, global}'")[ int(rand(5)) ];
		my $at = sprintf(q{timestamptz '%s' - interval '%d s'}, $now, rand() < 0.1 ? 86400 * 5 : 3600 - $part * 40 - $n);
		my @players = map { int(rand(15)) + 1 } 0 .. rand(9);
		my $many = sprintf(q{'{%s}', '{%s}', '%s', '{%s}', %s}, join(',', @players), join(',', map { int(rand(100)) } @players), $op,
			join(',', map { rand() < 0.3 ? 'm' . int(rand(9)) : 'NULL' } @players), $at);

		if (rand() < 0.15) { push @calls, "SELECT lb_submit_many($many)" }
		elsif (rand() < 0.1) { push @calls, "SELECT * FROM lb_submit_each($many)" }
		elsif ($part % 3 == 0 && rand() < 0.3) { push @calls, rand() < 0.5 ? "SELECT lb_hide($player)" : "SELECT lb_show($player)" }
		else
		{
			my $submit = "SELECT board, score, CASE WHEN applied THEN rank END, CASE WHEN applied THEN previous_rank END, applied FROM lb_submit($player, " . int(rand(100)) . ", '$op', $match, $at, $boards)";

			push @calls, rand() < 0.9 ? $submit : ('BEGIN', $submit, 'SAVEPOINT s', $submit, 'ROLLBACK TO s', rand() < 0.5 ? 'COMMIT' : 'ROLLBACK');
		}
		push @calls, ("SELECT lb_rank($player, 'daily'), lb_score($player, 'tourney:T1'), lb_count('weekly'), lb_percentile($player, 'hourly')",
			q{SELECT * FROM lb_top(5, 'daily')}, q{SELECT * FROM lb_top(5, 'tourney:T1')}, "SELECT * FROM lb_around($player, 'daily-1')")[ int(rand(4)) ];
	}
	my $calls = join(";\n", @calls);

	is($nodes[ $part % 3 ]->safe_psql('postgres', $calls), $node->safe_psql('plain', $calls), "the same answers on server " . ($part % 3));
}
my $rows = 'SELECT player_id, window_key, score, updated_at, ranked FROM player_score_windows ORDER BY 2, 1';
same($rows, 'the same rows of windows');
mended('submits');

# Closed on the coordinator: no server writes to it, and the standings are those of one server.
on_both(q{SELECT lb_close_window('tourney:T1')}, q{UPDATE lb_window SET late = '0', keep = '1 day' WHERE name = 'tourney:T1'});
is($node->safe_psql('postgres', 'SELECT closed, archived > 0, more FROM lb_maintain()'), $node->safe_psql('plain', 'SELECT closed, archived > 0, more FROM lb_maintain()'), 'closed');
my $archive = q{SELECT board, season, place, rank, member, score FROM lb_archive ORDER BY 1, 2, 3};
same($archive, 'the same archive');
same(q{SELECT board, members, removed_at IS NULL FROM lb_closed ORDER BY 1}, 'the same windows are closed');
same(q{SELECT board FROM lb_closed ORDER BY 1}, 'on ' . $_->name, $_) for @workers;
same(q{SELECT * FROM lb_archive_top('tourney:T1', 5)}, 'lb_archive_top()');
same(q{SELECT board, applied FROM lb_submit(3, 7, boards => '{tourney:T1}')}, 'no submits on ' . $_->name, $_) for @nodes;
same($rows, 'nothing is written to it');
is($node->safe_psql('postgres', 'SELECT closed, archived FROM lb_maintain()'), '0|0', 'closed once');

# Rows that are to be kept no more: also those that are hidden, in steps.
on_both(q{SELECT lb_hide(3), lb_hide(4)}, q{UPDATE lb_window SET keep = '0' WHERE name = 'tourney:T1'});
is($node->safe_psql('postgres', 'SELECT removed FROM lb_maintain(5)'), '5', 'no more rows than asked for');
ok($node->poll_query_until('postgres', 'SELECT NOT more FROM lb_maintain(5)'), 'the rows go in steps');
ok($node->poll_query_until('plain', 'SELECT NOT more FROM lb_maintain(5)'), 'likewise on one server');
is($node->safe_psql('postgres', q{SELECT count(*) FROM player_score_windows WHERE window_key = 'tourney:T1'}), '0', 'all are gone');
same($rows, 'and no others');
same(q{SELECT board, removed_at IS NULL FROM lb_closed ORDER BY 1}, 'that is noted');
mended('removed');

# A server that has lost what is recorded, or has more of it, gets it again.
$workers[0]->safe_psql('postgres', 'DELETE FROM lb_window; DELETE FROM lb_closed');
$workers[1]->safe_psql('postgres', q{INSERT INTO lb_window (name, period, keep) VALUES ('monthly', 'monthly', '1 day'); INSERT INTO lb_closed (board) VALUES ('daily:20200101')});
mended('recorded again');
same($windows, 'windows again on ' . $_->name, $_) for @nodes;
same(q{SELECT board FROM lb_closed ORDER BY 1}, 'closed windows again on ' . $_->name, $_) for @nodes;

# A server that is away keeps windows from being changed, and from being closed.
on_both(q{SELECT lb_open_window('cup:1', starts => now() - interval '1 hour', ends => now() + interval '1 hour', late => '0', archive_top => NULL)});
on_both(map({ "SELECT lb_submit($_, $_ * 10, boards => '{cup:1}')" } 1 .. 30));
$workers[1]->stop;
fails_with($node, 'postgres', q{SELECT lb_open_window('cup:2', starts => now(), ends => now() + interval '1 hour')}, '55000', qr/command for board .* of another server has failed/, 'opened without a server');
is($node->safe_psql('postgres', q{SELECT count(*) FROM lb_window WHERE name = 'cup:2'}), '0', 'and not recorded');
$node->safe_psql('postgres', q{UPDATE lb_window SET ends = now() WHERE name = 'cup:1'});
my (undef, $out, $warning) = $node->psql('postgres', 'SELECT closed FROM lb_maintain()');
is($out, '0', 'not closed without a server');
like($warning, qr/could not close or remove window "cup:1"/, 'which a warning says');
is($node->safe_psql('postgres', q{SELECT count(*) FROM lb_archive WHERE board = 'cup:1'}), '0', 'nothing is archived');
is($workers[0]->safe_psql('postgres', q{SELECT count(*) FROM lb_closed WHERE board = 'cup:1'}), '1', 'the other server has closed it');
$workers[1]->start;
ok($node->poll_query_until('postgres', 'SELECT lb_wait_ready()'), 'the server is back');
$node->safe_psql('postgres', 'SELECT lb_maintain()');
$node->safe_psql('plain', q{SELECT lb_close_window('cup:1')});
$node->safe_psql('plain', 'SELECT lb_maintain()');
same(q{SELECT place, rank, member, score FROM lb_archive WHERE board = 'cup:1' ORDER BY 1}, 'then it is closed, with all players');

# A key that other servers have closed, while the coordinator could not, is open again.
on_both(q{SELECT lb_open_window('cup:3', starts => now() - interval '1 hour', ends => now() + interval '1 hour')});
$_->safe_psql('postgres', q{SELECT leaderboard_internal.lb_record_closed('global', '{cup:3}', false)}) for @workers;
is($_->safe_psql('postgres', q{SELECT applied FROM lb_submit(1, 1, boards => '{cup:3}')}), 'f', 'closed on the shards, by ' . $_->name) for @nodes;
mended('not closed');
is($_->safe_psql('postgres', q{SELECT applied FROM lb_submit(1, 1, boards => '{cup:3}')}), 't', 'open again, by ' . $_->name) for @nodes;

# A window that could not be closed on one server, and is then extended, takes submits on all.
my ($player, $where) = split(/\|/, $node->safe_psql('postgres', q{SELECT p, nodeport FROM generate_series(101, 150) p JOIN pg_dist_shard_placement ON shardid = get_shard_id_for_distribution_column('player_scores', p) WHERE nodeport = } . $workers[1]->port . ' LIMIT 1'));
$node->safe_psql('postgres', q{SELECT lb_open_window('cup:5', starts => now() - interval '1 hour', ends => now() + interval '1 hour', late => '0')});
my $writer = $node->background_psql('postgres');
$writer->query_safe('BEGIN');
$writer->query_safe("SELECT lb_submit($player, 5, boards => '{cup:5}')");
$node->safe_psql('postgres', q{SELECT lb_close_window('cup:5')});
is($node->safe_psql('postgres', q{SET lock_timeout = '1s'; SELECT closed FROM lb_maintain()}), '0', 'a submit under way');
$node->safe_psql('postgres', q{SELECT lb_open_window('cup:5', starts => now() - interval '1 hour', ends => now() + interval '1 hour', late => '0')});
$writer->query_safe('COMMIT');
$writer->quit;
is($node->safe_psql('postgres', q{SELECT bool_and(applied), count(*) FROM generate_series(101, 150) p, lb_submit(p, 1, boards => '{cup:5}')}), 't|50', 'open again for all');
is($node->safe_psql('postgres', "SELECT lb_score($player, 'cup:5')"), '6', 'and that submit counts');

# A window whose players are all hidden is on no board, and is closed all the same.
on_both(q{SELECT lb_open_window('cup:4', starts => now() - interval '1 hour', ends => now() + interval '1 hour', late => '0')},
	map({ "SELECT lb_submit($_, 5, boards => '{cup:4}')" } 2001 .. 2009), map({ "SELECT lb_hide($_)" } 2001 .. 2009), q{SELECT lb_close_window('cup:4')});
same('SELECT closed, archived FROM lb_maintain()', 'a window of hidden players');
same(q{SELECT board, members FROM lb_closed WHERE board = 'cup:4'}, 'is closed');

# Closed under submits from all servers: what is archived is what was written, and what clients were told.
$node->safe_psql('postgres', q{SELECT lb_open_window('rush:1', starts => now() - interval '1 hour', ends => now() + interval '1 hour', late => '0', archive_top => NULL)});
my $script = $node->basedir . '/rush.sql';
append_to_file($script, <<'END');
\set a random(1001, 1300)
\set b random(1001, 1300)
SELECT lb_submit(:a, 3, boards => '{rush:1}');
BEGIN;
SELECT lb_submit(least(:a, :b), 2, boards => '{global, rush:1}');
SELECT lb_submit(greatest(:a, :b), 1, boards => '{rush:1}');
COMMIT;
END
my @benches = map {
	my ($bench_out, $err) = ('', '');

	[ IPC::Run::start([ 'pgbench', '-n', '-h', $_->host, '-p', $_->port, '-f', $script, '-c', '2', '-T', '6', 'postgres' ],
		'>', \$bench_out, '2>', \$err, init => sub { $ENV{PGOPTIONS} = '-c leaderboard.submit_ranks=off' }), \$bench_out, \$err ]
} @nodes;
ok($node->poll_query_until('postgres', q{SELECT count(*) > 200 FROM player_scores_event WHERE 'rush:1' = ANY (boards)}), 'submits');
$node->safe_psql('postgres', q{SELECT lb_close_window('rush:1')});
ok($node->poll_query_until('postgres', q{SELECT closed >= 0 AND EXISTS (SELECT FROM lb_archive WHERE board = 'rush:1') FROM lb_maintain()}), 'closed while they go on');
for (@benches)
{
	my ($run, $bench_out, $err) = @$_;

	$run->finish;
	like($$bench_out, qr/number of failed transactions: 0 /, 'no submit has failed');
}
is($node->safe_psql('postgres', q{
	(SELECT member, score FROM lb_archive WHERE board = 'rush:1' EXCEPT SELECT player_id::text, score::text FROM player_score_windows WHERE window_key = 'rush:1')
	UNION ALL (SELECT player_id::text, score::text FROM player_score_windows WHERE window_key = 'rush:1' EXCEPT SELECT member, score FROM lb_archive WHERE board = 'rush:1')}),
	'', 'what is archived is in the table, and nothing else');
is($node->safe_psql('postgres', q{SELECT (SELECT sum(score::bigint) FROM lb_archive WHERE board = 'rush:1') = (SELECT sum(amount) FROM player_scores_event WHERE 'rush:1' = ANY (boards))}), 't', 'all that was submitted is archived');
mended('rush');

# Shards are moved, and a submit finds the window where the player is.
my ($shard, $port) = split(/\|/, $node->safe_psql('postgres', q{SELECT shardid, nodeport FROM pg_dist_shard_placement WHERE shardid = get_shard_id_for_distribution_column('player_scores', 7)}));
my ($to) = grep { $_->port != $port } @workers;
my $before = $node->safe_psql('postgres', q{SELECT lb_score(7, 'cup:3')});
$node->safe_psql('postgres', sprintf(q{SELECT citus_move_shard_placement(%d, '127.0.0.1', %d, '127.0.0.1', %d, 'block_writes')}, $shard, $port, $to->port));
is($_->safe_psql('postgres', q{SELECT board, applied FROM lb_submit(7, 10, boards => '{cup:3}')}), 'cup:3|t', 'after a move, by ' . $_->name) for @nodes;
is($node->safe_psql('postgres', q{SELECT lb_score(7, 'cup:3')}), ($before || 0) + 30, 'each counts once');
mended('moved');

# What the functions for other servers refuse
$node->safe_psql('postgres', 'CREATE ROLE guest LOGIN');
fails_with($_, 'postgres', q{SET ROLE guest; SELECT leaderboard_internal.lb_record_settings('global', '{}')}, '42501', qr/permission denied/, 'a role without rights') for $workers[0];
fails_with($workers[0], 'postgres', q{SET ROLE guest; SELECT leaderboard_internal.lb_record_closed('global', '{cup:3}', false)}, '42501', qr/must be owner/, 'a role that owns nothing');
fails_with($workers[0], 'postgres', q{SELECT leaderboard_internal.lb_record_settings('other', '{}')}, '55000', qr/leaderboard "other" has no board/, 'no leaderboard');
fails_with($workers[0], 'postgres', q{SELECT leaderboard_internal.lb_record_settings('global', '{"windows": [{"name": "yearly", "period": "daily", "time_zone": "Nowhere", "first_day": 1, "keep": "1 day", "is_open": true}], "limits": []}')}, '22023', qr/time zone "Nowhere" not recognized/, 'no time zone');
fails_with($workers[0], 'postgres', q{SELECT leaderboard_internal.lb_record_settings('global', '{"windows": [{"name": "cup", "period": "daily", "time_zone": "UTC", "first_day": 9, "keep": "1 day", "is_open": true}], "limits": []}')}, '23514', qr/first_day/, 'no day');
fails_with($node, 'postgres', q{SELECT leaderboard_internal.lb_record_closed('global', '{}', true)}, '55000', qr/for other servers than the coordinator/, 'on the coordinator');
fails_with($node, 'postgres', q{SELECT leaderboard_internal.lb_record_settings('global', '{}')}, '55000', qr/for other servers than the coordinator/, 'settings on the coordinator');
fails_with($workers[0], 'postgres', q{SELECT leaderboard_internal.lb_record_closed('global', '{nothing:1}', false)}, '42704', qr/window "nothing:1" does not exist/, 'no window');
fails_with($workers[0], 'postgres', q{SELECT leaderboard_internal.lb_record_closed('global', array_fill('cup:3'::text, '{101}'), false)}, '54000', qr/too many/, 'too many windows');
fails_with($node, 'plain', q{SELECT leaderboard_internal.lb_record_settings('global', '{}')}, '42809', qr/is not distributed/, 'a table that is not distributed');
mended('refused');
same($windows =~ s/FROM lb_window w/FROM lb_window w WHERE name !~ 'cup|rush'/r, 'windows at the end on ' . $_->name, $_) for @nodes;
citus_stop(@nodes);
done_testing();
