# What the tests of examples/beside share: two servers of which the first has no library,
# the tables of a game there, and comparisons of what its foreign tables show with what
# PostgreSQL computes from its own tables.
package LbBeside;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use IPC::Run;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(
  beside_nodes beside config boards fill_game start_game_writers stop_game_writers same
  as_app dump_of arguments password lock_doors write_passwords
);

my $script = "$FindBin::RealBin/../../examples/beside/beside.sh";
my $dir = PostgreSQL::Test::Utils::tempdir();
# initdb names the superuser as the operating system does.
my $superuser = getpwuid($>);
# Characters that SQL, libpq and shells treat in their ways.
my $password = q{b s'"\\$x};

sub password
{
	return $password;
}

# Roles but for the superuser need a password.
sub lock_doors
{
	my ($node) = @_;

	unlink $node->data_dir . '/pg_hba.conf';
	$node->append_conf('pg_hba.conf', <<"END");
local all $superuser trust
local replication $superuser trust
local all all scram-sha-256
END
	return;
}

# The main server, which neither has nor loads the library, and the small one.  Both log
# every statement.
sub beside_nodes
{
	my $main = PostgreSQL::Test::Cluster->new('main');
	my $small = lb_node('small', "max_worker_processes = 16\nlog_statement = all\nleaderboard.enable_planner = on");

	init_node($main, allows_streaming => 'logical');
	$main->append_conf('postgresql.conf', <<'END');
log_statement = all
deadlock_timeout = 10ms
max_replication_slots = 10
max_wal_senders = 10
END
	for my $node ($main, $small)
	{
		lock_doors($node);
		$node->start;
	}
	# Its own log has the password, as that of a provider has.
	$main->safe_psql('postgres', 'SET log_statement = none; CREATE ROLE app LOGIN REPLICATION PASSWORD ' . quote($password));
	$main->safe_psql('postgres', 'CREATE ROLE web; CREATE ROLE nobody');
	$main->safe_psql('postgres', 'CREATE DATABASE game OWNER app');
	$small->safe_psql('postgres', 'CREATE DATABASE game');
	$main->safe_psql('game', 'CREATE EXTENSION postgres_fdw; GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO app');
	write_passwords();
	return ($main, $small);
}

sub quote
{
	my ($text) = @_;

	return "'" . $text =~ s/'/''/gr . "'";
}

sub write_passwords
{
	my $file = "$dir/pgpass";

	unlink $file;
	append_to_file($file, '*:*:*:app:' . $password =~ s/([\\:])/\\$1/gr . "\n");
	chmod 0600, $file;
	$ENV{PGPASSFILE} = $file;
	# A psql that records its arguments.
	if (!-e "$dir/bin/psql")
	{
		my ($psql) = grep { -x } map { "$_/psql" } split /:/, $ENV{PATH};

		mkdir "$dir/bin";
		append_to_file("$dir/bin/psql", "#!/bin/sh\nprintf '%s\\n' \"\$*\" >>$dir/arguments\nexec $psql \"\$@\"\n");
		chmod 0755, "$dir/bin/psql";
	}
	return;
}

sub arguments
{
	return slurp_file("$dir/arguments");
}

# A configuration file.
my $configs = 0;

sub config
{
	my ($main, $small, $name, $boards, $db) = @_;
	my $file = "$dir/" . $name . ++$configs . '.conf';

	$db //= 'game';
	append_to_file($file, <<"END");
main = host=@{[ $main->host ]} port=@{[ $main->port ]} dbname=$db user=app
small = host=@{[ $small->host ]} port=@{[ $small->port ]} dbname=game user=$superuser
roles = app@{[ $db eq 'game' ? ', web' : '' ]}

$boards
END
	return $file;
}

sub beside
{
	my ($config, @options) = @_;
	my ($out, $err) = ('', '');

	local $ENV{PATH} = "$dir/bin:$ENV{PATH}";
	local $ENV{BESIDE_PASSWORD} = $password;
	local $ENV{PGHOST};
	local $ENV{PGPORT};
	delete $ENV{PGHOST};
	delete $ENV{PGPORT};
	IPC::Run::run([ 'bash', $script, @options, $config ], '<', \undef, '>', \$out, '2>', \$err);
	return ($? >> 8, $out, $err);
}

# Three boards: of all players, of each country, and of another table's games.
sub boards
{
	return <<'END';
[players]
table = player
rank_by = score DESC, reached_at
method = rank
ranked_if = NOT banned
show = name, tier
view = ranked

[country]
table = player
member = id
rank_by = score DESC, reached_at
board_column = country

[score]
table = s.score
member = player
rank_by = points DESC
board_column = game
method = dense_rank
view = score
END
}

sub fill_game
{
	my ($node, $players) = @_;

	$node->safe_psql('game', <<"END");
SET ROLE app;
CREATE TYPE tier AS ENUM ('bronze', 'silver', 'gold');
CREATE DOMAIN points AS bigint CHECK (VALUE >= 0);
CREATE TABLE player (id uuid PRIMARY KEY, name text NOT NULL, country text NOT NULL, tier tier, score points,
	reached_at timestamptz NOT NULL DEFAULT clock_timestamp(), note text, banned boolean NOT NULL DEFAULT false);
INSERT INTO player SELECT md5(g::text)::uuid, 'player ' || g, (ARRAY['FR', 'DE', 'JP'])[1 + g % 3], 'gold', g * 7919 % 1000,
	timestamptz '2026-01-01' + g % 100 * interval '1 s', 'note ' || g FROM generate_series(1, $players) g;
CREATE TABLE friend (player int, friend uuid, PRIMARY KEY (player, friend));
CREATE SCHEMA s;
CREATE TABLE s.score (player int, game varchar(20), points int NOT NULL, PRIMARY KEY (player, game)) PARTITION BY HASH (player);
CREATE TABLE s.score_0 PARTITION OF s.score FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE s.score_1 PARTITION OF s.score FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO s.score SELECT g / 2, (ARRAY['chess', 'go'])[1 + g % 2], g * 31 % 97 FROM generate_series(2, $players) g;
ANALYZE player, friend, s.score;
END
	return;
}

# Clients that write to the tables of the game in every way, but for TRUNCATE unless asked.
# An error ends them, and is one of the test.
sub start_game_writers
{
	my ($node, $players, %how) = @_;
	my $file = "$dir/writers$players.sql";
	my %run = (out => '', node => $node);

	append_to_file($file, <<"END") unless -e $file;
\\set a random(1, $players)
\\set b random(1, $players)
\\set s random(0, 1000)
\\set p random(1, $players / 2)
BEGIN;
UPDATE player SET score = :s, reached_at = clock_timestamp() WHERE id = md5(:a::text)::uuid;
SAVEPOINT s;
INSERT INTO s.score VALUES (:p, 'chess', :s) ON CONFLICT (player, game) DO UPDATE SET points = excluded.points;
COMMIT;
DELETE FROM player WHERE id = md5(:b::text)::uuid;
INSERT INTO player (id, name, country, tier, score) VALUES (md5(:b::text)::uuid, 'again ' || :b, 'JP', 'silver', :s) ON CONFLICT DO NOTHING;
UPDATE player SET banned = NOT banned WHERE id = md5((:a + 1)::text)::uuid;
UPDATE player SET country = 'IT', score = CASE WHEN :s % 10 = 0 THEN NULL ELSE score + 1 END WHERE id = md5((:a + 2)::text)::uuid;
BEGIN;
UPDATE player SET score = score + 5 WHERE score BETWEEN 100 AND 120;
ROLLBACK;
DELETE FROM s.score WHERE player = :p AND game = 'go';
UPDATE s.score SET game = 'go' WHERE player = :p AND game = 'chess';
END
	$run{handle} = IPC::Run::start(
		[
			'pgbench', '-n', '-h', $node->host, '-p', $node->port, '-U', 'app', '-c', $how{clients} // 3,
			($how{count} ? ('-t', $how{count}) : ('-T', 600)), '--max-tries=100', '-f', $file, 'dbname=game application_name=writer'
		],
		'<', \undef, '&>', \$run{out});
	$run{counted} = $how{count};
	$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'writer'")
	  or die 'no writers' unless $how{count};
	return \%run;
}

sub stop_game_writers
{
	my ($run, %how) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	# Not INT, which a shell makes its background jobs ignore.
	$run->{handle}->signal('TERM') unless $run->{counted} || $how{failure};
	$run->{handle}->finish;
	return if $how{failure};

	# A session may be in a statement yet.
	$run->{node}->poll_query_until('game', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'writer'})
	  or die 'a writer goes on';
	unlike($run->{out}, qr/ERROR|FATAL|aborted in command/, 'no write has failed') or diag($run->{out});
	return;
}

