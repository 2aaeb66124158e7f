# Snapshots that others have exported, among them one that a replication slot
# makes from the log: an import reads ranks as the query does in it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('exported', "wal_level = logical\nmax_replication_slots = 10\nmax_wal_senders = 10");
$node->start;
fill($node, 'postgres', 600);
ready($node, 'postgres', 'made');

sub session
{
	my ($params) = @_;

	return open_session($node, 'postgres', %{ $params // {} });
}

# Ranks, counts and lists in a session's snapshot, and what SQL says.
my $wrong = q{
SELECT count(*) FILTER (WHERE r IS DISTINCT FROM lb_rank(player_id) OR score <> lb_score(player_id)),
	count(*) = lb_count() FROM
	(SELECT player_id, score, row_number() OVER (ORDER BY score DESC, updated_at, player_id) AS r FROM player_scores) s;
SELECT count(*) FILTER (WHERE r IS DISTINCT FROM lb_rank(player_id, window_key)),
	sum(DISTINCT (SELECT lb_count(window_key))) >= 0 FROM
	(SELECT player_id, window_key, row_number() OVER (PARTITION BY window_key ORDER BY score DESC, updated_at, player_id) AS r
		FROM player_score_windows) s;
SELECT (SELECT array_agg(member ORDER BY rank) FROM lb_top(50)) =
	(SELECT array_agg(player_id) FROM (SELECT player_id FROM player_scores ORDER BY score DESC, updated_at, player_id LIMIT 50) s);
SELECT count(lb_rank(member)) FROM generate_series(1001, 1010) member};
my $reads = q{SELECT coalesce(sum(index_reads), 0), coalesce(sum(query_reads), 0) FROM lb_stat_board};

# The last is the number of players that the test has added.
sub look
{
	my ($session, $added, $what, $by) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($index, $query) = split /\|/, $session->query($reads);

	is($session->query($wrong), "0|t\n0|t\nt\n$added", "$what: ranks are right");
	my ($index_now, $query_now) = split /\|/, $session->query($reads);
	return if !defined $by;
	return is(($index_now > $index ? 'index' : '') . ($query_now > $query ? 'query' : ''), $by, "$what: by $by");
}

sub import
{
	my ($name) = @_;
	my $session = session();

	$session->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$name'");
	return $session;
}

my $write = q{
	UPDATE player_scores SET score = score + 100 WHERE player_id % 7 = 3;
	DELETE FROM player_scores WHERE player_id % 50 = 9;
	INSERT INTO player_scores SELECT max(player_id) + 1, 77 FROM player_scores;
	UPDATE player_score_windows SET window_key = 'weekly:' || player_id % 3, score = score + 1 WHERE player_id % 20 = 1};
my $n = 0;

# Creating a slot waits for this session's transaction.
sub waits_for
{
	my ($session, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $xid = $session->query('SELECT pg_current_xact_id()');

	return ok( $node->poll_query_until('postgres', qq{
			SELECT count(*) = 1 FROM pg_locks JOIN pg_stat_activity USING (pid)
			WHERE transactionid::text = '$xid' AND NOT granted AND backend_type = 'walsender'}),
		$what);
}

# The snapshot of a slot: without other sessions, beside transactions for which the
# slot waits, and beside one for which it does not wait and which goes on.
for my $case ('alone', 'beside others', 'beside subtransactions')
{
	my $slot = session({ replication => 'database' });
	my $name = 'slot' . $n++;
	my $create = "CREATE_REPLICATION_SLOT $name LOGICAL pgoutput (SNAPSHOT 'export')";
	my @others = map { session() } 1 .. 3;
	my $answer;
	my $snapshot;

	$node->safe_psql('postgres', "BEGIN; $write; COMMIT; BEGIN; $write; ROLLBACK");
	if ($case eq 'alone')
	{
		$answer = $slot->query($create);
	}
	else
	{
		my $sub = $case eq 'beside subtransactions';

		$others[0]->query(q{BEGIN; UPDATE player_scores SET score = score + 7 WHERE player_id = 11});
		$slot->query_until(qr/now/, "\\echo now\n$create;\n");
		waits_for($others[0], "$case: the slot waits for the first");
		$others[1]->query(q{BEGIN; UPDATE player_scores SET score = score + 9 WHERE player_id = 12});
		$others[1]->query(q{SAVEPOINT s; UPDATE player_scores SET score = score + 9 WHERE player_id = 13}) if $sub;
		$others[0]->query('COMMIT');
		waits_for($others[1], "$case: the slot waits for the second");
		$others[2]->query(q{BEGIN; SAVEPOINT s; UPDATE player_scores SET score = score + 9 WHERE player_id = 15; RELEASE s});
		$others[2]->query(q{INSERT INTO player_scores VALUES (-7, 50)});
		$node->safe_psql('postgres', $sub ?
			"BEGIN; SAVEPOINT s; $write; ROLLBACK TO s; $write; COMMIT; BEGIN; SAVEPOINT s; $write; ROLLBACK" : "BEGIN; $write; COMMIT");
		$others[1]->query($sub ? 'ROLLBACK TO s; COMMIT' : 'COMMIT');
		# Another command to the server would end the export.
		$answer = $slot->query_until(qr/made/, "\\echo made\n");
	}
	($snapshot) = $answer =~ /\|([0-9A-F]+-[0-9A-F]+-[0-9]+)\|/;
	ok(defined $snapshot, "$case: a snapshot is exported") or diag($answer);

	my $first = import($snapshot);
	my ($there) = $first->query('SELECT count(*) FROM player_scores WHERE player_id BETWEEN 1001 AND 1010');
	look($first, $there, "$case: at once", 'index');
	if ($case ne 'alone')
	{
		is($first->query('SELECT lb_rank(-7) IS NULL'), 't', "$case: the one that runs on is not seen");
		$others[2]->query('COMMIT');
		look($first, $there, "$case: after its commit", 'index');
	}

	# Committed, settled, rolled back and prepared after it
	$node->safe_psql('postgres', "BEGIN; $write; COMMIT; BEGIN; $write; ROLLBACK; BEGIN; $write; PREPARE TRANSACTION 'p'");
	look($first, $there, "$case: after changes", 'index');
	my $second = import($snapshot);
	look($second, $there, "$case: imported after changes", 'index');
	$node->safe_psql('postgres', "COMMIT PREPARED 'p'");
	look($first, $there, "$case: after one that was prepared", 'index');
	look($second, $there, "$case: for the second, too", 'index');

	# Own changes on top: of rows that no other session has changed
	$second->query(q{UPDATE player_scores SET score = 12345 WHERE player_id = 5; INSERT INTO player_scores VALUES (-5, 1), (-6, 99999)});
	look($second, $there, "$case: with own changes", 'index');
	$second->query('ROLLBACK');

	# More than the history has to keep, a build, a large one: the query may run
	$node->safe_psql('postgres', q{UPDATE player_scores SET score = score + 1});
	look($first, $there, "$case: after many changes", 'index');
	$node->safe_psql('postgres', q{BEGIN; INSERT INTO player_scores SELECT g, -g FROM generate_series(2001, 7000) g; COMMIT;
		DELETE FROM player_scores WHERE player_id > 2000});
	look($first, $there, "$case: after a large transaction");
	$node->safe_psql('postgres', 'SELECT lb_rebuild()');
	look($first, $there, "$case: after a build");
	$first->query('COMMIT');
	look($first, $node->safe_psql('postgres', 'SELECT count(*) FROM player_scores WHERE player_id BETWEEN 1001 AND 1010'),
		"$case: a snapshot of its own");
	$_->quit for ($first, $second, $slot, @others);
	$node->safe_psql('postgres', "DELETE FROM player_scores WHERE player_id = -7; SELECT pg_drop_replication_slot('$name')");
	ready($node, 'postgres', $case);
}

# pg_export_snapshot(), of a transaction that has written
my $exporter = session();
$exporter->query(q{BEGIN ISOLATION LEVEL REPEATABLE READ; UPDATE player_scores SET score = score + 5 WHERE player_id < 20});
my $snapshot = $exporter->query('SELECT pg_export_snapshot()');
my $importer = import($snapshot);
my $there = $importer->query('SELECT count(*) FROM player_scores WHERE player_id BETWEEN 1001 AND 1010');
look($importer, $there, 'exported by a writer', 'index');
look($exporter, $there, 'the writer itself', 'index');
$exporter->query('COMMIT');
$node->safe_psql('postgres', "BEGIN; $write; COMMIT");
look($importer, $there, 'after its commit', 'index');
$importer->query('COMMIT');
ready($node, 'postgres', 'at the end');
$_->quit for ($exporter, $importer);

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log');
done_testing();
