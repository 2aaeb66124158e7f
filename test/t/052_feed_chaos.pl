# Both servers are disturbed in every way while the primary is written to; each answer of
# the standby is right all the time, and its boards come back.  SEED=n repeats a run.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbStandby;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{SEED} || int(rand(1000000));
my $players = 100;

srand($seed);
note "SEED=$seed";

my $primary = lb_node('primary', "leaderboard.feed_standbys = on", allows_streaming => 1);
$primary->start;
fill($primary, 'postgres', $players);
my $standby = standby_of($primary, 'standby', 'max_standby_streaming_delay = 1s');
$standby->start;

my $writers = start_writers($primary, 'postgres', $players, 600);

# The answers of the standby.  Replay cancels a read that takes longer than its delay.
sub answers
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 2;

	for (1 .. 100)
	{
		return if eval { right($standby, 'postgres', $what); 1 };
		die $@ if $@ !~ /conflict with recovery/;
	}
	die "$what: each read was cancelled";
}

sub restart_primary
{
	my ($mode) = @_;

	$primary->stop($mode);
	stop_writers($writers, 1);
	$primary->start;
	$writers = start_writers($primary, 'postgres', $players, 600);
	return;
}

sub set_feed
{
	my ($to) = @_;

	$primary->append_conf('postgresql.conf', "leaderboard.feed_standbys = $to");
	$primary->reload;
	return;
}

# A life of the primary without the library, in which it is written to
sub without_library
{
	$primary->append_conf('postgresql.conf', "shared_preload_libraries = ''");
	restart_primary('fast');
	answers('the library is absent');
	$primary->append_conf('postgresql.conf', "shared_preload_libraries = 'leaderboard'");
	restart_primary('immediate');
	return;
}

my $prepared = 0;

sub prepare
{
	$prepared++;
	$primary->safe_psql('postgres', qq{BEGIN; UPDATE player_scores SET score = 2000 + $prepared WHERE player_id = (SELECT max(player_id) FROM player_scores);
		INSERT INTO player_scores VALUES (1000 + $prepared, $prepared); PREPARE TRANSACTION 'p$prepared'});
	return;
}

sub end_prepared
{
	for my $gid (split /\n/, $primary->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts'))
	{
		$primary->safe_psql('postgres', (rand(2) < 1 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$gid'");
	}
	return;
}

my %disturb = (
	'standby restarts' => sub { $standby->restart },
	'standby stops at once' => sub { $standby->stop('immediate'); $standby->start },
	'startup process is killed' => sub { crash($standby, 'startup') },
	'launcher is killed' => sub { crash($standby, 'leaderboard launcher') },
	'backend is killed' => sub {
		my $session = open_session($standby, 'postgres');
		$session->query('SELECT lb_rank(1)');
		crash($standby, 'client backend', $session->query('SELECT pg_backend_pid()'));
		$session->{run}->kill_kill;
	},
	'primary restarts' => sub { restart_primary('fast') },
	'primary stops at once' => sub { restart_primary('immediate') },
	'library is absent' => \&without_library,
	'feed is off and on' => sub {
		set_feed('off');
		answers('the feed is off') for 1 .. 3;
		set_feed('on');
	},
	'truncate' => sub {
		end_prepared();
		$primary->safe_psql('postgres', "BEGIN; TRUNCATE player_scores; INSERT INTO player_scores SELECT g, g FROM generate_series(1, $players) g; COMMIT");
	},
	'rewrite' => sub {
		end_prepared();
		$primary->safe_psql('postgres', 'VACUUM FULL player_scores');
	},
	'created again' => sub {
		end_prepared();
		$primary->safe_psql('postgres', q{SELECT lb_drop_board('global'); SELECT lb_create_board('global', 'player_scores', rank_by => 'score DESC, updated_at ASC')});
		# Meanwhile the standby has no such board.
		caught_up($primary, $standby);
	},
	'prepare' => \&prepare,
	'checkpoint' => sub { $primary->safe_psql('postgres', 'CHECKPOINT'); $standby->safe_psql('postgres', 'CHECKPOINT') });

# Each of them once, in any order.
my @left = sort keys %disturb;
while (@left)
{
	my $what = splice @left, int(rand(@left)), 1;

	note $what;
	$disturb{$what}->();
	answers($what) for 1 .. 4;
	if (rand(3) < 1)
	{
		end_prepared();
		answers("$what, and prepared transactions end");
	}
}

end_prepared();
$writers->{handle}->kill_kill;
$primary->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'writer'}) or die 'there are writers';
# It tells the standby which transactions run: none of those that a crash has ended.
$primary->safe_psql('postgres', 'CHECKPOINT');
caught_up($primary, $standby);
ok(boards_ready($standby, 'postgres'), 'boards are ready again');
my ($index, $queries) = reads($standby, 'postgres');
answers('at last');
is((reads($standby, 'postgres'))[1], $queries, 'at last: no read runs its query');
verified('at last', $primary, $standby);

$_->stop for $standby, $primary;
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|terminated by signal (?!9)|did not hold/, 'nothing bad in the log of ' . $_->name)
  for $primary, $standby;
done_testing();
