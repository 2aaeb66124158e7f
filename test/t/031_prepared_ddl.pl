# Prepared transactions that create, drop or alter boards and their tables: at
# once, beside others, with a crash before they end, and on a standby that is
# promoted before.  Boards follow when they have ended, no answer is wrong, and
# nothing is left of what was rolled back.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use LbRanks qw(wrong_ranks memory_used wait_used);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('ddl', undef, allows_streaming => 1);
$node->start;
fill($node, 'postgres', 300);
ready($node, 'postgres', 'made');

sub make
{
	$node->safe_psql('postgres', q{
		SET client_min_messages = error;
		DROP SCHEMA IF EXISTS s, s2 CASCADE;
		CREATE SCHEMA s;
		CREATE TABLE s.t (player_id bigint PRIMARY KEY, score bigint NOT NULL);
		CREATE TABLE s.more (LIKE s.t INCLUDING ALL);
		CREATE TABLE s.p (player_id bigint PRIMARY KEY, score bigint NOT NULL) PARTITION BY RANGE (player_id);
		CREATE TABLE s.p1 PARTITION OF s.p FOR VALUES FROM (0) TO (50);
		CREATE TABLE s.p2 PARTITION OF s.p FOR VALUES FROM (50) TO (500);
		CREATE TABLE s.loose (LIKE s.t INCLUDING ALL);
		INSERT INTO s.t SELECT g, g * 7 % 100 FROM generate_series(1, 100) g;
		INSERT INTO s.more SELECT * FROM s.t;
		INSERT INTO s.p SELECT * FROM s.t;
		INSERT INTO s.loose SELECT player_id + 500, score FROM s.t;
		SELECT lb_create_board('mine', 's.t'), lb_create_board('up', 's.t', rank_by => 'score ASC'),
			lb_create_board('parts', 's.p')});
	wait_ready($node, 'postgres');
	return;
}

my $table = '(player_id bigint PRIMARY KEY, score bigint NOT NULL)';
my %ddl = (
	'create board' => q{UPDATE s.more SET score = 200 WHERE player_id = 1;
		SELECT lb_create_board('more', 's.more'); UPDATE s.more SET score = 300 WHERE player_id = 2},
	'create table' => qq{CREATE TABLE s.new $table; INSERT INTO s.new VALUES (1, 1), (2, 2);
		SELECT lb_create_board('new', 's.new'); UPDATE s.new SET score = 5 WHERE player_id = 1},
	'second board' => q{SELECT lb_create_board('second', 's.t', rank_by => 'score ASC'); DELETE FROM s.t WHERE player_id = 3},
	'drop board' => q{UPDATE s.t SET score = 200 WHERE player_id = 1; SELECT lb_drop_board('mine')},
	'drop both boards' => q{SELECT lb_drop_board('mine'), lb_drop_board('up'); UPDATE s.t SET score = 0 WHERE player_id = 1},
	'drop and create' => q{SELECT lb_drop_board('mine'); SELECT lb_create_board('mine', 's.more')},
	'create and drop' => q{SELECT lb_create_board('more', 's.more'); SELECT lb_drop_board('more')},
	'drop table' => 'DROP TABLE s.t',
	'drop schema' => 'SET client_min_messages = error; DROP SCHEMA s CASCADE',
	'rename column' => 'ALTER TABLE s.t RENAME score TO points; UPDATE s.t SET points = 200 WHERE player_id = 1',
	'rename column of partitions' => 'ALTER TABLE s.p RENAME score TO points; UPDATE s.p SET points = 200 WHERE player_id = 60',
	'rename table' => 'ALTER TABLE s.t RENAME TO t2; UPDATE s.t2 SET score = 200 WHERE player_id = 1',
	'rename schema' => 'ALTER SCHEMA s RENAME TO s2; UPDATE s2.t SET score = 200 WHERE player_id = 1',
	'rewrite' => 'ALTER TABLE s.t ALTER score TYPE int USING 200 - score',
	'misfit' => 'ALTER TABLE s.t ALTER player_id TYPE numeric',
	'truncate' => 'TRUNCATE s.t, s.p; INSERT INTO s.t VALUES (7, 7)',
	'truncate partition' => 'TRUNCATE s.p1',
	'attach' => 'ALTER TABLE s.p ATTACH PARTITION s.loose FOR VALUES FROM (500) TO (1000)',
	'detach' => 'ALTER TABLE s.p DETACH PARTITION s.p1; DELETE FROM s.p1',
	'drop partition' => 'DROP TABLE s.p2',
	'disable' => 'ALTER TABLE s.t DISABLE TRIGGER leaderboard_capture; UPDATE s.t SET score = 200 WHERE player_id = 1;
		ALTER TABLE s.t ENABLE ALWAYS TRIGGER leaderboard_capture',
	'mend' => q{SET client_min_messages = error; DROP TRIGGER leaderboard_capture ON s.t;
		UPDATE s.t SET score = 200 WHERE player_id = 1; SELECT lb_rebuild('mine')},
	'erase' => q{DELETE FROM lb_board WHERE board = 'mine'},
	'change by hand' => q{UPDATE lb_board SET rank_by = 'score ASC' WHERE board = 'mine'},
	'savepoint' => q{SAVEPOINT a; SELECT lb_drop_board('mine'); ROLLBACK TO a; SELECT lb_create_board('more', 's.more');
		SAVEPOINT b; DROP TABLE s.p; ROLLBACK TO b},
);

