# Random writes on distributed tables, while shards are moved and split, servers are
# killed, transactions are left in doubt, and tables are altered.  Between the rounds of
# writes nothing changes: then each read function returns, on every server, what its query
# (lib/oracle.sql) returns on a plain table with the same rows.
#
# COMPARISONS=2000 is at least how many are made, SEED=random begins the random numbers.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t", $FindBin::RealBin;
use LbCitus;
use LbTest;
use List::Util qw(shuffle);
use PostgreSQL::Test::Utils;
use Test::More;

my $wanted = $ENV{COMPARISONS} || 2000;
my $seed = $ENV{SEED} || 1 + int rand 1e6;
srand $seed;
diag("seed $seed, $wanted comparisons");

my $players = 70;
my @nodes = citus_nodes();
my ($node, @workers) = @nodes;

# member and score are the values of a number, in words of pgbench.  A board's condition
# is that of lbt.queries().
my %tables = (
	ints => {
		columns => 'player_id bigint PRIMARY KEY, score bigint NOT NULL, at timestamptz',
		by => 'player_id', key => ['player_id'], member => ['%s'], score => '%s',
		at => q{timestamptz '2026-01-01' + %s %% 3 * interval '25 h'},
		create => q{rank_by => 'score DESC, at ASC'}, order => [ 'DESC', 'at ASC', 'row_number' ],
	},
	uuids => {
		columns => 'id uuid PRIMARY KEY, score numeric(12,2), at boolean',
		by => 'id', key => ['id'], member => ['lbt.uuid_of(%s)'], score => '(%s) / 4.0',
		at => '%s %% 2 = 0',
		create => q{'id', 'score DESC, at ASC', method => 'rank'}, order => [ 'DESC', 'at ASC', 'rank' ],
	},
	texts => {
		columns => 'name text PRIMARY KEY, score double precision, at text',
		by => 'name', key => ['name'], member => ['lbt.text_of(%s)'],
		score => q{(CASE (%1$s) %% 19 WHEN 7 THEN float8 'Infinity' WHEN 8 THEN 'NaN' WHEN 9 THEN '5e-324' ELSE (%1$s) / 7.0 END)},
		at => q{repeat('t', %s %% 20)},
		create => q{'name', 'score ASC, at DESC'}, order => [ 'ASC', 'at COLLATE "C" DESC', 'row_number' ],
	},
	pairs => {
		columns => 'guild integer, player bigint, score timestamptz, at real, PRIMARY KEY (guild, player)',
		by => 'player', key => [ 'guild', 'player' ], member => [ '(%s) %% 5', '(%s) / 5' ],
		score => q{timestamptz '2026-03-01' + (%s) * interval '1.000001 s'},
		at => '(%s) / real \'3\'',
		create => q{'guild, player', method => 'dense_rank'}, order => [ 'DESC', undef, 'dense_rank' ],
	},
	games => {
		columns => 'player_id bigint, game text, score integer, at date, ok boolean DEFAULT true, PRIMARY KEY (player_id, game)',
		by => 'player_id', key => [ 'player_id', 'game' ], member => [ '(%s) / 3', q{'g' || (%s) %% 3} ], score => '%s',
		at => q{date '2026-01-01' + %s},
		create => q{rank_by => 'score DESC, at DESC', board_column => 'game', ranked_if => 'ok'},
		order => [ 'DESC', 'at DESC', 'row_number' ],
	});

