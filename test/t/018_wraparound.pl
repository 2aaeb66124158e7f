# Transaction ids pass 2^32: what is open, prepared or being built meanwhile is
# right on both sides.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('wraparound', "autovacuum = off\nfsync = off");
my $pg_xact = $node->data_dir . '/pg_xact';

# Let the next transaction have this id, as 32 bits and epoch.  The segment of the
# commit log with it must be there.
sub set_xid
{
	my ($epoch, $xid) = @_;
	my $segment = sprintf('%s/%04X', $pg_xact, int($xid / 4 / 8192 / 32));

	$node->stop;
	command_ok([ 'pg_resetwal', '-e', $epoch, '-x', $xid, $node->data_dir ], "next transaction $epoch:$xid");
	if (!-e $segment)
	{
		open my $file, '>', $segment or die "$segment: $!";
		binmode $file;
		print $file "\0" x (8192 * 32);
		close $file;
	}
	$node->start;
	return;
}

sub next_xid
{
	return $node->safe_psql('postgres', 'SELECT pg_current_snapshot()::text') =~ /:(\d+):/ ? $1 : die;
}

# In steps, since every database has to be frozen before half of the ids are gone.
$node->start;
$node->safe_psql('postgres', 'UPDATE pg_database SET datallowconn = true');
for my $billion (1 .. 4)
{
	set_xid(0, $billion * 1000000000);
	$node->command_ok([ 'vacuumdb', '--all', '--freeze', '--quiet' ], "frozen at $billion billion");
}
$node->safe_psql('postgres', q{UPDATE pg_database SET datallowconn = false WHERE datname = 'template0'});
my $border = 4294967296;
set_xid(0, $border - 700);
fill($node, 'postgres', 600);
ready($node, 'postgres', 'made');
ok(next_xid() < $border - 100, 'before the border') or BAIL_OUT('started too late');

# A session whose look must not change, and one with changes of its own.
my $look = 'SELECT lb_count(), sum(lb_rank(player_id) * player_id), count(*), sum(r * player_id) FROM'
  . ' (SELECT player_id, row_number() OVER (ORDER BY score DESC, updated_at, player_id) AS r FROM player_scores) s';

sub session
{
	my ($sql) = @_;
	my $session = open_session($node, 'postgres');

	$session->query($sql);
	return $session;
}

sub same
{
	my ($values) = @_;
	my @values = split /\|/, $values;

	return "$values[0]|$values[1]" eq "$values[2]|$values[3]";
}

# Old ones: a snapshot, one with an id of its own, a writer, prepared ones.
my $old = session('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $before = $old->query($look);
my $own = session('BEGIN ISOLATION LEVEL REPEATABLE READ; UPDATE player_scores SET score = score + 1 WHERE player_id = 500; SAVEPOINT s');
my $own_before = $own->query($look);
my $writer = session('BEGIN; UPDATE player_scores SET score = 3000 WHERE player_id = 400');
for my $name ('a', 'b')
{
	$node->safe_psql('postgres', 'BEGIN; UPDATE player_scores SET score = score + 7 WHERE player_id = '
		  . ($name eq 'a' ? 300 : 301) . "; PREPARE TRANSACTION '$name'");
}

# Up to the border, over it, and on, a few at a time
my $added = 0;
sub advance
{
	my ($to) = @_;

	while (next_xid() < $to)
	{
		my $n = $to - next_xid();

		$n = 150 if $n > 150;
		$added++;
		$node->safe_psql('postgres', join('', map {
			my $player = 1 + ($_ * 7 + $added) % 250;

			"UPDATE player_scores SET score = score + $_ WHERE player_id = $player;"
		} 1 .. $n));
	}
	return;
}

sub by_index
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return is( $node->safe_psql('postgres', q{
			SELECT lb_stat_reset();
			SELECT count(lb_rank(player_id)) > 0 FROM player_scores WHERE player_id % 10 = 3;
			SELECT index_reads > 10, query_reads FROM lb_stat_board WHERE board = 'global'}),
		"\nt\nt|0", "$what: by index");
}

sub check
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	right($node, 'postgres', $what);
	by_index($what);
	is($old->query($look), $before, "$what: for an old snapshot");
	is($own->query($look), $own_before, "$what: for an old transaction with changes");
	ok(same($before) && same($own_before), "$what: which is what the query says");
	return;
}

check('far before the border');
advance($border - 3);
check('before the border');
for my $xid ($border - 2 .. $border + 8)
{
	advance($xid);
	check("with the next id $xid");
}
my $new = session('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $new_before = $new->query($look);
advance($border + 150);
check('after the border');

# The old transactions end
is($new->query($look), $new_before, 'a snapshot from after the border');
$writer->query('COMMIT');
check('after the commit of an old one');
is($node->safe_psql('postgres', 'SELECT lb_score(400)'), '3000', 'which is seen');
$node->safe_psql('postgres', q{COMMIT PREPARED 'a'});
check('after an old one that was prepared');
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'b'; UPDATE player_scores SET score = score + 1 WHERE player_id IN (300, 301)});
check('after one that was rolled back');
is($new->query($look), $new_before, 'a snapshot from after the border, in the end');
ok(same($new_before), 'is right, too');
$own->query('ROLLBACK TO s; UPDATE player_scores SET score = score + 2 WHERE player_id = 500; COMMIT');
right($node, 'postgres', 'after the commit of an old one with a snapshot');
is($old->query($look), $before, 'and the oldest snapshot');

# A build, beside the oldest snapshot
$node->safe_psql('postgres', 'SELECT lb_rebuild()');
right($node, 'postgres', 'built');
is($old->query($look), $before, 'built: for an old snapshot');
ready($node, 'postgres', 'built');
$_->query('COMMIT'), $_->quit for ($old, $new);
$_->quit for ($own, $writer);
ready($node, 'postgres', 'all have ended');
by_index('all have ended');

# Over a crash, then over the border anew with writers, builds and prepared ones
$node->safe_psql('postgres', q{BEGIN; UPDATE player_scores SET score = 99 WHERE player_id = 5; PREPARE TRANSACTION 'c'});
$node->stop('immediate');
$node->start;
right($node, 'postgres', 'after a crash');
$node->safe_psql('postgres', q{COMMIT PREPARED 'c'});
ready($node, 'postgres', 'after a crash');
$node->safe_psql('postgres', 'UPDATE pg_database SET datallowconn = true');
for my $billion (1 .. 4)
{
	set_xid(1, $billion * 1000000000);
	$node->command_ok([ 'vacuumdb', '--all', '--freeze', '--quiet' ], "frozen at $billion billion, again");
}
$node->safe_psql('postgres', q{UPDATE pg_database SET datallowconn = false WHERE datname = 'template0'});
set_xid(1, $border - 2000);
ready($node, 'postgres', 'before the next border');
ok(next_xid() < 2 * $border - 1000, 'before the next border');
my $run = start_writers($node, 'postgres', 600, 600, 2);
while (next_xid() < 2 * $border + 500)
{
	$node->safe_psql('postgres', 'SELECT lb_rebuild()');
	right($node, 'postgres', 'writers go on');
	$node->safe_psql('postgres', q{
		BEGIN; INSERT INTO player_scores VALUES (-1, 3000) ON CONFLICT (player_id) DO UPDATE SET score = player_scores.score + 1; PREPARE TRANSACTION 'd';
		COMMIT PREPARED 'd'});
}
$run->{handle}->signal('INT');
stop_writers($run);
ready($node, 'postgres', 'after the next border');
by_index('after the next border');

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log');
done_testing();