# Every board that is recorded is right, whatever answers.
sub all_right
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $sql = '';
	my @want;

	for my $row (split(/\n/, $node->safe_psql('postgres', 'SELECT board, source, rank_by FROM lb_board')))
	{
		my ($board, $source, $order) = split(/\|/, $row);

		next if $board eq '*' || $what =~ /misfit/ && $source eq 's.t';
		$sql .= "\\echo $board\n" . wrong_ranks($source, $board, order => $order =~ s/"//gr) . ";\n";
		push @want, $board, 0;
	}
	my ($rc, $out, $err) = $node->psql('postgres', $sql, on_error_stop => 0);

	return is("$out$err", join("\n", @want), "$what: all ranks are right");
}

# ... and they follow what is written, are built without being read, and equal to
# their tables.
sub ended
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	all_right($what);
	$node->safe_psql('postgres', q{SELECT format('UPDATE %s SET %I = %2$I + 1 WHERE player_id %% 3 = 1', source, attname)
		FROM (SELECT DISTINCT source FROM lb_board WHERE board NOT IN ('*', 'global')) b JOIN pg_attribute ON attrelid = source AND attnum = 2 \gexec});
	all_right("$what, written");
	if ($what =~ /misfit/ && $what =~ /COMMIT/)
	{
		ok($node->poll_query_until('postgres', q{SELECT count(*) = 2 FROM lb_stat_board WHERE state = 'offline' AND reason ~ 'column'}),
			"$what: offline");
		$node->safe_psql('postgres', 'DROP TABLE s.t');
	}
	ok($node->poll_query_until('postgres', q{SELECT bool_and(state = 'ready') FROM lb_stat_board}), "$what: ready")
	  or diag($node->safe_psql('postgres', 'SELECT board, state, reason FROM lb_stat_board'));
	is($node->safe_psql('postgres', 'SELECT * FROM lb_verify()'), '', "$what: index and table are equal");
	return all_right("$what, ready");
}

sub prepare
{
	my ($db, $name, $sql) = @_;

	return $node->safe_psql($db, "BEGIN; $sql; PREPARE TRANSACTION '$name'");
}

# So many boards at a time there have never been: what is used can be compared.
make();
$node->safe_psql('postgres', q{
	SELECT lb_create_board('some' || g, 's.more') FROM generate_series(1, 20) g});
wait_ready($node, 'postgres');
$node->safe_psql('postgres', 'SET client_min_messages = error; DROP SCHEMA s CASCADE');
ready($node, 'postgres', 'dropped');
my $used = memory_used($node, 'postgres');

for my $name (sort keys %ddl)
{
	for my $verb ('ROLLBACK', 'COMMIT')
	{
		my $what = "$name, $verb";

		make();
		prepare('postgres', $name, $ddl{$name});
		right($node, 'postgres', "$what: others while it is prepared");
		$node->safe_psql('postgres', "$verb PREPARED '$name'");
		ended($what);
	}
}

# Nothing is left of them.
$node->safe_psql('postgres', 'SET client_min_messages = error; DROP SCHEMA IF EXISTS s, s2 CASCADE');
ready($node, 'postgres', 'all dropped');
wait_used($node, 'postgres', $used, 'no definition is left in memory');

# A crash in between, of all that can be prepared together
my @together = (
	[ 'create board', 'drop board', 'attach' ],
	[ 'create table', 'rename column', 'detach' ],
	[ 'drop table', 'rename column of partitions' ],
	[ 'rewrite', 'drop partition' ],
	[ 'erase', 'create board' ],
	[ 'truncate' ], [ 'drop schema' ]);