# Of a board, what lbt.queries() takes after its source
sub asked
{
	my ($name, $cond, $member) = @_;

	return join(', ', map { defined $_ ? "'" . s/'/''/gr . "'" : 'NULL' } $cond, $member, 'score', @{ $tables{$name}{order} });
}

my @boards = (map({ [ $_, $_, asked($_, 'score IS NOT NULL', join(', ', @{ $tables{$_}{key} })) ] } qw(ints uuids texts pairs)),
	map { [ 'games', "games:$_", asked('games', "ok AND score IS NOT NULL AND game = '$_'", 'player_id') ] } qw(g0 g2 none));

# The oracle and the plain tables are each server's own.
for my $n (@nodes)
{
	local $ENV{PGOPTIONS} = '-c citus.enable_ddl_propagation=off -c client_min_messages=warning';

	$n->safe_psql('postgres', "\\i $FindBin::RealBin/../lib/oracle.sql");
	$n->safe_psql('postgres', "CREATE TABLE plain_$_ ($tables{$_}{columns})") for sort keys %tables;
}
for (sort keys %tables)
{
	$node->safe_psql('postgres', "CREATE TABLE $_ ($tables{$_}{columns}, extra integer)");
	$node->safe_psql('postgres', "SELECT create_distributed_table('$_', '$tables{$_}{by}', shard_count => 4, colocate_with => 'none')");
	$node->safe_psql('postgres', "SELECT lb_create_board('$_', '$_', $tables{$_}{create})");
}
$node->safe_psql('postgres', 'SELECT lb_wait_ready()');

# What pgbench runs on a table
sub script
{
	my ($name) = @_;
	my $t = $tables{$name};
	my $file = $node->basedir . "/$name.sql";
	my $key = join(', ', @{ $t->{key} });
	my $is = sub {
		my ($i) = @_;
		my @member = @{ $t->{member} };

		return join(' AND ', map { my $column = $_; "$column = " . sprintf(shift @member, $i) } @{ $t->{key} });
	};
	my $set = sub { return join(', ', 'score = ' . sprintf($t->{score}, $_[0]), 'at = ' . sprintf($t->{at}, $_[0])) };
	my $insert = "INSERT INTO $name ($key, score, at) SELECT " . join(', ', map({ sprintf($_, 'g') } @{ $t->{member} }),
		sprintf($t->{score}, 'g * :s % 50'), sprintf($t->{at}, 'g'));
	my $conflict = "ON CONFLICT ($key) DO UPDATE SET score = EXCLUDED.score, at = EXCLUDED.at";
	my $hide = $name eq 'games' ? "UPDATE games SET ok = NOT ok WHERE player_id = :i;" : '';

	PostgreSQL::Test::Utils::append_to_file($file, <<"END");
\\set i random(1, $players)
\\set j random(1, $players)
\\set s random(0, 40)
\\set n random(0, 15)
$insert FROM generate_series(:i, :i + :n) g $conflict;
UPDATE $name SET @{[ $set->(':s') ]} WHERE @{[ $is->(':j') ]};
BEGIN;
UPDATE $name SET @{[ $set->(':s + 1') ]} WHERE @{[ $is->(':i') ]};
DELETE FROM $name WHERE @{[ $is->(':j') ]};
SAVEPOINT s;
UPDATE $name SET @{[ $set->(':s') ]};
ROLLBACK TO s;
$insert FROM generate_series(:j, :j + 3) g $conflict;
COMMIT;
$hide
UPDATE $name SET score = NULL WHERE @{[ $is->(':j') ]} AND '$name' <> 'ints';
DELETE FROM $name WHERE score = @{[ sprintf($t->{score}, ':s') ]};
BEGIN;
DELETE FROM $name;
ROLLBACK;
END
	return $file;
}
my %scripts = map { $_ => script($_) } sort keys %tables;

sub start_writing
{
	my ($transactions) = @_;

	return map { IPC::Run::start([ 'pgbench', '-n', '-h', $node->host, '-p', $node->port, '-t', $transactions, '--max-tries=10', '-f', $scripts{$_}, 'postgres' ],
		'<', \undef, '&>', \my $out) } sort keys %tables;
}

# What happens while they write.  Servers are killed by "pg_ctl stop -m immediate".
sub any { return $_[int rand @_]; }
sub query { return $node->safe_psql('postgres', $_[0]); }

sub a_shard
{
	my ($name) = @_;

	return split(/\|/, any(split(/\n/, query("SELECT s.shardid, p.nodeport, (shardminvalue::bigint + shardmaxvalue::bigint) / 2, (SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = '$name'::regclass)
		FROM pg_dist_shard s JOIN pg_dist_shard_placement p USING (shardid) WHERE logicalrelid = '$name'::regclass"))));
}

my $in_doubt = 0;
my %disturb = (
	nothing => sub { },
	move => sub {
		my ($shard, $from) = a_shard(any(sort keys %tables));
		my ($to) = grep { $_ != $from } map { $_->port } @workers;

		query("SELECT citus_move_shard_placement($shard, '127.0.0.1', $from, '127.0.0.1', $to, '" . any('block_writes', 'auto') . q{')});
	},
	split => sub {
		my $name = any(sort keys %tables);
		my ($shard, $port, $middle, $shards) = a_shard($name);

		return if $shards > 6;
		query("SELECT citus_split_shard_by_split_points($shard, ARRAY['$middle'], (SELECT array_agg(nodeid) FROM pg_dist_node WHERE groupid <> 0), 'block_writes')");
	},
	'a worker is killed' => sub {
		my $worker = any(@workers);

		$worker->stop('immediate');
		$worker->start;
	},
	'the coordinator is killed' => sub {
		$node->stop('immediate');
		$node->start;
	},
	# What a coordinator leaves that goes between the phases of a commit: before it has
	# recorded it, or after
	'in doubt' => sub {
		my $name = any(sort keys %tables);
		my ($shard, $port) = a_shard($name);
		my ($worker) = grep { $_->port == $port } @workers;
		my $gid = 'citus_0_4711_' . ++$in_doubt . '_0';

		query(q{SELECT citus_coordinator_nodeid()});
		$worker->safe_psql('postgres', "BEGIN; SET LOCAL lock_timeout = '10s'; DELETE FROM ${name}_$shard WHERE score > (SELECT min(score) FROM ${name}_$shard);"
			  . " PREPARE TRANSACTION '$gid'");
		query("INSERT INTO pg_dist_transaction (groupid, gid) SELECT groupid, '$gid' FROM pg_dist_node WHERE nodeport = $port") if rand() < 0.5;
		if (rand() < 0.5)
		{
			$worker->stop('immediate');
			$worker->start;
		}
	},
	alter => sub {
		my $name = any(sort keys %tables);

		query("ALTER TABLE $name DROP COLUMN extra; ALTER TABLE $name ADD COLUMN extra integer DEFAULT 7; ALTER TABLE $name ADD CONSTRAINT seven CHECK (extra > 6); ALTER TABLE $name DROP CONSTRAINT seven");
	},
	rename => sub {
		my $name = any(sort keys %tables);

		query("ALTER TABLE $name RENAME COLUMN score TO points");
		query("ALTER TABLE $name RENAME COLUMN points TO score");
	},
	truncate => sub { query('TRUNCATE ' . any(sort keys %tables)) },
	'a board is lost' => sub {
		my $worker = any(@workers);

		$worker->safe_psql('postgres', q{SELECT lb_drop_board(board) FROM lb_board WHERE board ~ '_[0-9]+$' ORDER BY random() LIMIT 2});
	},
	maintain => sub { query('SELECT lb_maintain()') },
	rebuild => sub { query(q{SELECT lb_rebuild('} . any(sort keys %tables) . q{')}) });

# One function of each board, as a server answers
my ($compared, @wrong) = (0);

sub compare
{
	my ($n, $when) = @_;

	$n->safe_psql('postgres', join(';', map {
		my $columns = join(', ', @{ $tables{$_}{key} }, 'score', 'at', $_ eq 'games' ? 'ok' : ());

		"TRUNCATE plain_$_; INSERT INTO plain_$_ ($columns) SELECT $columns FROM $_" } sort keys %tables));
	for my $board ($ENV{COMPARISONS} ? @boards : (shuffle(@boards))[ 0 .. 3 ])
	{
		my ($name, $called, $arguments) = @$board;
		my $functions = query("SELECT string_agg(function, '|') FROM (SELECT function FROM lbt.comparison WHERE function ~ '^lb_' ORDER BY random() LIMIT 1) f");
		my @numbers = map { int rand 100 } 1 .. 2;
		my $set = any('', q{SET DateStyle = 'SQL, DMY';}, q{SET TimeZone = 'Asia/Kolkata';}, 'SET extra_float_digits = -3;');
		my ($rc, $out, $err) = $n->psql('postgres', <<"END");
SET jit = off; SET leaderboard.enable_planner = off; $set
SELECT format('SELECT %L, count(*), (array_agg(concat(o, '' returned '', g, '' instead of '', w)) FILTER (WHERE g IS DISTINCT FROM w))[1:3] FROM (%s) q', function, query)
FROM lbt.queries('$called', 'plain_$name', $arguments, '^($functions)\$', $numbers[0], $numbers[1]) \\gexec
END
		push @wrong, "$when: " . $n->name . ": $called: $set $functions: $err" if $err;
		for (split(/\n/, $out))
		{
			my ($function, $count, $differ) = split(/\|/, $_, 3);

			$compared += $count;
			push @wrong, "$when: " . $n->name . ": $set $function of $called: $differ" if $differ;
		}
	}
	return;
}

my $round = 0;
my @next;
while (($compared < $wanted || $round < keys %disturb) && @wrong < 10)
{
	@next = shuffle(sort keys %disturb) if !@next;
	my $what = shift @next;
	my @writers = start_writing($ENV{COMPARISONS} ? 10 : 4);

	eval { $disturb{$what}->(); 1 } or push @wrong, "$what: $@";
	$_->finish for @writers;

	# In doubt they are invisible.
	compare($node, "$what, in doubt") if $what eq 'in doubt';
	query('SELECT recover_prepared_transactions()');
	query('SELECT lb_maintain()') if rand() < 0.3;
	query('SELECT lb_wait_ready()') if rand() < 0.5;
	compare(any(@nodes), $what);
	$round++;
}
query('SELECT lb_maintain()');
is(query('SELECT lb_wait_ready()'), 't', 'ready');

# A server that was killed has lost its counters.
$_->safe_psql('postgres', 'SELECT lb_stat_reset()') for @workers;
compare($node, 'at the end');
is(join(' ', map { $_->safe_psql('postgres', 'SELECT sum(index_reads + planned_reads) > 10 FROM lb_stat_board') } @workers), 't t', 'the boards of the shards have answered');
is(join("\n", @wrong), '', 'all answers');
diag("$compared comparisons in $round rounds");
cmp_ok($compared, '>=', $wanted, 'comparisons');
is(query('SELECT * FROM lb_verify_key()'), '', 'lb_verify_key()');
is(join(' ', map { $_->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts') } @nodes), '0 0 0', 'nothing is in doubt');
citus_stop(@nodes);
done_testing();
