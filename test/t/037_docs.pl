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

# A twin has no entry, but a place in the table of functions.
my %twin = $reference =~ /^\| \[`(\w+)`\]\(#\w+\) \| `(\w+_key)` \|/mg;
my %is_twin = reverse %twin;

cmp_ok(scalar keys %twin, '>', 20, 'there are twins');
is_deeply([ grep { $reference !~ /^\| \[`$_`\]\(#$_\) \|/m } grep { !$is_twin{$_} } @functions ],
	[], 'docs/reference.md lists every function');
is_deeply([ grep { $reference !~ /^### $_\n\n```\n$_\(/m } grep { !$is_twin{$_} } @functions ],
	[], '... and has an entry with its signature');
is_deeply([ grep { $is_twin{$_} ne s/_key$//r } keys %is_twin ], [], 'twins have the names of their originals');

# Signatures: arguments with their defaults, and what is returned, as the script has them.
# A twin's result, and that of lb_stat(), refers to another entry.
sub signature
{
	my ($text) = @_;

	$text =~ s/--.*//mg;
	$text =~ s/\s+/ /g;
	$text =~ s/pg_catalog\.//g;
	return $text =~ s/^ | $//gr;
}

my (%in_script, %typed);
for my $script (@scripts)
{
	while ($script =~ /^CREATE FUNCTION \@extschema\@\.(\w+)\(((?:[^()]|\([^()]*\))*)\)\s*RETURNS (.*?)\nAS /msg)
	{
		my ($name, $arguments, $result) = ($1, signature($2), signature($3));
		my @out = $arguments =~ /\bOUT (.*?)(?=, OUT|$)/g;

		$arguments =~ s/(, )?\bOUT .*//;
		$arguments =~ s/ DEFAULT / = /g;
		$result = $result eq 'void' ? '' : @out ? '(' . join(', ', @out) . ')' : $result =~ s/^TABLE /setof /r;
		$result = "($arguments)" . ($result eq '' ? '' : " → $result");

		# Other signatures: with a type for text, and lb_around() without argument's names.
		if ($arguments =~ /\b(?:member|score|lo|hi) any/)
		{
			push @{ $typed{$name} }, $result;
		}
		elsif ($arguments !~ /^\w+, integer$/)
		{
			$in_script{$name} = $result;
		}
	}
}
my %in_reference;
while ($reference =~ /^### (\w+)\n\n```\n\1(\(.*?)\n```$/msg)
{
	my ($name, $found) = ($1, signature($2));

	utf8::decode(my $expected = $in_script{$name});
	utf8::decode($found);
	utf8::decode(my $arrow = ' → ');
	s/timestamp with time zone/timestamptz/g for $expected, $found;
	s/\( /(/g for $expected, $found;
	if ($found =~ /\((?:…|the columns of \w+)\)$/ || $found =~ /\(\W+\)$/)
	{
		s/$arrow.*// for $expected, $found;
	}
	$in_reference{$name} = [ $found, $expected ];
}
is(join("\n", map { "$_$in_reference{$_}[0]" } sort keys %in_reference),
	join("\n", map { "$_$in_reference{$_}[1]" } sort keys %in_reference),
	'docs/reference.md has the signatures of the script');
cmp_ok(scalar keys %in_reference, '==', scalar(grep { !$is_twin{$_} } @functions), 'of all functions but twins');

# A twin has the same arguments and columns, with members and scores as text.
my @differ;
for my $name (sort keys %twin)
{
	my ($original, $as_text) = map { $in_script{$_} // 'nothing' } $name, $twin{$name};

	s/\b(member|score|lo|hi) (?:bigint|text)\b/$1 T/g, s/\bmembers (?:bigint|text)\[\]/members T/g, s/ → (?:bigint|text)$/ → T/
	  for $original, $as_text;
	push @differ, "$name: $original, $as_text" if $original ne $as_text;
}
is_deeply(\@differ, [], 'twins differ from their originals in the types of members and scores only');

# With a type it has the same again: one for each, or both, of score and member.
my @typed = map { my $twin = $_; map { "$twin: " . s/\bany\w+/text/gr } @{ $typed{$twin} } } sort keys %typed;

is_deeply([ grep { $in_script{ s/:.*//r } ne s/.*?: //r } @typed ], [], 'typed signatures of twins are those with text');
is_deeply([ grep { (split / → /, $in_script{$_})[0] =~ /\b(?:member|score|lo|hi) text/ && !$typed{$_} } sort values %twin ],
	[], 'each twin with a member or a score has one');
is_deeply([ grep { $internal{$_} && $internals !~ /`$_`/ } sort keys %internal ],
	[], 'docs/reference.md names the internal functions');
is_deeply([ grep { !$function{$_} } $reference =~ /^### \w+\n\n```\n(\w+)\(/mg ],
	[], 'docs/reference.md has no other functions');
is_deeply([ grep { $table{$_} && $reference !~ /^\| \[?`$_`/m } sort keys %table ],
	[], 'docs/reference.md has every table and view');

# Tables: their columns, and which of them all roles may read.
my (@missing, @readable);
for my $script (@scripts)
{
	while ($script =~ /^CREATE TABLE \@extschema\@\.(\w+) \(\n(.*?)^\)/msg)
	{
		my ($name, $columns) = ($1, $2);
		my ($section) = $reference =~ /^### $name\n(.*?)^##/ms;

		push @missing, map { "$name.$_" } grep { ($section // '') !~ /`$_[` ]/ } $columns =~ /^\t([a-z]\w*)\s/mg;
	}
	push @readable, $script =~ /^GRANT SELECT.* ON TABLE \@extschema\@\.(\w+) TO PUBLIC;/mg;
}
is_deeply(\@missing, [], 'docs/reference.md has every column of every table');
is_deeply([ sort map { /^\| \[`(\w+)`\].*\| all[^|]*\|$/ ? $1 : () } split /\n/, $reference ],
	[ sort @readable ], 'docs/reference.md says which tables all roles may read');

# Settings, as the library defines them, but for those of builds for tests.
my %units = (GUC_UNIT_S => 's', GUC_UNIT_MS => 'ms', GUC_UNIT_KB => 'kB');
my %contexts = (PGC_SUSET => 'superuser', PGC_SIGHUP => 'reload', PGC_USERSET => 'any time', PGC_POSTMASTER => 'server start');
my %sizes = (s => [ [ 86400, 'd' ], [ 60, 'min' ], [ 1, 's' ] ], ms => [ [ 1000, 's' ], [ 1, 'ms' ] ], kB => [ [ 1024, 'MB' ], [ 1, 'kB' ] ]);
my %settings;
for my $source (map { slurp_file($_) } grep { !m{/(?:pause|planted)\.c$} } glob("$tree/src/*.c $tree/src/*/*.c"))
{
	while ($source =~ /DefineCustom(\w+)Variable\("(leaderboard\.\w+)",(.*?)\n\s+\w+, \w+, \w+\);/msg)
	{
		my ($type, $name, $rest) = ($1, $2, $3);
		my ($default) = $rest =~ /&\w+(?:\.\w+)?,\s*([^,]+),/;
		my ($context, $flags) = $rest =~ /(PGC_\w+), ([\w| ]+),$/m;
		my ($unit) = map { $units{$_} // () } split / \| /, $flags;

		if ($type eq 'Int' && defined $unit && $default =~ /^[\d *]+$/ && eval $default)
		{
			my ($size) = grep { eval($default) % $_->[0] == 0 } @{ $sizes{$unit} };

			$default = eval($default) / $size->[0] . " $size->[1]";
		}
		$default =~ s/^true$/on/;
		$default =~ s/^false$/off/;
		$settings{$name} = [ $type, $default, $unit // '', $contexts{$context} ];
	}
}
my (@rows, @expected);
for ($reference =~ /^\| (`leaderboard\.\w+` \|.*)$/mg)
{
	my ($name, $default, $unit, $change) = split /\s*\|\s*/;

	$name =~ tr/`//d;
	$default =~ s/,.*//;
	push @rows, "$name $default $unit, $change";
	next unless $settings{$name};
	my @setting = @{ $settings{$name} };

	# Of an enumeration the source has a constant.
	$setting[1] = $default if $setting[0] eq 'Enum';
	push @expected, "$name $setting[1] $setting[2], $setting[3]";
}
cmp_ok(scalar keys %settings, '>', 15, 'there are settings');
is_deeply(\@rows, \@expected, 'docs/reference.md has the settings of the library, with defaults, units and who can change them');
is_deeply([ map { /^(\S+)/ } @rows ], [ sort keys %settings ], 'all of them, in order');

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

# Why a query misses its board, and what to write, in the words of the library.
my ($texts) = slurp_file("$tree/src/planner/miss.c") =~ /lb_miss_texts\[LB_NMISSES\] = \{\n(.*?)^\};/ms;
my ($misses) = slurp_file("$tree/docs/plain-sql.md") =~ /^## Why a query misses its board\n(.*?)^## /ms;
my @words = map { s/\\"/"/gr =~ s/%s/\x{2026}/gr } $texts =~ /"((?:[^"\\]|\\.)*)"/g;
my @enum = slurp_file("$tree/src/planner/miss.h") =~ /^\t(LB_MISS_\w+),$/mg;

utf8::decode($misses);
cmp_ok(scalar @enum, '>', 30, 'there are reasons of misses');
is_deeply([ $texts =~ /^\t\[(\w+)\] = /mg ], \@enum, 'each has a text, in order');
is_deeply([ map { /^\| (?!reason|-)(.*) \|$/ ? split / \| /, $1 : () } split /\n/, $misses ], \@words, 'docs/plain-sql.md has reasons and hints of misses');

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
