# What sessions keep for each shard is freed when the shards are gone.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use LbCitus;
use LbTest;
use Test::More;

my ($node, @workers) = my @nodes = citus_nodes();

# Memory contexts of a session: of plans for shards, of those on tables beside them, and of copies of definitions
my $contexts = q{SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'leaderboard shard' OR name = 'CachedPlanSource' AND ident ~ '^WITH w AS|player_scores_(applied|event)_[0-9]'};

# One session on each server.  Each submits to all shards of tables that are always new.
my @sessions = map { $_->background_psql('postgres') } @nodes;
$_->query_safe('SET leaderboard.submit_ranks = off') for @sessions;
my @kept;
for my $round (1 .. 4)
{
	$node->safe_psql('postgres', $_) for 'DROP TABLE IF EXISTS player_scores, player_score_windows CASCADE',
	  'SELECT lb_create_tables(distributed => true, shard_count => 8)', 'SELECT lb_maintain()';
	is($node->safe_psql('postgres', 'SELECT lb_wait_ready()'), 't', "round $round: ready");
	for my $i (0 .. 2)
	{
		my $session = $sessions[$i];

		$session->query_safe(sprintf q{SELECT lb_submit_many(array_agg(g), array_agg(g), match_ids => array_agg('%s' || g)) FROM generate_series(bigint '1', 60) g}, "match$i ");
		$session->query_safe(q{SELECT count(s.*) FROM generate_series(1, 60) g, LATERAL lb_submit(g, 5) s});
	}
	is($node->safe_psql('postgres', 'SELECT sum(score) FROM player_scores'), 3 * 61 * 30 + 3 * 60 * 5, "round $round: the scores");
	push @kept, [ map { $_->query_safe($contexts) } @sessions ];
}
note("contexts: @$_") for @kept;
cmp_ok($kept[-1][$_], '<=', $kept[0][$_], 'session on ' . $nodes[$_]->name) for 0 .. 2;

is($node->safe_psql('postgres', 'SELECT * FROM lb_verify()'), '', 'lb_verify()');
$_->quit for @sessions;
citus_stop(@nodes);
done_testing();
