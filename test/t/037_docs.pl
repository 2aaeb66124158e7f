# The documentation: its links lead somewhere, no cell of a table is an essay, and
# the reference has every function, table, view and setting.  src/typedefs.list
# has every typedef.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

my $tree = "$FindBin::RealBin/../..";
my $longest_cell = 200;
my @pages = grep { -e "$tree/$_" }
  (qw(README.md CONTRIBUTING.md CHANGELOG.md test/README.md), map { s{^\Q$tree/\E}{}r } glob("$tree/docs/*.md $tree/examples/*.md $tree/examples/*/*.md"));

# A page's lines outside code blocks.
sub prose
{
	my ($page) = @_;
	my $code = 0;

	return grep { /^\s*```/ ? ($code = !$code) && 0 : !$code } split /\n/, slurp_file("$tree/$page");
}

# The name by which GitHub links to a heading.
sub anchor
{
	my ($heading) = @_;

	$heading =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
	$heading = lc $heading;
	$heading =~ s/[^\w\- ]//g;
	return $heading =~ tr/ /-/r;
}

my %anchors;
for my $page (@pages)
{
	$anchors{$page} = { map { anchor($_) => 1 } map { /^#+ (.*)/ ? $1 : () } prose($page) };
}

for my $page (@pages)
{
	my $folder = $page =~ m{^(.*/)} ? $1 : '';
	my $text = join("\n", map { s/`[^`]*`//gr } prose($page));
	my (@broken, @long);

	while ($text =~ /\[[^\]]*\]\(([^)\s]+)\)/g)
	{
		my ($path, $anchor) = split /#/, $1, 2;
		my $target = $path eq '' ? $page : "$folder$path";

		next if $path =~ /^https?:/;
		1 while $target =~ s{[^/]+/\.\./}{};
		if (!-e "$tree/$target")
		{
			push @broken, "$path: no such file";
		}
		elsif (defined $anchor && !$anchors{$target}{$anchor})
		{
			push @broken, "$path#$anchor: no such heading";
		}
	}
	is_deeply(\@broken, [], "$page: links");

	for my $line (grep { /^\s*\|/ } prose($page))
	{
		utf8::decode($line);
		push @long, map { substr($_, 0, 60) . '...' }
		  grep { length > $longest_cell } split /\s*(?<!\\)\|\s*/, $line;
	}
	is_deeply(\@long, [], "$page: cells of at most $longest_cell characters");
}

# What the script creates, and those of updates after it.
my (%function, %table, %internal);
my @scripts = map { scalar slurp_file($_) }
  sort { length $a <=> length $b || $a cmp $b } glob("$tree/sql/leaderboard--*.sql");
for my $script (@scripts)
{
	while ($script =~ /^(CREATE|DROP)(?: OR REPLACE)? (FUNCTION|TABLE|VIEW) (\@extschema\@|leaderboard_internal)\.(\w+)/mg)
	{
		my ($done, $kind, $schema, $name) = ($1, $2, $3, $4);
		my $set = $kind ne 'FUNCTION' ? \%table : $schema eq 'leaderboard_internal' ? \%internal : \%function;

		$set->{$name} = $done eq 'CREATE';
	}
}
my @functions = grep { $function{$_} } sort keys %function;
my $reference = slurp_file("$tree/docs/reference.md");
my ($internals) = $reference =~ /^## Internal functions\n(.*)/ms;

cmp_ok(scalar @functions, '>', 40, 'there are functions');
is_deeply([ grep { $reference !~ /^### $_\n\n```\n$_\(/m } @functions ],
	[], 'docs/reference.md has an entry with the signature of every function');
is_deeply([ grep { $internal{$_} && $internals !~ /`$_`/ } sort keys %internal ],
	[], 'docs/reference.md names the internal functions');
is_deeply([ grep { !$function{$_} } $reference =~ /^### \w+\n\n```\n(\w+)\(/mg ],
	[], 'docs/reference.md has no other functions');
is_deeply([ grep { $table{$_} && $reference !~ /^\| \[?`$_`/m } sort keys %table ],
	[], 'docs/reference.md has every table and view');

# Settings.
my @settings = slurp_file("$tree/src/leaderboard.c") =~ /DefineCustom\w+\("(leaderboard\.\w+)"/g;

cmp_ok(scalar @settings, '>', 15, 'there are settings');
is_deeply([ $reference =~ /^\| `(leaderboard\.\w+)` \|/mg ],
	[ sort @settings ], 'docs/reference.md has every setting, in order');

# The columns of the view of statistics.
my ($view) = reverse map { /VIEW \@extschema\@\.lb_stat_board AS\nSELECT ([^;]*?)\nFROM/ } @scripts;
my ($table) = slurp_file("$tree/docs/operations.md") =~ /^\| `board`, `source` \|.*?\n\n/ms ? $& : '';
is_deeply([ map { /^\| (.*?) \|/ ? $1 =~ /`(\w+)`/g : () } split /\n/, $table ],
	[ $view =~ /s\.(\w+)/g ], 'docs/operations.md has every column of lb_stat_board, in order');

# Why a board is offline, in the words of the library.
my %literal;
for my $source (map { slurp_file($_) } glob("$tree/src/*/*.[ch]"))
{
	$source =~ s/"\s*\n\s*"//g;
	$literal{$1} = 1 while $source =~ /"([^"\n]*)"/g;
}
my ($offline) = slurp_file("$tree/docs/troubleshooting.md") =~ /^(## Why is my board offline.*?)^## /ms;
my @reasons = map { /^\| (`.*?) \|/ ? $1 =~ /`((?!building)[^`]*)`/g : () } split /\n/, $offline;

cmp_ok(scalar @reasons, '>', 20, 'there are reasons');
is_deeply([ grep { !$literal{$_} } @reasons ], [], 'docs/troubleshooting.md has reasons of the library');

# Names of types, for pgindent.
my @typedefs = split /\n/, slurp_file("$tree/src/typedefs.list");
my %typedef = map { $_ => 1 } @typedefs;
my %defined;
for my $source (map { slurp_file($_) } map { glob("$tree/$_") } qw(src/*.[ch] src/*/*.[ch] test/*/*.[ch] test/*/*/*.[ch]))
{
	$source =~ s{/\*.*?\*/}{}gs;
	$source =~ s/(\{(?:[^{}]|(?1))*\})//g;
	while ($source =~ /^typedef ([^;]*);/mg)
	{
		my $declaration = $1;

		$declaration =~ s/pg_attribute_\w+(?:\([^)]*\))?//g;
		$defined{$1} = 1 if $declaration =~ /\(\*(\w+)\)/ || $declaration =~ /(\w+)\s*(?:\[[^\]]*\]\s*)*$/;
	}
}
is(join(' ', grep { !$typedef{$_} } sort keys %defined), '', 'src/typedefs.list lacks no typedef');
is(join(' ', grep { !$defined{$_} } @typedefs), '', 'src/typedefs.list has no other name');
is_deeply(\@typedefs, [ sort @typedefs ], 'src/typedefs.list is in order');

done_testing();
