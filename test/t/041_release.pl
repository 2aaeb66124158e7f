# What releases, packages and images say of themselves: one version everywhere,
# META.json as PGXN wants it, and what workflows and images refer to.

use strict;
use warnings;

use FindBin;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use YAML::XS 'LoadFile';

my $tree = "$FindBin::RealBin/../..";

sub file
{
	return slurp_file("$tree/$_[0]");
}

# The version.
my ($version) = file('leaderboard.control') =~ /^default_version = '(\d+\.\d+)'$/m;
my $meta = decode_json(file('META.json'));

ok(defined $version, 'leaderboard.control has a version');
ok((grep { -e } glob("$tree/sql/leaderboard--{*--,}$version.sql")), 'a script creates it');
# PGXN's versions have three numbers.
is($meta->{version}, "$version.0", 'version of META.json');
is($meta->{provides}{leaderboard}{version}, "$version.0", 'version of what META.json provides');
is((file('CHANGELOG.md') =~ /^## (\S+)/m)[0], $version, 'version of CHANGELOG.md');
is((file('debian/changelog') =~ /^\S+ \(([^)]*)-[^)-]*\)/)[0], $version, 'version of debian/changelog');

# META.json: https://pgxn.org/spec
my %known = map { $_ => 1 } qw(abstract maintainer license meta-spec name version provides
  generated_by description tags no_index prereqs release_status resources);

is_deeply([ grep { !$known{$_} && !/^x_/i } sort keys %$meta ], [], 'META.json has fields of the specification');
for my $field (qw(abstract name version license maintainer))
{
	ok(!ref $meta->{$field} && length $meta->{$field}, "META.json: $field");
}
like($_, qr{^[^\s/\\[:cntrl:]]{2,}$}, "META.json: \"$_\" is a name") for $meta->{name}, keys %{ $meta->{provides} };
is($meta->{name}, 'leaderboard', 'META.json has the name that make dist uses');
is($meta->{license}, 'postgresql', 'META.json: a license that PGXN knows');
like($meta->{release_status}, qr/^(stable|testing|unstable)$/, 'META.json: status of the release');
is($meta->{'meta-spec'}{version}, '1.0.0', 'META.json: version of the specification');
like($meta->{'meta-spec'}{url}, qr{^https?://pgxn\.org/}, 'META.json: the specification');
for my $extension (values %{ $meta->{provides} })
{
	ok(-e "$tree/$extension->{$_}", "META.json: $extension->{$_} exists") for qw(file docfile);
	ok(length $extension->{abstract}, 'META.json: abstract of the extension');
}
like($_, qr{^[^/\\[:cntrl:]]{1,256}$}, "META.json: \"$_\" is a tag") for @{ $meta->{tags} };
is(scalar(grep { !/^\d+\.\d+\.\d+$/ } map { values %$_ } map { values %$_ } values %{ $meta->{prereqs} }),
	0, 'META.json: versions that it needs');

# The workflow.
my $jobs = LoadFile("$tree/.github/workflows/ci.yml")->{jobs};
my @steps = map { @{ $_->{steps} } } values %$jobs;

cmp_ok(scalar @steps, '>', 5, 'the workflow has steps');
is_deeply([ grep { defined $_->{run} == defined $_->{uses} } @steps ], [],
	'each step of the workflow either runs something or uses an action');
is_deeply([ grep { !m{^[\w-]+/[\w-]+\@[0-9a-f]{40}$} } map { $_->{uses} // () } @steps ], [],
	'the workflow names actions by their commits');
is_deeply($jobs->{$_}{strategy}{matrix}{postgres}, [ 15, 16, 17, 18 ], "workflow: versions of $_")
  for qw(install image);

my $makefile = file('Makefile');
my %target = map { $_ => 1 } qw(install installcheck), map { split } $makefile =~ /^(\w[\w -]*):/mg;

is_deeply([ grep { !$target{$_} } map { ($_->{run} // '') =~ /\bmake (?!-)([a-z][\w-]*)/g } @steps ], [],
	'the workflow makes what the Makefile has');

# The image.
my $dockerfile = file('Dockerfile');
my $db = LoadFile("$tree/compose.yaml")->{services}{db};
my ($default) = $dockerfile =~ /^ARG PG_MAJOR=(\d+)$/m;
my @copied = map { split } $dockerfile =~ /^COPY (?!--)(.*) \S+$/mg;

cmp_ok(scalar @copied, '>=', 4, 'the Dockerfile copies files');
is_deeply([ grep { !-e "$tree/$_" } @copied ], [], 'the Dockerfile copies what there is');
is($db->{build}{args}{PG_MAJOR}, "\${PG_MAJOR:-$default}", 'compose.yaml builds the version of the Dockerfile');
is_deeply([ grep { /^\./ && !(m{^(\./[^:]+):} && -f "$tree/$1") } @{ $db->{volumes} } ], [],
	'compose.yaml mounts scripts that there are');

done_testing();
