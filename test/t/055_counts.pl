# Boards that keep counts: builds by parallel workers and with little memory, and in a
# database that goes; crashes, prepared transactions, standbys, promotion, subscribers; and what
# lb_verify() says of counts that are wrong.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbStandby;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = lb_node('primary', <<'END', allows_streaming => 'logical');
wal_level = logical
autovacuum = off
max_worker_processes = 24
max_parallel_workers = 8
max_parallel_maintenance_workers = 2
min_parallel_table_scan_size = 0
log_temp_files = 0
leaderboard.feed_standbys = on
leaderboard.maintenance_interval = 0
END
$primary->start;

# Without a key; with one, in partitions; and a family.
$primary->safe_psql('postgres', q{
	CREATE EXTENSION leaderboard;
	CREATE TABLE seen (score integer, level smallint, kind integer);
	INSERT INTO seen SELECT g % 300000, g % 5, g % 3 FROM generate_series(1, 400000) g;
	CREATE TABLE parted (id bigint PRIMARY KEY, score double precision) PARTITION BY RANGE (id);
	CREATE TABLE parted_a PARTITION OF parted FOR VALUES FROM (0) TO (30000);
	CREATE TABLE parted_b (x integer, score double precision, id bigint PRIMARY KEY);
	ALTER TABLE parted_b DROP x;
	ALTER TABLE parted ATTACH PARTITION parted_b FOR VALUES FROM (30000) TO (60000);
	CREATE TABLE parted_c PARTITION OF parted DEFAULT;
	INSERT INTO parted SELECT g, g % 20000 / 8.0 FROM generate_series(1, 80000) g;
	SELECT lb_create_board('seen', 'seen', keeps => 'counts'),
		lb_create_board('levels', 'seen', rank_by => 'level DESC, score ASC', keeps => 'counts'),
		lb_create_board('kind', 'seen', board_column => 'kind', method => 'dense_rank', keeps => 'counts'),
		lb_create_board('parted', 'parted', 'id', keeps => 'counts');
	CREATE VIEW wrong AS
	SELECT what FROM (
		SELECT 'seen' AS what, ROW(lb_count('seen'), lb_rank_of_score(777, 'seen'), lb_rank_of_score(150000, 'seen', 'dense_rank'),
				lb_score_at_percentile(30, 'seen'), lb_count_between(1000, 200000, 'seen'))::text AS board,
			ROW(count(*), rank(777) WITHIN GROUP (ORDER BY score DESC), dense_rank(150000) WITHIN GROUP (ORDER BY score DESC),
				percentile_disc(0.3) WITHIN GROUP (ORDER BY score), count(*) FILTER (WHERE score BETWEEN 1000 AND 200000))::text AS query
		FROM seen
		UNION ALL SELECT 'levels', ROW(lb_count('levels'), lb_rank_of_score(3, 'levels'))::text,
			ROW(count(*), rank(3) WITHIN GROUP (ORDER BY level DESC))::text FROM seen
		UNION ALL SELECT 'kind', ROW(lb_count('kind:1'), lb_rank_of_score(777, 'kind:1'))::text,
			ROW(count(*), dense_rank(777) WITHIN GROUP (ORDER BY score DESC))::text FROM seen WHERE kind = 1
		UNION ALL SELECT 'parted', ROW(lb_count('parted'), lb_rank_of_score_key('99.5', 'parted'), lb_score_at_percentile_key(60, 'parted'))::text,
			ROW(count(*), rank(99.5) WITHIN GROUP (ORDER BY score DESC), percentile_disc(0.6) WITHIN GROUP (ORDER BY score)::text)::text FROM parted) s
	WHERE board IS DISTINCT FROM query});

