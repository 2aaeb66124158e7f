# Prepared transactions of every kind, rolled back and committed, at once, after
# a restart and after a crash: never a wrong answer.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('twophase');
$node->start;
fill($node, 'postgres', 300);
ready($node, 'postgres', 'made');

my %changes = (
	update => 'UPDATE player_scores SET score = score + 50 WHERE player_id % 10 = 1',
	delete => 'DELETE FROM player_scores WHERE player_id % 10 = 2',
	insert => 'INSERT INTO player_scores SELECT g, g FROM generate_series(1001, 1020) g',
	windows => q{UPDATE player_score_windows SET window_key = 'daily:1' WHERE window_key = 'weekly:1'},
	truncate => 'TRUNCATE player_score_windows',
	large => 'INSERT INTO player_scores SELECT g, g % 100 FROM generate_series(2001, 7000) g',
	subtransaction => q{UPDATE player_scores SET score = 77 WHERE player_id = 3; SAVEPOINT s;
		UPDATE player_scores SET score = 88 WHERE player_id = 4; ROLLBACK TO s;
		UPDATE player_scores SET score = 99 WHERE player_id = 5},
);

sub prepare
{
	my ($name) = @_;

	$node->safe_psql('postgres', "BEGIN; $changes{$name}; PREPARE TRANSACTION '$name'");
	return;
}

sub finish
{
	my ($verb, $name) = @_;

	$node->safe_psql('postgres', "$verb PREPARED '$name'");
	return;
}

# Reads would wait for a TRUNCATE, as SQL does.
sub look
{
	my ($name, $what) = @_;

	right($node, 'postgres', "$name: $what") if $name ne 'truncate';
	return;
}

sub put_back
{
	$node->safe_psql('postgres', q{
		DELETE FROM player_scores WHERE player_id > 1000;
		INSERT INTO player_scores SELECT g, g FROM generate_series(1, 300) g ON CONFLICT DO NOTHING;
		TRUNCATE player_score_windows;
		INSERT INTO player_score_windows SELECT g, 'weekly:' || g % 7, g * 31 % 50 FROM generate_series(1, 300) g});
	return;
}

my $others_write = 'UPDATE player_scores SET score = score + 3 WHERE player_id = 9';

# One by one
for my $name (sort keys %changes)
{
	for my $verb ('ROLLBACK', 'COMMIT')
	{
		prepare($name);
		look($name, 'prepared');
		$node->safe_psql('postgres', $others_write);
		look($name, 'prepared, and others write');
		finish($verb, $name);
		look($name, "\L$verb\E prepared");
		ready($node, 'postgres', "$name: \L$verb\E prepared");
	}
	put_back();
}

# All together, over a restart or a crash
for my $mode ('fast', 'immediate')
{
	for my $first (0, 1)
	{
		my @names = grep { $_ ne 'truncate' } sort keys %changes;
		my $n = $first;

		prepare($_) for @names;
		right($node, 'postgres', 'all prepared');
		$node->stop($mode);
		$node->start;
		right($node, 'postgres', "all prepared, after $mode shutdown");
		$node->safe_psql('postgres', $others_write);
		right($node, 'postgres', 'others write');
		for my $name (@names)
		{
			my $verb = $n++ % 2 ? 'ROLLBACK' : 'COMMIT';

			finish($verb, $name);
			right($node, 'postgres', "$name, \L$verb\E prepared");
		}
		ready($node, 'postgres', 'all ended');
		put_back();
	}
	prepare('truncate');
	$node->stop($mode);
	$node->start;
	finish($mode eq 'fast' ? 'COMMIT' : 'ROLLBACK', 'truncate');
	ready($node, 'postgres', "TRUNCATE prepared, after $mode shutdown");
	put_back();
}

# Several, that end in another order
{
	my $what = 'three';

	prepare($_) for ('update', 'insert', 'windows');
	right($node, 'postgres', "$what: prepared");
	finish('COMMIT', 'windows');
	right($node, 'postgres', "$what: the last one ends first");
	finish('COMMIT', 'insert');
	right($node, 'postgres', "$what: then the second");
	$node->safe_psql('postgres', 'UPDATE player_scores SET score = score + 1 WHERE player_id > 1000');
	right($node, 'postgres', "$what: what it has made is changed");
	finish('COMMIT', 'update');
	ready($node, 'postgres', "$what: then the first");
	$node->safe_psql('postgres', q{
		DELETE FROM player_scores WHERE player_id > 1000;
		UPDATE player_score_windows SET window_key = 'weekly:1' WHERE window_key = 'daily:1'});
}

