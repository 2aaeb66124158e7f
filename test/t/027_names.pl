# Names in the extension's own SQL: none is left to a search_path.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbNames;
use PostgreSQL::Test::Utils;
use Test::More;

my $tree = "$FindBin::RealBin/../..";
my %parameters = map { %{ parameters(scalar slurp_file($_)) } } sort glob("$tree/sql/leaderboard--*.sql");

cmp_ok(scalar keys %parameters, '>', 40, 'the functions of the scripts');
is($parameters{lb_top}, 3, 'with their arguments');
is($parameters{lb_stat_rows}, 0, 'or without');
is($parameters{lb_at}, 2, 'which are not what they return');

# Names that must be found, each in a text that is right without it.
for my $case (
	[ 'SELECT count(*) FROM pg_catalog.pg_class', 'function' ],
	[ 'SELECT CASE WHEN a IS NULL THEN cardinality(b) END FROM @.lb_watched', 'function' ],
	[ 'WITH x AS (SELECT 1) SELECT now(), y FROM x', 'function' ],
	[ 'SELECT 1 FROM @.lb_window, unnest($1) AS u (a)', 'relation|function' ],
	[ 'SELECT COALESCE(coalesce(a, b), c) FROM @.lb_window', 'function' ],
	[ ' AND starts_with(t.%s, $1)', 'function' ],
	[ 'SELECT a FROM @.lb_window WHERE name = $1', 'operator' ],
	[ 'DELETE FROM @.lb_window WHERE name OPERATOR(pg_catalog.=) $1 AND n > 5', 'operator' ],
	[ 'UPDATE @.lb_window SET a = b + 1', 'operator' ],
	[ 'UPDATE @.lb_window SET a = b WHERE c = d', 'operator' ],
	[ 'UPDATE @.lb_window SET a = (SELECT x = y FROM @.lb_limit)', 'operator' ],
	[ 'SELECT a OPERATOR(public.=) b', 'operator' ],
	[ 'SELECT a || b FROM @.lb_window', 'operator' ],
	[ 'SELECT $1 ->> \'a\'', 'operator' ],
	[ 'SELECT t.a, t.b = 5 FROM @.lb_window t', 'operator' ],
	[ 'SELECT CAST(a AS int8) FROM @.lb_window', 'type' ],
	[ 'SELECT interval \'1 day\'', 'type' ],
	[ 'SELECT INTERVAL \'1 day\'', 'type' ],
	[ 'SELECT a::pg_catalog.int8 FROM @.lb_window', '::' ],
	[ 'SELECT a FROM lb_window', 'relation' ],
	[ 'SELECT a FROM @.lb_window AS w, lb_limit AS l', 'relation' ],
	[ 'SELECT a FROM @.lb_window JOIN lb_limit ON true', 'relation' ],
	[ 'INSERT INTO lb_window (a) VALUES ($1)', 'relation' ],
	[ 'UPDATE lb_window SET a = 1', 'relation' ],
	[ 'DELETE FROM lb_window', 'relation' ],
	[ ' IN (SELECT 1)', 'looks' ],
	[ 'SELECT a FROM @.lb_window WHERE a BETWEEN 1 AND 2', 'looks' ],
	[ 'SELECT a FROM @.lb_window WHERE a IS NOT DISTINCT FROM b', 'looks' ],
	[ 'SELECT NULLIF(a, b) FROM @.lb_window', 'looks' ],
	[ 'SELECT CASE a WHEN 1 THEN 2 END FROM @.lb_window', 'looks' ],
	[ 'SELECT 1 FROM @.lb_window JOIN @.lb_limit USING (name)', 'looks' ],
	[ 'SELECT a COLLATE "C" FROM @.lb_window', 'collation' ],
	[ 'SELECT EXTRACT(epoch FROM a) FROM @.lb_window', 'function' ],
	[ 'SELECT t.a FROM @.lb_top($1, $2) AS t', 'arguments' ],
	[ 'SELECT t.a FROM @.lb_top($1, $2, skip => 0) AS t', 'by name' ])
{
	my ($text, $expected) = @$case;
	my @found = problems($text, [], \%parameters);

	like("@found", qr/$expected/, "found: $text");
	is(scalar(problems(join(' ', 'x', $text), [], \%parameters)), scalar @found, 'and within another text')
	  unless $text =~ /^ /;
}

# Texts without a problem.
for my $text (
	'SELECT pg_catalog.count(*) FROM pg_catalog.pg_class AS c WHERE c.oid OPERATOR(pg_catalog.=) ANY ($1)',
	'WITH l AS (DELETE FROM @.lb_limit t RETURNING t.name) SELECT l.name FROM l, @.lb_window AS w ORDER BY 1 LIMIT 5',
	'UPDATE @.lb_window SET a = GREATEST(a, $1), b = CASE WHEN a IS NULL THEN \'x\' ELSE b END WHERE a OPERATOR(pg_catalog.>) 1',
	'SELECT u.a FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) WITH ORDINALITY AS u (a, b, c)',
	'INSERT INTO @.lb_window AS t (a, b) VALUES ($1, $2) ON CONFLICT (a) DO UPDATE SET (a, b) = (SELECT 1, 2)',
	'SELECT CAST(t.%s AS pg_catalog.int8) FROM %s AS t WHERE t.%s OPERATOR(pg_catalog.=) $1',
	'SELECT t.a FROM @.lb_top($1, $2, CAST(0 AS pg_catalog.int8)) AS t (a, b, c)')
{
	is_deeply([ problems($text, [], \%parameters) ], [], "nothing in: $text");
}

# The sources.  miss.c has hints with words of SQL, and no statement.
my $ntexts = 0;
my (%texts_of, %ctes_in);
for my $file (grep { !m{/planner/miss\.c$} } glob("$tree/src/*.c $tree/src/*/*.c"))
{
	my ($folder) = $file =~ m{(.*)/};

	# A text may be made of parts that stand in several files of a folder.
	$texts_of{$file} = [ c_texts(scalar slurp_file($file)) ];
	push @{ $ctes_in{$folder} }, map { ctes($_->[1]) } @{ $texts_of{$file} };
}
for my $file (sort keys %texts_of)
{
	my @texts = @{ $texts_of{$file} };
	my ($folder, $name) = $file =~ m{(.*)/([^/]+)$};
	my @ctes = @{ $ctes_in{$folder} };
	my @found;

	$ntexts += @texts;
	for my $text (@texts)
	{
		push @found, map { "$name:$text->[0]: $_" } problems($text->[1], \@ctes, \%parameters);
	}
	is(join("\n", @found), '', "$name: " . @texts . ' texts');
}
cmp_ok($ntexts, '>', 100, 'texts in the sources');

# The scripts, with the bodies of their functions.
my $nstatements = 0;
for my $file (sort glob("$tree/sql/leaderboard--*.sql"))
{
	my @texts = sql_texts(scalar slurp_file($file));
	my ($name) = $file =~ m{([^/]+)$};
	my @found;

	for my $text (@texts)
	{
		# The search_path of CREATE EXTENSION begins with pg_catalog, and types and
		# collations are found by their names alone: there, first.
		push @found, map { "$name:$text->[0]: $_" } grep { !/^collation/ } problems($text->[1], [], \%parameters);
	}
	is(join("\n", @found), '', "$name: " . @texts . ' statements');
	$nstatements += @texts;
}
cmp_ok($nstatements, '>', 200, 'statements in the scripts');
done_testing();