sub as_app
{
	my ($node, $sql) = @_;

	return $node->safe_psql('game', $sql, extra_params => [ '-U', 'app' ]);
}

# What the foreign tables show, of up to 300 players of each board and of pages, is what
# PostgreSQL computes from the main server's tables; boards have answered; and they are
# what their tables say.
sub same
{
	my ($main, $small, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $lsn = $main->safe_psql('game', 'SELECT pg_current_wal_lsn()');

	$main->poll_query_until('game', "SELECT coalesce(max(replay_lsn) >= '$lsn', false) FROM pg_stat_replication WHERE application_name = 'beside'")
	  or die "$what: the small server does not catch up";
	$small->poll_query_until('game', q{SELECT leaderboard.lb_wait_ready('10 s')}) or die "$what: no boards";
	$small->safe_psql('game', 'SELECT leaderboard.lb_stat_reset()');
	is(as_app($main, <<'END'), "0\n0\n0\n0", "$what: the foreign tables are right");
SELECT count(*) FROM (SELECT id, score, reached_at, name, tier::text, rank() OVER (ORDER BY score DESC), count(*) OVER () AS n
		FROM player WHERE NOT banned AND score IS NOT NULL) t
	FULL JOIN (SELECT * FROM ranked WHERE id = ANY (ARRAY(SELECT id FROM player ORDER BY md5(id::text) LIMIT 300))) r USING (id)
	WHERE id IN (SELECT id FROM player ORDER BY md5(id::text) LIMIT 300)
	AND (t.score, t.reached_at, t.name, t.tier, t.rank, t.n) IS DISTINCT FROM (r.score, r.reached_at, r.name, r.tier, r.rank, r.total)
UNION ALL
SELECT count(*) FROM (SELECT id, country, row_number() OVER (PARTITION BY country ORDER BY score DESC, reached_at, id),
		count(*) OVER (PARTITION BY country) AS n FROM player WHERE score IS NOT NULL) t
	FULL JOIN (SELECT * FROM ranked_country WHERE id = ANY (ARRAY(SELECT id FROM player ORDER BY md5(id::text) LIMIT 300))) r USING (id)
	WHERE id IN (SELECT id FROM player ORDER BY md5(id::text) LIMIT 300)
	AND (t.country, t.row_number, t.n) IS DISTINCT FROM (r.country, r.rank, r.total)
UNION ALL
SELECT count(*) FROM (SELECT player, game, points, dense_rank() OVER (PARTITION BY game ORDER BY points DESC) FROM s.score) t
	FULL JOIN (SELECT * FROM score WHERE player = ANY (ARRAY(SELECT generate_series(1, 100)))) r USING (player, game)
	WHERE player <= 100 AND (t.points, t.dense_rank) IS DISTINCT FROM (r.points, r.rank)
UNION ALL
SELECT count(*) FROM (SELECT * FROM (SELECT id, row_number() OVER (ORDER BY score DESC, reached_at, id) AS rank FROM player
		WHERE country = 'JP' AND score IS NOT NULL) s ORDER BY rank LIMIT 50 OFFSET 20) t
	FULL JOIN (SELECT id, rank FROM ranked_country WHERE country = 'JP' ORDER BY rank LIMIT 50 OFFSET 20) r USING (id)
	WHERE t.rank IS DISTINCT FROM r.rank
END
	$small->poll_query_until('game', q{SELECT sum(planned_reads) >= 1 FROM leaderboard.lb_stat_board WHERE kind <> 'family'})
	  ? pass("$what: by boards") : fail("$what: by boards");
	is($small->safe_psql('game', 'SELECT * FROM leaderboard.lb_verify_key()'), '', "$what: index and table are equal");
	return;
}

# The schema of a database, but for what pg_dump makes up for each run.
sub dump_of
{
	my ($node, $db, @options) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run([ 'pg_dump', '-s', @options, '-h', $node->host, '-p', $node->port, '-U', $superuser, $db ], '>', \$out, '2>', \$err)
	  or die $err;
	return join '', grep { !/^(?:\\(?:un)?restrict|--|$|\s*password ')/ } split /^/, $out;
}

1;