# The table is emptied before any session has met the committed changes.
for my $verb ('COMMIT', 'ROLLBACK')
{
	is( $node->safe_psql('postgres', qq{
			BEGIN; $changes{windows}; $changes{insert}; PREPARE TRANSACTION 'unmet';
			$verb PREPARED 'unmet';
			TRUNCATE player_scores, player_score_windows;
			SELECT lb_count(), lb_rank(1001), lb_count('daily:1'), lb_count('weekly:1');
			SELECT * FROM lb_verify();
			INSERT INTO player_scores VALUES (1001, 5);
			INSERT INTO player_score_windows VALUES (1, 'daily:1', 3);
			SELECT lb_rank(1001), lb_rank(1, 'daily:1'), lb_count('daily:1')}),
		"0||0|0\n1|1|1", "\L$verb\E prepared, and TRUNCATE at once");
	ready($node, 'postgres', 'after it');
	put_back();
}

# Builds meanwhile
for my $verb ('COMMIT', 'ROLLBACK')
{
	prepare('update');
	prepare('delete');
	finish('COMMIT', 'delete');
	$node->psql('postgres', q{SET statement_timeout = '3s'; SELECT lb_rebuild()});
	right($node, 'postgres', 'rebuilt while one is prepared');
	$node->safe_psql('postgres', 'UPDATE player_scores SET score = score + 2 WHERE player_id % 10 = 3');
	right($node, 'postgres', 'others write');
	finish($verb, 'update');
	right($node, 'postgres', "\L$verb\E prepared");
	ready($node, 'postgres', "\L$verb\E prepared after a rebuild");
}

# A writer that waits for a row
prepare('update');
my $writer = open_session($node, 'postgres');
$writer->query_until(qr/now/, "\\echo now\nUPDATE player_scores SET score = score + 1000 WHERE player_id = 11;\n");
$node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM pg_locks WHERE NOT granted')
  or die 'no session waits';
finish('COMMIT', 'update');
is($writer->query('SELECT lb_rank(11), lb_score(11) > 1000'), '1|t', 'a writer that has waited for a row');
ready($node, 'postgres', 'after it');
$writer->quit;

# A board's first row, and its table's end
$node->safe_psql('postgres', q{CREATE TABLE p (player_id bigint PRIMARY KEY, score bigint);
	SELECT lb_create_board('p', 'p')});
wait_ready($node, 'postgres');
$node->safe_psql('postgres', q{BEGIN; INSERT INTO p VALUES (1, 1); PREPARE TRANSACTION 'p'});
finish('COMMIT', 'p');
is($node->safe_psql('postgres', q{SELECT lb_rank(1, 'p')}), '1', 'the first row');
$node->safe_psql('postgres', 'DROP TABLE p');
ready($node, 'postgres', 'at the end');

# A snapshot leaves out the transaction that takes it.  Prepared, that runs on
# and is in the next snapshot, which looks like the first if another has ended.
for my $rows (10, 1000)
{
	$node->safe_psql('postgres', qq{
		CREATE TABLE p (player_id bigint PRIMARY KEY, score bigint) WITH (autovacuum_enabled = off);
		INSERT INTO p SELECT g, g FROM generate_series(1, $rows) g;
		SELECT lb_create_board('p', 'p')});
	wait_ready($node, 'postgres');
	my ($one, $other) = map { open_session($node, 'postgres') } 1 .. 2;

	$one->query('BEGIN; SELECT pg_current_xact_id()');
	$other->query('BEGIN; UPDATE p SET score = 1000000 WHERE player_id = 1');
	$node->safe_psql('postgres', 'SELECT pg_current_xact_id()');
	$one->query(q{DECLARE c CURSOR FOR SELECT lb_rank(1, 'p')});
	$other->query('COMMIT');
	is($one->query('FETCH c'), $rows, "$rows rows: the snapshot of before");
	$one->query(q{CLOSE c; PREPARE TRANSACTION 'p'});
	is($one->query(q{SELECT lb_rank(1, 'p')}), '1', "$rows rows: the snapshot of after");
	$_->quit for $one, $other;
	finish('ROLLBACK', 'p');
	$node->safe_psql('postgres', 'DROP TABLE p');
}

$node->stop;
done_testing();
