# The clock was a year ahead and is set back.  Periodic work goes on, and does not
# wait until the clock gets there again.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('clock', "leaderboard.maintenance_interval = '1s'\nleaderboard.notify_interval = '100ms'\n");
my $clock = $node->basedir . '/clock';
my $library = $node->basedir . '/clock.so';

system_or_bail($ENV{CC} // 'cc', '-shared', '-fPIC', '-o', $library, "$FindBin::RealBin/clock.c");

# In one step: a reader finds this or that.
sub set_clock
{
	my ($offset) = @_;

	unlink "$clock.new";
	append_to_file("$clock.new", "$offset\n");
	rename "$clock.new", $clock or die "rename: $!";
	return;
}

set_clock('+31536000');
{
	local %ENV = (
		%ENV,
		LD_PRELOAD => $library,
		LB_TEST_CLOCK => $clock);
	$node->start;
}

# Work: a window ends, and a watched rank changes.
sub works
{
	my ($name) = @_;

	$node->safe_psql('postgres', qq{
		SELECT lb_open_window('tourney:$name', starts => now() - interval '1 s', ends => now() + interval '1 s', late => '0');
		SELECT count(*) FROM lb_submit(1, 10)});
	ok($node->poll_query_until('postgres', qq{SELECT count(*) = 1 FROM lb_closed WHERE board = 'tourney:$name'}),
		"$name: a window is closed");
	ok($node->poll_query_until('postgres', q{SELECT last_scores = ARRAY[lb_score(1)::text] FROM lb_watched}),
		"$name: what is watched is compared");
	return;
}

for my $db ('postgres', 'other')
{
	$node->safe_psql('postgres', 'CREATE DATABASE other') if $db eq 'other';
	$node->safe_psql($db, 'CREATE EXTENSION leaderboard; SELECT lb_create_tables()');
	wait_ready($node, $db);
	$node->safe_psql($db, q{SELECT lb_watch('global')});
}
works('ahead');
my $before = $node->safe_psql('postgres', 'SELECT extract(epoch FROM now())');
set_clock('+0');
cmp_ok($node->safe_psql('postgres', 'SELECT extract(epoch FROM now())'), '<', $before - 31500000, 'it is set back');
works('back');

# The notifier ends to make room.
my ($rc, $out, $err) = $node->psql('postgres', 'DROP DATABASE other');
is($rc, 0, "a database can be dropped: $err");

$node->stop;
done_testing();
