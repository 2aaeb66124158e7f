# Searches SQL for names that depend on search_path.
#
# In texts that must not use other roles' objects it looks for: functions,
# operators, types and relations without their schema; syntax whose operator is
# looked up by search_path (IN, BETWEEN, LIKE, NULLIF, IS DISTINCT FROM, CASE x
# WHEN, JOIN USING); calls of the extension's own functions that leave arguments
# to their defaults, which a function with fewer parameters would fit as well.
#
# It is no parser of SQL.  It knows the syntax by its keywords, which have to be
# in capitals as they are everywhere in this tree; everything else that could be
# a name has to be qualified.

package LbNames;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(c_texts sql_texts problems ctes parameters);

# Keywords that a parenthesis may follow without being a call.
my %syntax = map { $_ => 1 } qw(
	ALL AND ANY ARRAY AS BY CAST CHECK COALESCE CONFLICT DISTINCT ELSE EXISTS
	FILTER FROM GREATEST GROUP HAVING INTO KEY LATERAL LEAST LIMIT MATERIALIZED
	NOT OFFSET ON OR OVER RETURNING ROW ROWS SELECT SET TABLE THEN UNION UNIQUE
	USING VALUES WHEN WHERE WITH WITHIN);

# Words that end a list of relations.
my %after_from = map { $_ => 1 } qw(
	WHERE GROUP ORDER HAVING LIMIT OFFSET UNION RETURNING FOR SET SELECT ON);

