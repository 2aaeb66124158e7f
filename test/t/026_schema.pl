# The extension's own schema is renamed.  Neither the caches of a session nor the
# texts of functions use the old name.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('schema', "leaderboard.notify_interval = '50ms'");
$node->start;
$node->safe_psql('postgres', q{
	CREATE SCHEMA first;
	CREATE EXTENSION leaderboard SCHEMA first;
	SELECT first.lb_create_tables();
	SELECT first.lb_open_window('daily');
	INSERT INTO player_scores SELECT i, i FROM generate_series(1, 200) i;
	SELECT first.lb_wait_ready()});

my $session = open_session($node, 'postgres', on_error_stop => 1);

my $rounds = 0;

# Everything that runs statements of ours, or names something of ours.
sub all_work
{
	my ($schema, $what) = @_;
	my $score = 100000 * ++$rounds;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @calls = (
		[ "lb_watch('global', 3)", '' ],
		[ "lb_watch_member(5)", '' ],
		[ qq{lb_submit_json('{"player_id": 7, "amount": $score, "op": "best", "boards": ["global"]}') ->> 'new_score'}, $score ],
		[ "lb_notify() IS NOT NULL", 't' ],
		[ "(lb_submit(7, 1, boards => '{global,daily}')).applied", "t\nt" ],
		[ "lb_submit_many('{7,8}', '{1,2}')", '2' ],
		[ "lb_rank(7) IS NOT NULL", 't' ],
		[ "lb_rank_json(7, radius => 0) ->> 'player_id'", '7' ],
		[ "lb_top_json(1) IS NOT NULL", 't' ],
		[ "lb_hide(9)", '1' ],
		[ "lb_show(9)", '1' ],
		[ "lb_set_limit('most', 'global', 2000000)", '' ],
		[ "lb_drop_limit('most')", '' ],
		[ "lb_maintain()", undef ],
		[ "lb_unwatch_member(5)", 't' ],
		[ "lb_unwatch('global')", 't' ]);
	for my $call (@calls)
	{
		my ($expression, $expected) = @$call;
		# Only the first name is ours.
		my $got = $session->query_safe("SELECT $schema.$expression" =~ s/\Q$schema\E\.\(lb/($schema.lb/r);

		$got =~ s/^\s+|\s+$//g;
		defined $expected ? is($got, $expected, "$what: $expression") : pass("$what: $expression");
	}
	is($session->query_safe("SELECT count(*) FROM $schema.lb_verify()") =~ s/\s//gr, '0', "$what: index and table are equal");
	return;
}

all_work('first', 'before');
$node->safe_psql('postgres', 'ALTER SCHEMA first RENAME TO "second one"');
all_work('"second one"', 'renamed');

# The worker too
$session->query_safe(q{SELECT "second one".lb_watch('global', 3)});
$node->safe_psql('postgres', 'ALTER SCHEMA "second one" RENAME TO third');
$session->query_safe(q{SELECT third.lb_submit(11, 1000000, boards => '{global}')});
ok($node->poll_query_until('postgres', q{SELECT last_members[1] = '11' AND problem IS NULL FROM third.lb_watched}),
	'the worker goes on');
all_work('third', 'and again');
$session->quit;
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|signal 11|could not notify/, 'nothing has crashed');
done_testing();
