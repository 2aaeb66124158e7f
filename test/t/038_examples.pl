# The statements of README.md and of pages in docs run, and return what the pages
# say.  A section of docs/tasks.md has a database of its own.  Dates differ, and
# so do the numbers of a view of statistics: its rows are compared without them.  Plain
# SQL that a page shows first is answered by a board.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $tree = "$FindBin::RealBin/../..";
my $node = lb_node('examples', <<'END');
timezone = 'UTC'
autovacuum = off
leaderboard.maintenance_interval = 0
leaderboard.enable_planner = on
END
$node->start;

# What differs from day to day and from run to run.
sub masked
{
	my ($text) = @_;

	$text =~ s/\b(hourly|daily|weekly|monthly):\d+/$1:0/g;
	$text =~ s/"as_of":"[^"]*"/"as_of":""/g;
	$text =~ s/[ \t]+$//mg;
	$text =~ s/-{3,}/---/g;
	$text =~ s/ {2,}/ /g;
	return $text =~ s/\s+\z//r;
}

# Pairs of statements and what is said to be their result, if anything is.
sub examples
{
	my ($text) = @_;
	my @examples;

	while ($text =~ /^```(\w*)\n(.*?)^```\n/msg)
	{
		my ($language, $block) = ($1, $2);

		push @examples, [ $block ] if $language eq 'sql';
		$examples[-1][1] //= $block if @examples && $language eq '';
	}
	return @examples;
}

sub run_examples
{
	my ($db, $title, $text) = @_;
	my @examples = examples($text);
	my $script = join('', map { "\\echo == example\n$_->[0]\n" } @examples);
	my $psql = $node->installed_command('psql');
	my $output = '';

	return unless @examples;
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$script = "CREATE SCHEMA leaderboard;\nCREATE EXTENSION leaderboard SCHEMA leaderboard;\n"
	  . "SET search_path = public, leaderboard;\nGRANT USAGE ON SCHEMA leaderboard TO PUBLIC;\n"
	  . "SELECT lb_create_tables();\nSELECT lb_wait_ready();\n$script"
	  unless $script =~ /CREATE EXTENSION/;
	IPC::Run::run([ $psql, '-Xq', '-P', 'pager=off', $node->connstr($db) ],
		'<', \$script, '>&', \$output);

	my (undef, @results) = split /^== example\n/m, $output, -1;

	is(scalar @results, scalar @examples, "$title: all statements have been run");
	for my $i (0 .. $#examples)
	{
		my ($sql, $said) = @{ $examples[$i] };
		my $result = $results[$i] // '';
		my ($name) = $sql =~ /(\S.*)/;

		unlike($result, qr/^(?:ERROR|FATAL)/m, "$title: $name")
		  unless ($said // '') =~ /^ERROR/;
		if (($said // '') =~ /^\{/)
		{
			my ($row) = $result =~ /^ (\{.*\})$/m;

			is(masked($row) =~ s/\s+//gr, masked($said) =~ s/\s+//gr, "$title: the object that it returns");
		}
		next if !defined $said || $said !~ /^(?:ERROR| )/;
		my ($is, $should) = (masked($result), masked($said));

		if ($sql =~ /lb_stat_/)
		{
			s/\d+/0/g, s/ +/ /g for $is, $should;
		}
		is(length $is >= length $should ? substr($is, -length $should) : $is,
			$should, "$title: what it returns");
	}
	return;
}

# The queries of a page's block, in a database with the page's tables: a board answers
# each, with and without statistics, and its rows are those of the plan without boards.
# If a page of rows leaves open which of equal scores it has, the scores are compared.
sub answered_by_boards
{
	my ($db, $title, @queries) = @_;

	for my $query (@queries)
	{
		my $rows = $query =~ /^SELECT \* FROM \w+ ORDER BY score DESC LIMIT/ ? 'q.score' : 'q';
		my ($plain, $answer) = map {
			$node->safe_psql($db, <<"END")
SET search_path = public, leaderboard;
SET leaderboard.enable_planner = $_;
SELECT json_agg($rows) FROM ($query) q;
END
		} qw(off on);

		for my $statistics ('', "ANALYZE;\n")
		{
			my $plan = $node->safe_psql($db, <<"END");
SET search_path = public, leaderboard;
${statistics}EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $query
END

			like($plan, qr/\(Leaderboard .*Answered by: index/s, "$title: $query: by a board") if $query !~ /lb_/;
		}
		like($plain, qr/\[./, "$title: $query: there are rows");
		is($answer, $plain, "$title: $query: the rows are right");
	}
	return;
}

# What comes first shows what there is, and how the board is made that the rest makes.
my ($first, $rest) = slurp_file("$tree/README.md") =~ /(.*?)(^## Start.*)/ms;
my @queries = grep { !/lb_create_board/ } map { $_->[0] =~ /^(SELECT [^;]*);/mg } examples($first);

cmp_ok(scalar @queries, '>=', 4, 'README.md begins with queries');
run_examples('game', 'README.md', $rest);
answered_by_boards('game', 'README.md', @queries);

my ($whole) = slurp_file("$tree/docs/plain-sql.md") =~ /(.*?)^## /ms;
my ($query) = $whole =~ /^(SELECT count\(\*\)[^;]*);/m;

run_examples('plain_sql', 'docs/plain-sql.md', $whole);
answered_by_boards('plain_sql', 'docs/plain-sql.md', $query);

my ($intro, @sections) = split /^(?=##+ )/m, slurp_file("$tree/docs/tasks.md");
my $number = 0;

for my $section (@sections)
{
	my ($title) = $section =~ /^##+ (.*)/;

	run_examples('task' . ++$number, $title, $section);
}

# The page on HTTP has the schema and parts of the server as they are.  The part examples
# asks the server.
my $http = slurp_file("$tree/docs/http.md");
my $server = slurp_file("$tree/examples/http/server.py");
my @views = map { $_->[0] =~ /^(SELECT \* FROM api[^;]*);/mg } examples($http);
my @python = $http =~ /^```python\n(.*?)^```/msg;

run_examples('http', 'docs/http.md', $http);
cmp_ok(scalar @views, '==', 2, 'docs/http.md: statements of Hasura');
$node->safe_psql('http', 'INSERT INTO player_scores SELECT i, i FROM generate_series(10000, 30000) i');
answered_by_boards('http', 'docs/http.md', @views);
ok((grep { $_->[0] eq slurp_file("$tree/examples/http/api.sql") } examples($http)), 'docs/http.md has the schema');
cmp_ok(scalar @python, '>', 4, 'docs/http.md has parts of the server');
is_deeply([ grep { index($server, $_) < 0 } @python ], [], 'as they are');
run_examples('troubleshooting', 'docs/troubleshooting.md',
	slurp_file("$tree/docs/troubleshooting.md"));
run_examples('memory', 'docs/operations.md',
	slurp_file("$tree/docs/operations.md") =~ /^(## Memory.*?)^### Changing it/ms);

done_testing();