# The SQL in a C file: literals that stand beside each other, with %s for what
# macros and variables put between.  Of each, the line and the text.
sub c_texts
{
	my ($c) = @_;
	my $literal = qr/"(?:[^"\\\n]|\\.)*"/;
	my @texts;

	# Line numbers must stay.
	$c =~ s{("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(/\*.*?\*/)}{defined $1 ? $1 : $2 =~ tr/\n//cdr}gse;
	$c =~ s/\\\n/ \n/g;
	while ($c =~ /$literal(?:\s*(?:[A-Za-z_]\w*\s*)?$literal)*/g)
	{
		my ($start, $all) = ($-[0], $&);
		my $before = substr($c, 0, $start);
		my $text = '';

		# Messages are no statements.
		next if $before =~ /\b(?:errmsg|errmsg_plural|errmsg_internal|errdetail|errhint|errcontext|elog|gettext_noop|include)\s*\(?(?:\s*[A-Z]+\s*,)?\s*(?:[^();]*\?\s*|[^();]*:\s*)?$/;
		while ($all =~ /\G\s*(?:([A-Za-z_]\w*)\s*)?($literal)/g)
		{
			$text .= '%s' if defined $1;
			$text .= substr($2, 1, -1);
		}
		$text =~ s/\\n/\n/g;
		$text =~ s/\\(.)/$1/g;
		next unless $text =~ /\b(?:SELECT|WITH|INSERT|UPDATE|DELETE|FROM|WHERE|AND|OR|JOIN|ORDER BY|LIMIT|OFFSET|CAST|COALESCE|GREATEST|LEAST|RETURNING|VALUES|UNION|CASE|OPERATOR|LATERAL|CREATE|CONFLICT|DEFAULT|SET)\b/
		  || $text =~ /pg_catalog|\@\.|\(\*\)|\bOVER \(/;
		push @texts, [ 1 + ($before =~ tr/\n//), $text ];
	}
	return @texts;
}

# The statements of a script, and the bodies in them.
sub sql_texts
{
	my ($sql) = @_;
	my @texts;
	my @bodies;

	$sql =~ s/^\\.*$//mg;
	$sql =~ s{('(?:[^']|'')*')|(/\*.*?\*/)|--[^\n]*}{defined $1 ? $1 : ($2 // '') =~ tr/\n//cdr}gse;
	while ($sql =~ /\G((?:'(?:[^']|'')*'|\$(\w*)\$.*?\$\2\$|[^;'])*?);/gs)
	{
		my ($start, $text) = ($-[0], $1);
		my $line = 1 + (substr($sql, 0, $start) =~ tr/\n//) + ($text =~ /^(\s*)/ ? ($1 =~ tr/\n//) : 0);

		push @bodies, [ $line, $2 ] while $text =~ /\$(\w*)\$(.*?)\$\1\$/gs;
		$text =~ s/\$(\w*)\$.*?\$\1\$/''/gs;
		push @texts, [ $line, $text ];
	}
	return (@texts, @bodies);
}

# Function => how many arguments it takes, of the functions that a script makes.
sub parameters
{
	my ($sql) = @_;
	my %n;

	while ($sql =~ /CREATE (?:OR REPLACE )?FUNCTION (?:\@extschema\@|leaderboard_internal)\.(\w+)\s*(\((?:[^()]|\([^()]*\))*\))/g)
	{
		my ($name, $list) = ($1, substr($2, 1, -1));

		1 while $list =~ s/\([^()]*\)//g;
		$n{$name} = grep { /\S/ && !/^\s*OUT\s/ } split /,/, $list;
	}
	return \%n;
}

sub tokens
{
	my ($text) = @_;
	my @tokens;

	while ($text =~ /\G\s*(?:
		(?<string>[eE]?'(?:[^']|'')*')
		|(?<place>%%\d+\$L|%[-0-9.*]*l*[sduzc]|\{\S+?\}|\$\d+)
		|(?<own>\@extschema\@|\@(?=\.))
		|(?<quoted>"(?:[^"]|"")*")
		|(?<number>\d+(?:\.\d+)?)
		|(?<name>[A-Za-z_][\w\$]*(?:%s)?)
		|(?<cast>::)
		|(?<operator>[-+*\/<>=~!\@\#%^&|`?]+)
		|(?<other>.)
		)/gsx)
	{
		my ($kind) = keys %+;

		push @tokens, { kind => $kind, text => $+{$kind} };
	}
	return @tokens;
}

# Names of common table expressions.
sub ctes
{
	my ($text) = @_;

	return $text =~ /(?:WITH|,)\s+([a-z]\w*)\s*(?:\([^()]*\))?\s+AS\s+(?:MATERIALIZED\s+)?\(/g;
}

# The problems of a text.  $ctes: names that are no tables; $parameters as
# parameters() returns them.
sub problems
{
	my ($text, $ctes, $parameters) = @_;
	my @t = tokens($text);
	my @problems;
	my %cte = map { $_ => 1 } @$ctes, ctes($text);
	my @open;		# per parenthesis: what it is of
	my $from = {};	# depth => in a list of relations
	my $setting = 0;	# in SET a = b, c = d

	my $word = sub { my $t = $t[ $_[0] ]; return $_[0] >= 0 && $t ? $t->{text} : '' };
	my $kind = sub { my $t = $t[ $_[0] ]; return $_[0] >= 0 && $t ? $t->{kind} : '' };
	my $is_keyword = sub { return $kind->($_[0]) eq 'name' && $word->($_[0]) =~ /^[A-Z][A-Z_]*$/ };
	my $wrong = sub {
		my ($i, $what) = @_;
		my $first = $i > 4 ? $i - 4 : 0;
		my $last = $i + 4 < $#t ? $i + 4 : $#t;

		push @problems, "$what: " . join(' ', map { $_->{text} } @t[ $first .. $last ]);
	};

	# Whether a name at $i is qualified, or no name.
	my $known = sub {
		my ($i) = @_;

		return $word->($i - 1) eq '.' || $word->($i + 1) eq '.' || $kind->($i) eq 'place' || $kind->($i) eq 'own';
	};

	# A relation must come at $i.
	my $relation = sub {
		my ($i) = @_;

		$i++ while $word->($i) =~ /^(?:ONLY|LATERAL)$/;
		return if $i > $#t || $word->($i) eq '(' || $is_keyword->($i) || $known->($i);
		return if $cte{ $word->($i) };
		$wrong->($i, 'relation without a schema') if $kind->($i) =~ /^(?:name|quoted)$/;
	};

	for (my $i = 0; $i <= $#t; $i++)
	{
		my $w = $word->($i);
		my $k = $kind->($i);
		my $depth = @open;

		if ($w eq 'OPERATOR' && $word->($i + 1) eq '(')
		{
			$wrong->($i, 'operator of another schema') unless $word->($i + 2) eq 'pg_catalog' && $word->($i + 3) eq '.';
			$i++ until $i > $#t || $word->($i) eq ')';
			next;
		}
		if ($w eq '(' || $w eq '[')
		{
			my $of = $k eq 'other' && $i > 0 && $w eq '(' ? $word->($i - 1) : '';
			my $own = $w eq '(' && $kind->($i - 3) eq 'own' && $word->($i - 2) eq '.' ? $of : undef;

			push @open, { of => $of, own => $own, args => $word->($i + 1) eq ')' ? 0 : 1, setting => $setting };
			$setting = 0;
			if ($w eq '(' && ($kind->($i - 1) eq 'name' || $kind->($i - 1) eq 'quoted')
				&& !$syntax{$of} && !$known->($i - 1))
			{
				my $close = $i;
				my $level = 0;

				# An alias, or a common table expression, with its columns.
				do
				{
					$level++ if $word->($close) eq '(';
					$level-- if $word->($close) eq ')';
					$close++;
				} while ($level > 0 && $close <= $#t);
				$wrong->($i - 1, 'function without a schema')
				  unless $word->($i - 2) =~ /^(?:AS|\))$/ && $of =~ /^[a-z]/
				  || $word->($i - 2) =~ /^(?:WITH|,)$/ && $word->($close) eq 'AS'
				  || $of eq 'IN'
				  || $word->($i - 2) eq 'CONSTRAINT' || $word->($i - 2) eq 'USING' && $of =~ /^(?:brin|btree|hash)$/;
			}
			$from->{ @open + 0 } = 0;
			next;
		}
		if ($w eq ')' || $w eq ']')
		{
			my $closed = pop @open;

			$setting = $closed->{setting} if $closed;
			if ($closed && defined $closed->{own} && $parameters && exists $parameters->{ $closed->{own} }
				&& $text !~ /^\s*(?:CREATE|COMMENT|REVOKE|GRANT|ALTER|DROP)\b/
				&& $parameters->{ $closed->{own} } != $closed->{args})
			{
				$wrong->($i, "$closed->{own}() not with all arguments");
			}
			next;
		}
		if ($w eq ',')
		{
			$open[-1]{args}++ if @open;
			$relation->($i + 1) if $from->{$depth};
			next;
		}
		if ($k eq 'cast')
		{
			$wrong->($i, '"::" instead of CAST()');
			next;
		}
		if ($k eq 'operator')
		{
			next if $w eq '*' && ($word->($i - 1) =~ /^(?:SELECT|\.|\(|,|RETURNING)$/);
			next if $w eq '=' && ($setting || $i <= 2 && $word->(0) eq ',' || @open && $open[-1]{of} eq 'WITH');
			next if $w eq '-' && $kind->($i + 1) eq 'number' && $word->($i - 1) =~ /^[(,]$/;
			# Beginnings of names of ours that go on elsewhere.
			next if $w eq '@' && $i == $#t;
			$wrong->($i, $w eq '=>' ? 'argument by name' : 'operator without a schema');
			next;
		}
		if ($k eq 'string')
		{
			$wrong->($i - 1, 'type without a schema')
			  if $kind->($i - 1) eq 'name' && !$is_keyword->($i - 1) && $word->($i - 2) ne '.'
			  && !($word->($i - 2) =~ /^(?:AS)$/);
			$wrong->($i - 1, 'type without a schema')
			  if $word->($i - 1) =~ /^(?:INTERVAL|TIMESTAMP|TIMESTAMPTZ|DATE|TIME|INTEGER|BIGINT|TEXT|NUMERIC|BOOLEAN)$/;
			next;
		}
		next if $k ne 'name';
		$wrong->($i, "$w looks an operator up")
		  if $w eq 'IN' && $word->($i - 1) ne 'VALUES'	# a partition's
		  || $w =~ /^(?:BETWEEN|LIKE|ILIKE|SIMILAR|NULLIF|OVERLAPS|NATURAL)$/
		  || $w eq 'DISTINCT' && $word->($i - 1) =~ /^(?:IS|NOT)$/
		  || $w eq 'CASE' && $i < $#t && $word->($i + 1) ne 'WHEN'
		  || $w eq 'USING' && $word->($i + 1) eq '(';
		$wrong->($i, 'syntax that calls a function') if $w =~ /^(?:EXTRACT|POSITION|SUBSTRING|OVERLAY|TRIM|ZONE)$/;
		if ($w eq 'AS' && @open && $open[-1]{of} eq 'CAST')
		{
			$wrong->($i + 1, 'type without a schema') unless $known->($i + 1) || $i == $#t;
		}
		if ($w eq 'COLLATE')
		{
			$wrong->($i + 1, 'collation without a schema') unless $known->($i + 1);
		}
		if ($w eq 'SET')
		{
			$setting = 1;
		}
		elsif ($w =~ /^(?:WHERE|RETURNING|FROM|SELECT)$/)
		{
			$setting = 0;
		}
		if ($w =~ /^(?:FROM|JOIN|INTO)$/ || $w eq 'UPDATE' && $word->($i + 1) ne 'SET')
		{
			$relation->($i + 1);
		}
		if ($w eq 'FROM' && $word->($i - 1) ne 'DISTINCT')
		{
			$from->{$depth} = 1 if $word->($i + 1) ne '(' || $word->($i - 1) ne 'ROWS';
		}
		elsif ($after_from{$w})
		{
			$from->{$depth} = 0 unless $w eq 'ON';
		}
	}
	return @problems;
}

1;
