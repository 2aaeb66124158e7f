# Every function that writes or administers, called on a worker and on the coordinator of
# distributed tables: it works there, or says by its error code that it does not, and then
# nothing has been written.  The catalog has the list of functions.

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

sub mended
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	$node->safe_psql('postgres', 'SELECT lb_maintain()');
	ok($node->poll_query_until('postgres', 'SELECT lb_wait_ready()'), "$what: ready");
	return is($node->safe_psql('postgres', 'SELECT * FROM lb_verify_key()'), '', "$what: lb_verify_key()");
}

$node->safe_psql('postgres', $_) for 'SELECT lb_create_tables(distributed => true, shard_count => 4)', q{SELECT lb_create_leaderboard('kills', distributed => true, shard_count => 4)},
	q{CREATE FUNCTION prize(text, jsonb) RETURNS void LANGUAGE sql AS ''};
mended('tables');
$node->safe_psql('postgres', $_) for q{SELECT lb_open_window('cup:1', starts => '2026-01-01', ends => '2100-01-01')}, 'SELECT lb_submit(1, 5)';

# The function, its arguments, and what the worker and then the coordinator answer: "ok", or
# an error code.  0A000: it does not work on distributed tables; 55000: not on this server.
# 40001 and 42704 are answers of functions that work, to what they are called with.
my $record = q{'global', 'player_scores', 'player_id', 'score DESC, updated_at ASC', NULL, 'row_number', 'ranked'};
my @calls = (
	[ 'lb_create_tables', 'distributed => true', '55000', 'ok' ],
	[ 'lb_create_leaderboard', q{'laps', distributed => true, shard_count => 4}, '55000', 'ok' ],
	[ 'lb_maintain', '', 'ok', 'ok' ],
	[ 'lb_drop_leaderboard', q{'laps'}, '55000', 'ok' ],
	[ 'lb_create_board', q{'other', 'player_scores'}, '55000', 'ok' ],
	[ 'lb_rebuild', q{'global'}, '55000', 'ok' ],
	[ 'lb_set_offline', q{'global', NULL}, '55000', 'ok' ],
	[ 'lb_drop_board', q{'other'}, '55000', 'ok' ],
	[ 'lb_wait_ready', '', 'ok', 'ok' ],
	[ 'lb_verify', '', 'ok', 'ok' ],
	[ 'lb_verify_key', '', 'ok', 'ok' ],
	[ 'lb_stat_reset', '', 'ok', 'ok' ],
	[ 'lb_stat', q{'global'}, 'ok', 'ok' ],
	[ 'lb_stat_rows', '', 'ok', 'ok' ],
	[ 'lb_stat_memory_usage', '', 'ok', 'ok' ],
	[ 'lb_stat_ledger_row', '', 'ok', 'ok' ],
	[ 'lb_stat_feed_row', '', 'ok', 'ok' ],
	# They follow no server.
	[ 'lb_lag', '', 'ok', 'ok' ],
	[ 'lb_wait_for', q{'0/1'}, '55000', '55000' ],
	[ 'lb_stat_shards', q{'global'}, 'ok', 'ok' ],
	[ 'lb_explain', q{'SELECT max(score) FROM player_scores'}, 'ok', 'ok' ],
	[ 'lb_open_window', q{'monthly'}, '55000', 'ok' ],
	[ 'lb_close_window', q{'monthly'}, '55000', 'ok' ],
	[ 'lb_set_reward', q{'cup:1', 'prize(text, jsonb)'}, '55000', 'ok' ],
	[ 'lb_set_limit', q{'l', 'global', max_amount => 1000}, '55000', 'ok' ],
	[ 'lb_drop_limit', q{'l'}, '55000', 'ok' ],
	# Tournaments
	[ 'lb_set_entry', q{'cup:1', max_entrants => 1}, '0A000', '0A000' ],
	[ 'lb_drop_entry', q{'cup:1'}, '42704', '42704' ],
	[ 'lb_join', q{1, 'cup:1'}, '0A000', '0A000' ],
	[ 'lb_join_key', q{'1', 'cup:1'}, '0A000', '0A000' ],
	[ 'lb_leave', q{1, 'cup:1'}, '0A000', '0A000' ],
	[ 'lb_leave_key', q{'1', 'cup:1'}, '0A000', '0A000' ],
	# Submits, on any server
	[ 'lb_submit', '1, 1', 'ok', 'ok' ],
	[ 'lb_submit_key', q{'1', 1}, 'ok', 'ok' ],
	[ 'lb_submit_many', q{'{1, 2}', '{1, 1}'}, 'ok', 'ok' ],
	[ 'lb_submit_many_key', q{'{1, 2}', '{1, 1}'}, 'ok', 'ok' ],
	[ 'lb_submit_each', q{'{1, 2}', '{1, 1}'}, 'ok', 'ok' ],
	[ 'lb_submit_each_key', q{'{1, 2}', '{1, 1}'}, 'ok', 'ok' ],
	[ 'lb_submit_json', q{'{"player_id": 1, "amount": 1}'}, 'ok', 'ok' ],
	[ 'lb_submit_match', q{1, '{"global": 1, "kills": 1}'}, 'ok', 'ok' ],
	[ 'lb_submit_match_key', q{'1', '{"global": 1, "kills": 1}'}, 'ok', 'ok' ],
	# Who is hidden is recorded on the coordinator.
	[ 'lb_hide', '1', '55000', 'ok' ],
	[ 'lb_show', '1', '55000', 'ok' ],
	[ 'lb_hide_key', q{'1'}, '55000', 'ok' ],
	[ 'lb_show_key', q{'1'}, '55000', 'ok' ],
	# Each server notifies for itself.
	[ 'lb_watch', q{'global', 3}, 'ok', 'ok' ],
	[ 'lb_watch_member', q{1, 'global'}, 'ok', 'ok' ],
	[ 'lb_watch_member_key', q{'1', 'global'}, 'ok', 'ok' ],
	[ 'lb_notify', '', 'ok', 'ok' ],
	[ 'lb_unwatch', q{'global'}, 'ok', 'ok' ],
	[ 'lb_unwatch_member', q{1, 'global'}, 'ok', 'ok' ],
	[ 'lb_unwatch_member_key', q{'1', 'global'}, 'ok', 'ok' ],
	[ 'lb_close_season', q{'global', 'first'}, '55000', 'ok' ],
	[ 'lb_forget_player', '2', '55000', 'ok' ],
	[ 'lb_forget_player_key', q{'2'}, '55000', 'ok' ],
	# What servers call on each other: there is no shard 0.
	[ 'lb_shard_submit', q{'1', 0, 'global', 1, 'incr', NULL, 0, NULL, NULL}, '40001', '40001' ],
	[ 'lb_shard_submit_many', q{'{1}', 0, 'global', '{1}', 'incr', '{NULL}', 0, false, '{1}'}, '40001', '40001' ],
	[ 'lb_shard_set_ranked', q{'1', 0, 'global', true, true}, '40001', '40001' ],
	[ 'lb_shard_forget', q{'1', 0, '{global}'}, '40001', '40001' ],
	[ 'lb_shard_windows', q{'*'}, 'ok', 'ok' ],
	[ 'lb_record_board', "$record, 'members', NULL", 'ok', '55000' ],
	[ 'lb_record_settings', q{'kills', '{"op": "incr", "windows": [], "limits": []}'}, 'ok', '55000' ],
	[ 'lb_record_closed', q{'kills', '{}', true}, 'ok', '55000' ],
	[ 'lb_unrecord_board', q{'kills'}, 'ok', '55000' ]);
