# The folders of src are layers: a file includes headers of its own folder and of
# those below it only.  No two files need each other, and a header declares what
# the file of its name defines.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

my $src = "$FindBin::RealBin/../../src";

# From the lowest to the highest.
my @layers = qw(index util boards sql ledger feed capture reads planner workers leaderboards submit rules windows players watch
  admin citus);
my %level = map { $layers[$_] => $_ } 0 .. $#layers;
my $top = @layers;

my (%includes, %system);
for my $file (map { glob("$src/$_") } '*.[ch]', '*/*.[ch]')
{
	my $text = slurp_file($file);
	my $name = substr($file, length($src) + 1);

	$includes{$name} = [ grep { -e "$src/$_" } $text =~ /^#include "([^"]+)"/mg ];
	$system{$name} = [ grep { !-e "$src/$_" } $text =~ /^#include "([^"]+)"/mg ];
}
cmp_ok(scalar keys %includes, '>', 50, 'there are sources');

sub level
{
	my ($file) = @_;

	return $top unless $file =~ m{^(\w+)/};
	return $level{$1} // BAIL_OUT("$file is in a folder that this test does not know");
}

# Upwards.
my @up;
for my $file (sort keys %includes)
{
	push @up, map { "$file -> $_" }
	  grep { level($_) > level($file) } @{ $includes{$file} };
}
is(join("\n", @up), '', 'no file includes a header of a higher layer');

# Circles.  A file and its headers are one.
my %needs;
for my $file (keys %includes)
{
	my $unit = $file =~ s/(_internal)?\.[ch]$//r;

	for my $header (@{ $includes{$file} })
	{
		my $other = $header =~ s/(_internal)?\.h$//r;

		$needs{$unit}{$other} = 1 if $other ne $unit;
	}
}
my (%state, @circles);

sub visit
{
	my ($unit, @path) = @_;

	return if ($state{$unit} // '') eq 'done';
	if (($state{$unit} // '') eq 'open')
	{
		shift @path while $path[0] ne $unit;
		push @circles, join(' -> ', @path, $unit);
		return;
	}
	$state{$unit} = 'open';
	visit($_, @path, $unit) for sort keys %{ $needs{$unit} };
	$state{$unit} = 'done';
}
visit($_) for sort keys %needs;
is(join("\n", @circles), '', 'no files need each other');

# The index knows nothing of PostgreSQL.
is( join("\n", map { my $f = $_; map { "$f: $_" } @{ $system{$f} } }
	  sort grep { m{^index/} } keys %system),
	'', 'index/ includes nothing of the server');

# A header declares what the file of its name defines, or, if that is in parts, one
# of name_part.c.  The index leaves its lock to util/.
my %elsewhere = map { $_ => 1 } qw(lb_lock_acquire lb_lock_release);
my @foreign;
for my $header (sort grep { /\.h$/ } keys %includes)
{
	my $text = slurp_file("$src/$header") =~ s{/\*.*?\*/}{}gsr;
	my $name = $header =~ s/(_internal)?\.h$//r;
	my $code = join('', map { slurp_file($_) } grep { -e } glob("$src/$name.c $src/${name}_*.c"));

	push @foreign, map { "$header: $_" }
	  grep { !$elsewhere{$_} && $code !~ /^\Q$_\E\(/m }
	  $text =~ /^extern [^;{(]*?\b(\w+)\s*\(/mg;
	push @foreign, map { "$header: $_" }
	  grep { $code !~ /^(?!extern|static|\s)[^\n(]*\b\Q$_\E\b(\[[^\n]*\])?\s*(=|;)/m }
	  $text =~ /^extern [^;(]*?\b(\w+)(?:\[\w*\])?;/mg;
}
is(join("\n", @foreign), '', 'a header declares what its file defines');

# A folder of more than ten files lists them.
my (%folder, @unlisted);
push @{ $folder{$_->[0]} }, $_->[1] for map { [ m{^(\w+)/(\w+\.[ch])$} ] } grep { m{/} } sort keys %includes;
for my $name (sort keys %folder)
{
	my $readme = -e "$src/$name/README" ? slurp_file("$src/$name/README") : '';

	next if $readme eq '' && @{ $folder{$name} } <= 10;
	push @unlisted, map { "$name/$_" } grep { /\.c$/ && $readme !~ /^\s+(?:\.\.\. )?\Q$_\E\s/m } @{ $folder{$name} };
}
is(join("\n", @unlisted), '', 'READMEs list the files of their folders');

# The table of what is read without a lock.
my $unlocked = slurp_file("$src/ledger/README");
my @places = $unlocked =~ m{^(\w+/\w+\.[ch] \w+\(\))$}mg;
my (%has_place, @gone);
for (@places)
{
	my ($file, $function) = m{^(\S+) (\w+)};

	$has_place{$file} = 1;
	push @gone, $_ unless -e "$src/$file" && slurp_file("$src/$file") =~ /^\Q$function\E\(/m;
}
cmp_ok(scalar @places, '>', 20, 'ledger/README has places');
is(join("\n", @gone), '', 'ledger/README names functions that there are');
my $unlocked_access = qr/\bpg_(?:read|write|memory)_barrier\(|\bpg_atomic_(?:read|exchange|compare_exchange|fetch_(?:and|or))_u\d|\*\((?:const )?volatile /;
is(join("\n", grep { !$has_place{$_} && slurp_file("$src/$_") =~ $unlocked_access } sort keys %includes),
	'', 'ledger/README has each file that has a barrier or reads an atomic variable');

# Each folder says which of its loops go over what a user supplies.
my $all_code = join('', map { slurp_file("$src/$_") } sort keys %includes);
my (@silent, @no_loop);
for my $name (sort keys %folder)
{
	my $readme = -e "$src/$name/README" ? slurp_file("$src/$name/README") : '';

	if ($readme !~ /^Loops over what a user supplies\n-{31}\n\n(\S.*?)(?=\n\n\n|\z)/ms)
	{
		push @silent, $name;
		next;
	}
	push @no_loop, map { "$name: $_" } grep { $all_code !~ /^\Q$_\E\(/m } $1 =~ /\b([a-z]\w+)\(\)/g;
}
is(join("\n", @silent), '', 'each README has its loops over what a user supplies');
is(join("\n", @no_loop), '', '... and names functions that there are');

# Comments that begin a line; pgindent fits those behind code.
my @wide;
for my $file (sort keys %includes)
{
	my ($inside, $number) = (0, 0);

	for my $line (split /\n/, slurp_file("$src/$file"))
	{
		my $begins = $line =~ m{^\s*/\*};

		$number++;
		1 while $line =~ s/^( *(?:[^\t]{4})*[^\t]{0,3})\t/$1 . ' ' x (4 - length($1) % 4)/e;
		push @wide, "$file:$number" if ($begins || $inside && $line =~ /^ {0,3}\*/) && length $line > 79;
		$inside = 1 if $line =~ m{/\*(?!.*\*/)};
		$inside = 0 if $line =~ m{\*/};
	}
}
is(join("\n", @wide), '', 'no comment is wider than 79 columns');

# PostgreSQL 19 crashes where a descriptor is used that is not complete, and no compiler
# warns.
is( join("\n", grep {
			my $text = slurp_file("$src/$_");
			my $made = () = $text =~ /\bCreateTemplateTupleDesc\(/g;
			my $done = () = $text =~ /^\s+TupleDescFinalize\(/mg;

			$made != $done } sort keys %includes),
	'', 'each row descriptor is finalized');

done_testing();
