# Crashes while writers go on.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('crash');
$node->start;
fill($node, 'postgres', 3000);
$node->safe_psql('postgres', q{
	CREATE UNLOGGED TABLE u (player_id integer PRIMARY KEY, score integer);
	INSERT INTO u SELECT g, g FROM generate_series(1, 100) g;
	SELECT lb_create_board('u', 'u')});
ready($node, 'postgres', 'made');

sub writing
{
	$node->poll_query_until('postgres',
		q{SELECT sum(changes) > 500 FROM lb_stat_board WHERE board = 'global'})
	  or die 'no session writes';
	return;
}

# The writers end at the crash.
for my $victim ('a writer', 'the launcher', 'a reader')
{
	my $writers = start_writers($node, 'postgres', 3000, 600);
	writing();
	my $pid;
	my $reader;

	if ($victim eq 'a writer')
	{
		$pid = $node->safe_psql('postgres',
			q{SELECT min(pid) FROM pg_stat_activity WHERE application_name = 'writer'});
	}
	elsif ($victim eq 'the launcher')
	{
		$pid = launcher_pid($node);
	}
	else
	{
		$reader = open_session($node, 'postgres');
		$pid = $reader->query('SELECT pg_backend_pid()');
		$reader->query(q{BEGIN; UPDATE player_scores SET score = 5 WHERE player_id = 9;});
	}
	kill 'KILL', $pid;
	stop_writers($writers, 1);
	runs_without($node, $pid) or die 'the server does not come back';
	$reader->{run}->kill_kill if defined $reader;
	ready($node, 'postgres', "kill -9 of $victim");
	is($node->safe_psql('postgres', q{SELECT lb_count('u'), count(*) FROM u}),
		'0|0', 'an unlogged table is empty');
	$node->safe_psql('postgres', q{INSERT INTO u VALUES (1, 1)});
	is($node->safe_psql('postgres', q{SELECT lb_rank(1, 'u')}), '1', 'and used again');
}

my $writers = start_writers($node, 'postgres', 3000, 600);
writing();
$node->stop('immediate');
stop_writers($writers, 1);
$node->start;
ready($node, 'postgres', 'immediate shutdown');

# Crashes, with boards under construction.
$writers = start_writers($node, 'postgres', 3000, 600);
writing();
my $rebuilder = open_session($node, 'postgres');
$rebuilder->query_until(qr/on it/, "\\echo on it\nSELECT lb_rebuild();\nSELECT lb_rebuild();\nSELECT lb_rebuild();\n");
$node->stop('immediate');
stop_writers($writers, 1);
$rebuilder->{run}->kill_kill;
$node->start;
ready($node, 'postgres', 'immediate shutdown during a build');

$node->stop;
done_testing();