my %known = map { $_->[0] => 1 } @calls;
my @functions = split(/\n/, $node->safe_psql('postgres', q{
	SELECT DISTINCT p.proname FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
	JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	WHERE e.extname = 'leaderboard' AND p.provolatile = 'v' AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype) ORDER BY 1}));

is(join(' ', grep { !$known{$_} } @functions), '', 'each function of the catalog that can write is called here');
is(join(' ', sort keys %known), join(' ', sort @functions), 'and each one here is in the catalog');

# What all nodes have recorded, and the rows
sub written
{
	my @tables = ('lb_board', 'lb_window', 'lb_entry', 'lb_entrant', 'lb_entry_count', 'lb_reward', 'lb_limit', 'lb_leaderboard', 'lb_closed', 'lb_archive', 'lb_watched', 'lb_hidden');
	my $own = join(' UNION ALL ', map { "SELECT '$_' || t::text FROM $_ t" } @tables);
	my $rows = join(' UNION ALL ', map { "SELECT '$_' || t::text FROM $_ t" } 'player_scores', 'player_score_windows', 'kills_scores', 'kills_score_windows', 'player_scores_hidden', 'kills_scores_hidden');

	return join("\n", map({ $_->safe_psql('postgres', "SELECT string_agg(r, chr(10) ORDER BY r) FROM ($own) AS s (r)") } @nodes),
		$node->safe_psql('postgres', "SELECT string_agg(r, chr(10) ORDER BY r) FROM ($rows) AS s (r)"));
}

