# examples/beside/tables.sql: the default tables without the library are those of
# lb_create_tables(), their triggers set updated_at, and what README.md has instead of
# the extension's functions gives the ranks that it says.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use LbBeside;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $folder = "$FindBin::RealBin/../../examples/beside";
my ($main, $small) = beside_nodes();
my $tables = slurp_file("$folder/tables.sql");

# Twice, without harm.
as_app($main, $tables);
as_app($main, $tables);

# What the extension makes, on another database.
$small->safe_psql('postgres', 'CREATE DATABASE made');
$small->safe_psql('made', 'CREATE EXTENSION leaderboard; SELECT lb_create_tables()');
my $columns = q{SELECT relname, attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid), reloptions
	FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid LEFT JOIN pg_attrdef d ON adrelid = c.oid AND adnum = attnum
	WHERE relname IN ('player_scores', 'player_score_windows') AND attnum > 0 ORDER BY relname, attnum};
is(as_app($main, $columns), $small->safe_psql('made', $columns), 'the columns are those of lb_create_tables()');
my $keys = q{SELECT indrelid::regclass, pg_get_indexdef(indexrelid) FROM pg_index
	WHERE indisprimary AND indrelid::regclass::text IN ('player_scores', 'player_score_windows') ORDER BY 1};
is(as_app($main, $keys), $small->safe_psql('made', $keys), 'and the keys');

# The trigger, beside the library's.
for my $statement (
	'UPDATE player_scores SET score = 5', 'UPDATE player_scores SET score = score', 'UPDATE player_scores SET ranked = false',
	q{UPDATE player_scores SET score = 6, updated_at = '2020-01-01'}, q{UPDATE player_scores SET updated_at = '2021-01-01'},
	'INSERT INTO player_scores (player_id, score) VALUES (1, 9) ON CONFLICT (player_id) DO UPDATE SET score = excluded.score')
{
	my $look = "TRUNCATE player_scores; INSERT INTO player_scores VALUES (1, 1, '2000-01-01'); BEGIN; $statement;"
	  . q{ SELECT player_id, score, CASE updated_at WHEN now() THEN 'now' ELSE updated_at::date::text END, ranked FROM player_scores; COMMIT};

	is(as_app($main, $look), $small->safe_psql('made', $look), $statement);
}
as_app($main, 'TRUNCATE player_scores');

# The boards and the statements of README.md.
my ($section) = slurp_file("$folder/README.md") =~ /^## Without the library\n(.*?)^## /ms;
my ($boards) = $section =~ /^```\n(.*?)^```/ms;
my ($statements) = $section =~ /^```sql\n(.*?)^```/ms;
as_app($main, q{INSERT INTO player_scores (player_id, score) SELECT g, g % 500 FROM generate_series(1, 3000) g WHERE g <> 4711;
	INSERT INTO player_score_windows (player_id, window_key, score) SELECT g, 'weekly:202647', g % 77 FROM generate_series(1, 3000) g});
my ($rc, $out, $err) = beside(config($main, $small, 'tables', $boards));
is($rc, 0, 'boards of the default tables') or diag($err);

sub caught_up
{
	my $lsn = $main->safe_psql('game', 'SELECT pg_current_wal_lsn()');

	return $main->poll_query_until('game', "SELECT coalesce(max(replay_lsn) >= '$lsn', false) FROM pg_stat_replication WHERE application_name = 'beside'");
}
caught_up();
as_app($main, $statements);
caught_up();
is( as_app($main, 'SELECT score, rank, total FROM ranked_global WHERE player_id = 4711'),
	as_app($main, q{SELECT score, rank, total FROM (SELECT player_id, score, row_number() OVER (ORDER BY score DESC, updated_at, player_id) AS rank,
		count(*) OVER () AS total FROM player_scores WHERE ranked) s WHERE player_id = 4711}),
	'the rank after the statements');
is(as_app($main, 'SELECT count(*) FROM ranked_global WHERE player_id = 7'), '0', '... and who is hidden has none');
is(as_app($main, 'SELECT count(*), min(place), max(place), max(score) FROM archive'), '100|1|100|76', 'a window is archived');
is(as_app($main, q{SELECT count(*) FROM ranked_windows WHERE window_key = 'weekly:202647'}), '0', '... and gone');
is( as_app($main, 'SELECT split_part(window_key, \':\', 1), score, rank FROM ranked_windows WHERE player_id = 4711 ORDER BY 1'),
	"daily|120|1\nweekly|120|1", 'the windows of now');
as_app($main, $statements =~ s/.*(?=^-- a match)//msr =~ s/^-- a season.*//msr);
is(as_app($main, 'SELECT count(*) FROM applied'), '1', 'a match that is reported twice');
is( $small->safe_psql('game', q{SELECT count(*) FROM leaderboard.lb_stat_board WHERE board LIKE 'weekly:%' OR board LIKE 'daily:%'}) >= 2, 1, 'the windows are boards by their names');
is($small->safe_psql('game', 'SELECT * FROM leaderboard.lb_verify()'), '', 'index and table are equal');

# Whole rows, as a version without column lists sends them.  A column that the small server
# does not have stops the subscription, until it is there.
my $whole = config($main, $small, 'whole', "columns = all\n$boards");
($rc, $out, $err) = beside($whole, '--undo');
is($rc, 0, 'removed') or diag($err);
($rc, $out, $err) = beside($whole);
is($rc, 0, 'made with whole rows') or diag($err);
as_app($main, q{ALTER TABLE player_scores ADD COLUMN note text; UPDATE player_scores SET score = 99999, note = 'x' WHERE player_id = 8});
ok($small->poll_query_until('game', 'SELECT sum(apply_error_count) > 0 FROM pg_stat_subscription_stats'), 'another column: the subscription stops');
$small->safe_psql('game', 'ALTER TABLE player_scores ADD COLUMN note text');
caught_up();
is(as_app($main, 'SELECT rank FROM ranked_global WHERE player_id = 8'), '1', '... and goes on when it is there');
is($small->safe_psql('game', 'SELECT note FROM player_scores WHERE player_id = 8'), 'x', '... with what it missed');
$_->stop for ($small, $main);
done_testing();