for my $names (@together)
{
	for my $first ('ROLLBACK', 'COMMIT')
	{
		my $verb = $first;
		my $what = join(' and ', @$names) . ", $first first";

		make();
		prepare('postgres', $_, $ddl{$_}) for @$names;
		$node->stop('immediate');
		$node->start;
		right($node, 'postgres', "$what: others after the crash");
		for my $name (reverse @$names)
		{
			$node->safe_psql('postgres', "$verb PREPARED '$name'");
			$verb = $verb eq 'COMMIT' ? 'ROLLBACK' : 'COMMIT';
		}
		ended($what);
	}
}

# Without a crash, two at a time that end in either order
make();
prepare('postgres', $_, $ddl{$_}) for ('create board', 'drop both boards', 'attach');
$node->safe_psql('postgres', q{COMMIT PREPARED 'attach'});
right($node, 'postgres', 'the last one has ended');
$node->safe_psql('postgres', q{COMMIT PREPARED 'create board'; ROLLBACK PREPARED 'drop both boards'});
ended('three');

# A session that knows a board goes on after it is gone.
make();
my $session = open_session($node, 'postgres');
isnt($session->query(q{SELECT lb_rank(1, 'mine')}), '', 'a session reads');
prepare('postgres', 'gone', q{DELETE FROM lb_board WHERE board IN ('mine', 'up')});
$session->query('BEGIN');
is($session->query(q{SELECT lb_rank(1, 'mine') = (SELECT count(*) + 1 FROM s.t WHERE score > 7 OR score = 7 AND player_id < 1)}), 't',
	'it reads while it is prepared');
$node->safe_psql('postgres', q{COMMIT PREPARED 'gone'; UPDATE s.t SET score = 1000 WHERE player_id = 50});
unlike($session->query(q{SELECT lb_rank(50, 'mine')}), qr/[02-9]/, 'it reads after the commit');
$session->query('COMMIT');
$session->quit;
ended('a session that knew the board');

# The extension itself
for my $verb ('ROLLBACK', 'COMMIT')
{
	for my $crash (0, 1)
	{
		my $what = "extension, $verb" . ($crash ? ', crash' : '');

		$node->safe_psql('postgres', 'CREATE DATABASE ext');
		prepare('ext', 'create', q{CREATE EXTENSION leaderboard; SELECT lb_create_tables();
			INSERT INTO player_scores SELECT g, g FROM generate_series(1, 300) g});
		if ($crash)
		{
			$node->stop('immediate');
			$node->start;
		}
		$node->safe_psql('ext', "$verb PREPARED 'create'");
		is($node->safe_psql('ext', q{SELECT count(*) FROM pg_extension WHERE extname = 'leaderboard'}),
			$verb eq 'COMMIT' ? 1 : 0, "$what: created");
		fill($node, 'ext', 300) if $verb eq 'ROLLBACK';
		ready($node, 'ext', "$what: created");
		prepare('ext', 'drop', 'SET client_min_messages = error; DROP EXTENSION leaderboard CASCADE');
		if ($crash)
		{
			$node->stop('immediate');
			$node->start;
		}
		$node->safe_psql('ext', "$verb PREPARED 'drop'");
		$node->safe_psql('ext', 'CREATE EXTENSION leaderboard; SELECT lb_create_tables()') if $verb eq 'COMMIT';
		ready($node, 'ext', "$what: dropped");
		$node->safe_psql('ext', 'UPDATE player_scores SET score = score + 1 WHERE player_id % 2 = 0');
		ready($node, 'ext', "$what: changed");
		retry_accessed($node, 'DROP DATABASE ext');
	}
}

# On a standby that is promoted before they end
my $primary = $node;
make();
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
my @ends = (
	[ 'create board', 'COMMIT' ], [ 'drop board', 'COMMIT' ],
	[ 'rename column of partitions', 'COMMIT' ], [ 'create table', 'ROLLBACK' ]);
prepare('postgres', $_->[0], $ddl{ $_->[0] }) for @ends;
$primary->wait_for_catchup($standby);
$standby->promote;
$primary->stop;
$node = $standby;
right($node, 'postgres', 'promoted: others');
$node->safe_psql('postgres', "$_->[1] PREPARED '$_->[0]'") for @ends;
is($node->safe_psql('postgres', q{SELECT string_agg(board, ' ' ORDER BY board) FROM lb_board WHERE source <> 'player_score_windows'::regclass}),
	'global more parts up', 'promoted: the boards that are recorded');
ended('promoted');

ready($node, 'postgres', 'at the end');
$node->stop;
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold|cache lookup failed/, 'nothing bad in the log of ' . $_->name)
  for ($primary, $standby);
done_testing();