my $before = written();
for my $call (@calls)
{
	my ($function, $arguments, @expected) = @$call;

	for my $server ($workers[0], $node)
	{
		my $expected = shift @expected;
		my $what = "$function() on " . $server->name;
		my (undef, undef, $err) = $server->psql('postgres', "\\set VERBOSITY verbose\nSET search_path = public, leaderboard, leaderboard_internal;\nSELECT $function($arguments)", on_error_stop => 0);
		my ($code) = $err =~ /ERROR:  (\w{5}):/;

		is($code // 'ok', $expected, $what);
		like($err, qr/DETAIL:.*HINT:/s, "$what says why, and what to do") if $expected eq '0A000';
		my $now = written();
		is($now, $before, "$what writes nothing") if $expected ne 'ok';
		$before = $now;
	}
}
mended('called');
is($node->safe_psql('postgres', q{SELECT function FROM lb_reward WHERE name = 'cup:1'}), 'public.prize', 'lb_set_reward()');

# Rows of lb_entry that have come from elsewhere, such as a dump, cost no score.
$_->safe_psql('postgres', q{INSERT INTO lb_entry (name) VALUES ('daily')}) for @nodes;
is($_->safe_psql('postgres', q{SELECT count(*) FROM lb_submit(77, 10) WHERE board LIKE 'daily:%' AND score IS NOT NULL}), '1', 'the window has the score of ' . $_->name) for @nodes;
is($node->safe_psql('postgres', q{SELECT lb_score(77), lb_score(77, 'daily')}), '30|30', 'all scores');
is($_->safe_psql('postgres', q{SELECT lb_drop_entry('daily')}), '', 'lb_drop_entry() removes such a row of ' . $_->name) for @nodes;

# Of a leaderboard's two tables, Citus distributes both or none: where boards are made,
# where undistribute_table() has left one, and for a table of one's own.
# Meanwhile no node takes a submit, which would leave out the other table.
my $rows_now = join(' UNION ALL ', map { "SELECT '$_' || t::text FROM $_ t" } 'player_scores', 'player_score_windows', 'kills_scores', 'kills_score_windows');
my @submits = (
	'lb_submit(1, 1)', q{lb_submit_key('1', 1)}, q{lb_submit(1, 1, boards => '{global}')}, q{lb_submit(1, 1, boards => '{daily}')},
	q{lb_submit_many('{1, 2}', '{1, 1}')}, q{lb_submit_many_key('{1, 2}', '{1, 1}')}, q{lb_submit_each('{1, 2}', '{1, 1}')},
	q{lb_submit_each_key('{1, 2}', '{1, 1}')}, q{lb_submit_json('{"player_id": 1, "amount": 1}')}, q{lb_submit_match(1, '{"kills": 1, "global": 1}')},
	q{lb_submit_match_key('1', '{"kills": 1, "global": 1}')}, q{lb_join(1, 'cup:1')}, q{lb_join_key('1', 'cup:1')}, q{lb_leave(1, 'cup:1')}, q{lb_leave_key('1', 'cup:1')});

# $table is not distributed any more, of the two of a leaderboard.
sub takes_no_submits
{
	my ($table, $other, $leaderboard, $gone, @calls) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $rows = $node->safe_psql('postgres', "SELECT string_agg(r, chr(10) ORDER BY r) FROM ($rows_now) AS s (r)");

	for my $server (@nodes)
	{
		fails_with($server, 'postgres', "SELECT $_", '0A000',
			qr/scores cannot be submitted to leaderboard "$leaderboard"\nDETAIL:  Citus distributes table "$other", but not table "$table", whose board "\Q$gone\E" is gone\.\nHINT:/,
			"without $table: $_ on " . $server->name) for @calls;
	}
	return is($node->safe_psql('postgres', "SELECT string_agg(r, chr(10) ORDER BY r) FROM ($rows_now) AS s (r)"), $rows, "without $table: nothing is written");
}

my $mixed = qr/boards "[^"]+" and "[^"]+" cannot make a leaderboard\nDETAIL:  Citus distributes table "\w+", but not table "\w+"\.\nHINT:/;
for ([ 'player_scores', 'player_score_windows' ], [ 'player_score_windows', 'player_scores' ])
{
	my ($table, $other) = @$_;
	$node->safe_psql('postgres', "SET client_min_messages = warning; SELECT undistribute_table('$table')");
	fails_with($node, 'postgres', 'SELECT lb_create_tables()', '0A000', $mixed, "after undistribute_table('$table')");
	fails_with($node, 'postgres', $table eq 'player_scores' ? q{SELECT lb_create_board('global', 'player_scores')} : q{SELECT lb_create_board('*', 'player_score_windows', board_column => 'window_key')},
		'0A000', $mixed, "a board of $table");
	takes_no_submits($table, $other, 'global', $table eq 'player_scores' ? 'global' : '*', @submits);
	is($node->safe_psql('postgres', "SELECT count(*) FROM lb_board WHERE source = '$table'::regclass"), '0', 'no board of it');
	$node->safe_psql('postgres', "SET client_min_messages = warning; SELECT create_distributed_table('$table', 'player_id', colocate_with => '$other'); SELECT lb_create_tables()");
	mended("$table is distributed again");
	is($_->safe_psql('postgres', q{SELECT applied FROM lb_submit(1, 1) WHERE board = 'global'}), 't', 'submits to ' . $_->name) for @nodes;
}

# A board that was dropped, with its table distributed as before, is missed by no submit.
$node->safe_psql('postgres', q{SELECT lb_drop_board('*')});
is($_->safe_psql('postgres', q{SELECT board, applied FROM lb_submit(1, 1)}), 'global|t', 'submits without windows to ' . $_->name) for @nodes;
$node->safe_psql('postgres', 'SELECT lb_create_tables()');
mended('the board of windows again');
$node->safe_psql('postgres', q{CREATE TABLE mine (player_id bigint PRIMARY KEY, score bigint NOT NULL DEFAULT 0); SELECT lb_drop_board('global')});
fails_with($node, 'postgres', q{SELECT lb_create_board('global', 'mine')}, '0A000', $mixed, 'a local table of scores');
$node->safe_psql('postgres', q{SELECT lb_create_board('mine', 'mine'), lb_create_tables()});
mended('at the end');

# Both tables are undistributed, and the leaderboard is one of one server.
$node->safe_psql('postgres', "SET client_min_messages = warning; SELECT undistribute_table('player_scores'), undistribute_table('player_score_windows')");
$node->safe_psql('postgres', 'SELECT lb_create_tables(); SELECT lb_wait_ready()');
is($node->safe_psql('postgres', q{SELECT applied FROM lb_submit(1, 1) WHERE board = 'global'}), 't', 'submits to tables that are local again');
mended('local again');

# The same of other leaderboards, whose record goes with the table of scores.
$node->safe_psql('postgres', q{SELECT lb_create_leaderboard('laps', distributed => true, shard_count => 4)});
mended('another leaderboard');
for ([ 'kills', 'kills_score_windows', 'kills_scores', 'kills/' ], [ 'laps', 'laps_scores', 'laps_score_windows', 'laps' ])
{
	my ($leaderboard, $table, $other, $board) = @$_;

	$node->safe_psql('postgres', "SET client_min_messages = warning; SELECT undistribute_table('$table')");
	takes_no_submits($table, $other, $leaderboard, $board, "lb_submit(1, 1, leaderboard => '$leaderboard')", "lb_submit_many('{1, 2}', '{1, 1}', leaderboard => '$leaderboard')",
		qq{lb_submit_match(1, '{"$leaderboard": 1}')});
}
mended('without them');
citus_stop(@nodes);
done_testing();
