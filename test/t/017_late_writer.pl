# Another module's transaction callback writes to a board's table after ours has
# published: before the commit, and before a transaction is prepared.  The board
# goes offline with it and is built again; no read is wrong meanwhile.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

# The module runs the file late.sql, once, before the transaction's end.
my $dir = PostgreSQL::Test::Utils::tempdir();
PostgreSQL::Test::Utils::append_to_file("$dir/late.c", <<'END');
#include "postgres.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

PG_MODULE_MAGIC;
void		_PG_init(void);

static char *late_sql = NULL;
static bool at_work = false;

static void
late(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT ||
		event == XACT_EVENT_PREPARE)
		at_work = false;
	if ((event != XACT_EVENT_PRE_COMMIT && event != XACT_EVENT_PRE_PREPARE) ||
		at_work || late_sql == NULL || late_sql[0] == '\0')
		return;
	at_work = true;
	SPI_connect();
	PushActiveSnapshot(GetTransactionSnapshot());
	SPI_execute(late_sql, false, 0);
	PopActiveSnapshot();
	SPI_finish();
}

void
_PG_init(void)
{
	DefineCustomStringVariable("late.sql", "Runs before the end.", NULL,
							   &late_sql, "", PGC_USERSET, 0, NULL, NULL, NULL);
	RegisterXactCallback(late, NULL);
}
END
build_module($dir, 'late');

# Callbacks run in the opposite order of the modules.
for my $order ('before', 'after')
{
	my $node = lb_node("late_$order");
	my $late = $order eq 'after';	# it writes after we have published

	$node->append_conf('postgresql.conf', "shared_preload_libraries = '"
		  . ($late ? "$dir/late, leaderboard" : "leaderboard, $dir/late") . "'");
	$node->start;
	fill($node, 'postgres', 600);
	ready($node, 'postgres', "$order: made");

	# Writes of its own, and in the callback
	my %cases = (
		'nothing else' => ['SELECT 1', 'UPDATE player_scores SET score = score + 1000 WHERE player_id = 3'],
		'another row' => ['UPDATE player_scores SET score = score + 3 WHERE player_id < 9', 'UPDATE player_scores SET score = score + 1000 WHERE player_id = 30'],
		'the same row' => ['UPDATE player_scores SET score = score + 3 WHERE player_id < 9', 'UPDATE player_scores SET score = score + 1000 WHERE player_id = 3'],
		'the other table' => ['UPDATE player_scores SET score = score + 3 WHERE player_id < 9', q{INSERT INTO player_score_windows VALUES (1, 'late:1', 5)}],
		'a read' => ['UPDATE player_scores SET score = score + 3 WHERE player_id < 9', 'DO $$ BEGIN IF lb_score(3) <> (SELECT score FROM player_scores WHERE player_id = 3) THEN RAISE EXCEPTION \'wrong\'; END IF; END $$'],
		'a write and a read' => ['DELETE FROM player_scores WHERE player_id = 4', 'DO $$ BEGIN INSERT INTO player_scores VALUES (4, 999999); IF lb_rank(4) IS DISTINCT FROM 1 OR lb_count() <> (SELECT count(*) FROM player_scores) THEN RAISE EXCEPTION \'wrong\'; END IF; END $$'],
		'TRUNCATE' => ['UPDATE player_scores SET score = score + 3 WHERE player_id < 9', 'TRUNCATE player_scores'],
		'an error' => ['UPDATE player_scores SET score = score + 3 WHERE player_id < 9', 'DO $$ BEGIN UPDATE player_scores SET score = 0 WHERE player_id < 20; PERFORM 1 / 0; END $$']);

	for my $case (sort keys %cases)
	{
		for my $end ('COMMIT', 'COMMIT PREPARED', 'ROLLBACK PREPARED')
		{
			my ($own, $sql) = @{ $cases{$case} };
			my $what = "$order: $case, $end";
			my $old = open_session($node, 'postgres');
			my $look = 'SELECT lb_count(), sum(lb_rank(player_id) * player_id), count(*), sum(r * player_id) FROM'
			  . ' (SELECT player_id, row_number() OVER (ORDER BY score DESC, updated_at, player_id) AS r FROM player_scores) s';
			my $truncates = $case eq 'TRUNCATE';

			$old->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
			my $before = $truncates ? '' : $old->query($look);
			my $quoted = $sql =~ s/'/''/gr;
			my ($rc, $out, $err) = $node->psql('postgres',
				"BEGIN; SET LOCAL late.sql = '$quoted'; $own; "
				  . ($end eq 'COMMIT' ? 'COMMIT' : "PREPARE TRANSACTION 'late'"), on_error_stop => 1);

			if ($case eq 'an error')
			{
				like($err, qr/division by zero/, "$what: fails");
			}
			else
			{
				is($err, '', "$what: does not fail");
			}
			# A prepared TRUNCATE keeps every other session out.
			if ($end ne 'COMMIT' && $case ne 'an error')
			{
				right($node, 'postgres', "$what: prepared") if !$truncates;
				$node->safe_psql('postgres', "$end 'late'");
			}
			right($node, 'postgres', $what);
			if (!$truncates)
			{
				is($old->query($look), $before, "$what: for a snapshot from before");
				my @values = split /\|/, $before;
				is("$values[0]|$values[1]", "$values[2]|$values[3]", "$what: which is what the query says");
			}
			$old->query('COMMIT');
			$old->quit;
			$node->safe_psql('postgres', 'UPDATE player_scores SET score = score + 5 WHERE player_id % 7 = 3');
			right($node, 'postgres', "$what: others write");
			ok( $node->poll_query_until('postgres', q{SELECT bool_and(state = 'ready') FROM lb_stat_board}),
				"$what: boards are ready, or again");
			ready($node, 'postgres', $what);
			is( $node->safe_psql('postgres', q{
					SELECT lb_stat_reset();
					SELECT count(lb_rank(player_id)) >= 0 FROM player_scores;
					SELECT sum(query_reads) FROM lb_stat_board}),
				"\nt\n0", "$what: reads by index");
			$node->safe_psql('postgres', q{
				DELETE FROM player_score_windows WHERE window_key = 'late:1';
				INSERT INTO player_scores SELECT g, g FROM generate_series(1, 600) g ON CONFLICT DO NOTHING});
		}
	}
	# With the table locked from its commit on, there is no build that could hide
	# what has become of the board.
	my $writer = open_session($node, 'postgres');
	my $locker = open_session($node, 'postgres');
	$writer->query('BEGIN; SET LOCAL late.sql = \'UPDATE player_scores SET score = score + 1 WHERE player_id = 30\';'
		  . ' UPDATE player_scores SET score = score + 3 WHERE player_id < 9');
	$locker->query_until(qr/now/, "\\echo now\nBEGIN; LOCK TABLE player_scores IN ACCESS EXCLUSIVE MODE;\n");
	ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted}),
		"$order: the table is about to be locked");
	$writer->query('COMMIT');
	is( $locker->query(q{SELECT state = 'ready' FROM lb_stat_board WHERE board = 'global'}),
		$late ? 'f' : 't', "$order: whether everything was published");
	$locker->query('ROLLBACK');
	$_->quit for ($writer, $locker);
	ok($node->poll_query_until('postgres', q{SELECT bool_and(state = 'ready') FROM lb_stat_board}), "$order: it is ready again");
	ready($node, 'postgres', "$order: at the end");

	$node->stop;
	unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, "$order: nothing bad in the log");
}
done_testing();