# The boards are ready and equal to their tables, and the index answers.
sub counted
{
	my ($node, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	ok(boards_ready($node, 'postgres'), "$what: ready");
	my ($index, $queries) = reads($node, 'postgres');
	is($node->safe_psql('postgres', 'SELECT * FROM wrong'), '', "$what: answers");
	my ($index_after, $queries_after) = reads($node, 'postgres');

	cmp_ok($index_after, '>', $index, "$what: by the index");
	is($queries_after, $queries, "$what: by no query");
	return is($node->safe_psql('postgres', 'SELECT * FROM lb_verify() LIMIT 5'), '', "$what: lb_verify()");
}

sub settings
{
	my ($node, %to) = @_;

	$node->safe_psql('postgres', join '', map { "ALTER SYSTEM SET $_ = '$to{$_}';\n" } sort keys %to);
	$node->reload;
	return;
}

#
# Builds.  Each process counts keys within its part of maintenance_work_mem, and what
# does not fit is counted in parts: rows of a score are far apart here, so that the parts
# have the same keys.
#

my $shape = q{SELECT board, members, distinct_scores FROM lb_stat_board WHERE state = 'ready' ORDER BY board COLLATE "C"};
my $first;

wait_ready($primary, 'postgres');

for my $workers (0, 2)
{
	for my $memory ('1MB', '256MB')
	{
		settings($primary, max_parallel_maintenance_workers => $workers, maintenance_work_mem => $memory);
		my $log = -s $primary->logfile;

		$primary->safe_psql('postgres', 'SELECT lb_rebuild()');
		counted($primary, "$workers workers, $memory");
		# Each parallel worker has a file.
		is(slurp_file($primary->logfile, $log) =~ /temporary file: path .*counts\.\d/ ? 'files' : 'none',
			$workers > 0 ? 'files' : 'none', "$workers workers: files of counts");
		my $got = $primary->safe_psql('postgres', $shape);

		$first //= $got;
		is($got, $first, "$workers workers, $memory: the same boards");
	}
}
like($first, qr/^seen\|400000\|300000$/m, 'rows and scores');

# A database goes while its boards are built.  Memory that belongs to none of the others
# would be its own: its boards take much more than a few pages.
my $used = q{SELECT sum(CASE WHEN datname IS NULL THEN used ELSE -used END) FROM lb_stat_memory};
my $used_before = $primary->safe_psql('postgres', $used);

for my $force ('', ' WITH (FORCE)')
{
	retry_accessed($primary, 'CREATE DATABASE gone TEMPLATE postgres');
	$primary->psql('gone', q{SET statement_timeout = '1ms'; SELECT lb_rebuild()});
	retry_accessed($primary, "DROP DATABASE gone$force");
	ok($primary->poll_query_until('postgres', "SELECT ($used) < $used_before + 100000"), "DROP DATABASE$force during a parallel build");
}
counted($primary, 'the others');

#
# Crashes
#

$primary->safe_psql('postgres', q{
	UPDATE seen SET score = 150000 WHERE score BETWEEN 1000 AND 1500;
	BEGIN; UPDATE seen SET score = 12 WHERE score BETWEEN 2000 AND 2100; INSERT INTO parted VALUES (90001, 99.5); PREPARE TRANSACTION 'yes';
	BEGIN; DELETE FROM seen WHERE score BETWEEN 3000 AND 3100; UPDATE parted SET score = 1 WHERE id = 5; PREPARE TRANSACTION 'no'});
is($primary->safe_psql('postgres', 'SELECT * FROM wrong'), '', 'beside prepared transactions');
$primary->stop('immediate');
$primary->start;
is($primary->safe_psql('postgres', 'SELECT * FROM wrong'), '', 'after a crash, with prepared transactions');
$primary->safe_psql('postgres', $_) for q{COMMIT PREPARED 'yes'}, q{ROLLBACK PREPARED 'no'};
counted($primary, 'after they have ended');

#
# A standby hears of rows, not of each row.
#

my $standby = standby_of($primary, 'standby', 'hot_standby_feedback = on');
$standby->start;
caught_up($primary, $standby);
counted($standby, 'standby');

my $bytes = 'SELECT bytes FROM lb_stat_feed';
my $before = $primary->safe_psql('postgres', $bytes);

is($primary->safe_psql('postgres', 'WITH m AS (UPDATE parted SET score = 99.5 WHERE id <= 70000 AND score < 1 RETURNING 1) SELECT count(*) > 10 FROM m'),
	't', 'rows to one score');
$primary->safe_psql('postgres', q{UPDATE seen SET score = CASE WHEN score < 150000 THEN 5 ELSE 6 END WHERE level < 2});
$before = $primary->safe_psql('postgres', $bytes);
$primary->safe_psql('postgres', 'UPDATE seen SET score = 7 WHERE score IN (5, 6)');
cmp_ok($primary->safe_psql('postgres', 'SELECT count(*) FROM seen WHERE score = 7'), '>=', 100000, 'a hundred thousand rows to one score');
cmp_ok($primary->safe_psql('postgres', $bytes) - $before, '<', 2000, '... are a short message');
caught_up($primary, $standby);
counted($_, 'after these') for $primary, $standby;

# A savepoint, a prepared transaction, an older snapshot there, whose rows the primary
# keeps
ok($primary->poll_query_until('postgres', 'SELECT backend_xmin IS NOT NULL FROM pg_stat_replication'), 'the primary is told which rows are needed');
my $old = open_session($standby, 'postgres', on_error_stop => 1);
my $then = $old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT lb_count(\'seen\'), lb_rank_of_score(9, \'seen\'), lb_score_at_percentile(50, \'seen\')');

$primary->safe_psql('postgres', q{
	BEGIN; UPDATE seen SET score = 9 WHERE level = 3; SAVEPOINT s; DELETE FROM seen WHERE level = 4; ROLLBACK TO s; COMMIT;
	BEGIN; DELETE FROM seen WHERE score = 7 AND kind = 1; PREPARE TRANSACTION 'p'});
caught_up($primary, $standby);
is($standby->safe_psql('postgres', 'SELECT * FROM wrong'), '', 'standby, beside a prepared transaction');
$primary->safe_psql('postgres', q{COMMIT PREPARED 'p'});
caught_up($primary, $standby);
is($old->query_safe('SELECT lb_count(\'seen\'), lb_rank_of_score(9, \'seen\'), lb_score_at_percentile(50, \'seen\')'), $then, 'an older snapshot');
is($old->query_safe('SELECT * FROM wrong'), '', 'an older snapshot is right');
$old->quit;
counted($standby, 'standby, after that');

#
# A subscriber, whose table has no key
#

my $subscriber = lb_node('subscriber', "autovacuum = off\nmax_worker_processes = 16", allows_streaming => 'logical');
$subscriber->start;
$primary->safe_psql('postgres', q{CREATE TABLE sent (score integer, note text); ALTER TABLE sent REPLICA IDENTITY FULL;
	INSERT INTO sent SELECT g % 50, g FROM generate_series(1, 2000) g; CREATE PUBLICATION p FOR TABLE sent});
$subscriber->safe_psql('postgres', q{CREATE EXTENSION leaderboard; CREATE TABLE sent (score integer, note text);
	SELECT lb_create_board('sent', 'sent', keeps => 'counts')});
wait_ready($subscriber, 'postgres');
my $connstr = $primary->connstr . ' dbname=postgres';

$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$connstr' PUBLICATION p");
$subscriber->wait_for_subscription_sync($primary, 's');
for my $statement ('SELECT', 'UPDATE sent SET score = 7 WHERE score BETWEEN 5 AND 9', 'DELETE FROM sent WHERE note < \'15\'',
	'BEGIN; UPDATE sent SET score = score + 1; SAVEPOINT s; DELETE FROM sent; ROLLBACK TO s; COMMIT', 'TRUNCATE sent',
	'INSERT INTO sent SELECT g % 3, g FROM generate_series(1, 30) g')
{
	$primary->safe_psql('postgres', $statement);
	$primary->wait_for_catchup('s');
	# A build that has met the lock of a moment ago is tried again.
	wait_ready($subscriber, 'postgres');
	my ($score, $rows) = split /\|/, $primary->safe_psql('postgres', 'SELECT coalesce(sum(score), 0), count(*) FROM sent');

	is($subscriber->safe_psql('postgres', q{SELECT coalesce(sum(score), 0), count(*), lb_count('sent') = count(*),
			lb_rank_of_score(7, 'sent') = 1 + count(*) FILTER (WHERE score > 7) FROM sent}), "$score|$rows|t|t", "subscriber: $statement");
}
is($subscriber->safe_psql('postgres', q{SELECT index_reads > 0, query_reads FROM lb_stat_board WHERE board = 'sent'}), 't|0', 'subscriber: by the index');
is($subscriber->safe_psql('postgres', 'SELECT * FROM lb_verify()'), '', 'subscriber: lb_verify()');
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION s');
$subscriber->stop;

#
# Promotion keeps the index.
#

caught_up($primary, $standby);
$primary->safe_psql('postgres', q{UPDATE seen SET score = 11 WHERE score = 9 AND kind = 0});
caught_up($primary, $standby);
counted($standby, 'before promotion');
my $builds = builds($standby);

$primary->stop;
$standby->promote;
$standby->safe_psql('postgres', q{UPDATE seen SET score = 400000 WHERE score = 7 AND level = 1; DELETE FROM parted WHERE id % 11 = 0});
counted($standby, 'promoted');
is(builds($standby), $builds, 'promoted: nothing was built again');

#
# Counts that are wrong.  A catalog that is changed by hand keeps the trigger from firing,
# and the library from knowing that.
#

sub trigger
{
	my ($enabled) = @_;

	$standby->safe_psql('postgres', "UPDATE pg_trigger SET tgenabled = '$enabled' WHERE tgfoid = 'leaderboard_internal.lb_capture'::regproc");
	return;
}
my $rows = $standby->safe_psql('postgres', 'SELECT count(*) FROM parted WHERE score = 99.5');

trigger('D');
$standby->safe_psql('postgres', q{DELETE FROM parted WHERE score = 100.5 AND id < 1000; UPDATE parted SET score = -1 WHERE score = 99.5});
trigger('A');
is($standby->safe_psql('postgres', q{SELECT problem FROM lb_verify('parted') ORDER BY 1}) , join("\n",
	sort("the index has $rows rows of score 99.5, the table 0", "the index has 0 rows of score -1, the table $rows",
	split /\n/, $standby->safe_psql('postgres', q{SELECT format('the index has %s rows of score 100.5, the table %s', count(*) + 1, count(*)) FROM parted WHERE score = 100.5}))),
	'lb_verify() says of which score how many rows are wrong');
# A change of rows that the index does not have is noticed when it is applied, by a read.
$standby->safe_psql('postgres', q{UPDATE parted SET score = -2 WHERE score = -1});
is($standby->safe_psql('postgres', q{SELECT lb_count('parted') = count(*) FROM parted}), 't', 'a read that applies it');
ok($standby->wait_for_log(qr/the index did not hold what a change was to replace/), 'a change that does not fit is noticed');
counted($standby, 'and the board is built again');

done_testing();
