# What a database's owner puts into the extension's schema: functions, operators,
# casts and domains that fit the extension's arguments better than PostgreSQL's
# own, and overloads of the extension's functions.  Nothing of it may run in an
# entry point or a worker, whichever role calls, nor change a result.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbNames;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('planted', "leaderboard.notify_interval = '50ms'\nleaderboard.maintenance_interval = '1s'\n"
	. "log_statement = none\n");
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE dbo LOGIN; CREATE ROLE team LOGIN; CREATE ROLE player LOGIN');

# Names of functions in the sources: most of what could be left unqualified is
# among them, and all functions whose arguments are of any type.
my $tree = "$FindBin::RealBin/../..";
my %names;
for my $file (glob("$tree/src/*.c $tree/src/*/*.c"), glob("$tree/sql/leaderboard--*.sql"))
{
	my $text = slurp_file($file);

	for my $sql ($file =~ /\.c$/ ? c_texts($text) : sql_texts($text))
	{
		$names{$1} = 1 while $sql->[1] =~ /\b([a-z_]\w*)\(/g;
	}
}
my $names = join(',', map { "'$_'" } sort keys %names);

# Plant, as the database's owner.  A planted object writes to the log when it runs,
# and tries to make its owner a superuser.
my $spy = q{RAISE LOG 'planted: %% as %%', %L, current_user;
	BEGIN EXECUTE 'ALTER ROLE dbo SUPERUSER'; EXCEPTION WHEN OTHERS THEN NULL; END};
my $plant = qq{
SET search_path = pg_catalog;
SET client_min_messages = error;
CREATE TABLE public.planted (what text, object text);
CREATE FUNCTION public.planted(what text, name text, arguments text, result text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS \$p\$
BEGIN
	EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS %s LANGUAGE plpgsql SET search_path = pg_catalog AS %L',
		name, arguments, result, format(\$b\$BEGIN $spy; RETURN NULL; END\$b\$, name));
	INSERT INTO public.planted VALUES (what, format('FUNCTION public.%I(%s)', name, arguments));
EXCEPTION WHEN duplicate_function THEN NULL;
END \$p\$;
DO \$d\$
DECLARE
	types CONSTANT text[] := '{int4,int8,text,name,bool,timestamptz,interval,regclass,oid,float8,numeric,json,jsonb,int8[],text[],int4[],tid[]}';
	t text;
	u text;
	f record;
BEGIN
	-- Functions.
	FOR f IN SELECT DISTINCT p.proname FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace
		AND (p.proname IN ($names)
			OR p.pronargs IN (1, 2) AND p.prorettype <> 'internal'::regtype AND EXISTS (
				SELECT FROM unnest(p.proargtypes) a JOIN pg_type y ON y.oid = a
				WHERE y.typname IN ('any', 'anyelement', 'anyarray', 'anynonarray', 'anycompatible', 'anycompatiblearray')))
	LOOP
		FOREACH t IN ARRAY types LOOP
			PERFORM public.planted('function', f.proname, t, 'int8');
			PERFORM public.planted('function', f.proname, t || ', ' || t, 'int8');
		END LOOP;
		PERFORM public.planted('function', f.proname, '', 'int8');
		PERFORM public.planted('function', f.proname, 'jsonb, text', 'text');
		PERFORM public.planted('function', f.proname, 'regclass, int8', 'int8');
		PERFORM public.planted('function', f.proname, 'text, int8, int8', 'text');
		PERFORM public.planted('function', f.proname, 'text, text, text', 'text');
	END LOOP;
	-- Operators.
	FOREACH t IN ARRAY types LOOP
		FOREACH u IN ARRAY CASE t WHEN 'int8' THEN '{int8,int4,int8[]}' WHEN 'text' THEN '{text,text[],name}'
			WHEN 'timestamptz' THEN '{timestamptz,interval}' WHEN 'jsonb' THEN '{jsonb,text}' ELSE ARRAY[t] END LOOP
			PERFORM public.planted('operator', 'bool_operator', t || ', ' || u, 'bool');
			PERFORM public.planted('operator', 'same_operator', t || ', ' || u, CASE WHEN u = 'text' THEN u ELSE t END);
			FOR f IN SELECT unnest('{=,<>,<,>,<=,>=,~}'::text[]) AS op LOOP
				EXECUTE format('CREATE OPERATOR public.%s (FUNCTION = public.bool_operator, LEFTARG = %s, RIGHTARG = %s)', f.op, t, u);
				INSERT INTO public.planted VALUES ('1operator', format('OPERATOR public.%s (%s, %s)', f.op, t, u));
			END LOOP;
			FOR f IN SELECT unnest('{+,-,*,/,||,->,->>}'::text[]) AS op LOOP
				EXECUTE format('CREATE OPERATOR public.%s (FUNCTION = public.same_operator, LEFTARG = %s, RIGHTARG = %s)', f.op, t, u);
				INSERT INTO public.planted VALUES ('1operator', format('OPERATOR public.%s (%s, %s)', f.op, t, u));
			END LOOP;
		END LOOP;
	END LOOP;
	-- Domains with the names of types, and a type that everything fits.
	PERFORM public.planted('domain', 'check_domain', 'text', 'bool');
	FOREACH t IN ARRAY types LOOP
		CONTINUE WHEN t LIKE '%[]';
		EXECUTE format('CREATE DOMAIN public.%I AS pg_catalog.%I CHECK (public.check_domain(''x'') IS NULL)', t, t);
		INSERT INTO public.planted VALUES ('2domain', format('DOMAIN public.%I', t));
	END LOOP;
	CREATE TYPE public.everything AS (x pg_catalog.int8);
	FOREACH t IN ARRAY types LOOP
		CONTINUE WHEN t LIKE '%[]';
		PERFORM public.planted('cast', 'to_everything', t, 'public.everything');
		PERFORM public.planted('cast', 'from_everything', 'public.everything, ' || t, t);
		EXECUTE format('CREATE CAST (%s AS public.everything) WITH FUNCTION public.to_everything(%s) AS IMPLICIT', t, t);
		INSERT INTO public.planted VALUES ('0cast', format('CAST (%s AS public.everything)', t));
	END LOOP;
END \$d\$;
};

# Overloads of the extension's functions: as many arguments as a call may leave
# to the defaults of the real one, one more than it has, any number of them.  One
# that has all of them, and one more with a default, fits as well as the real
# one: then every call is an error, and nothing runs.
sub overloads
{
	my @rows = split /\n/, $node->safe_psql('clean', q{
		SELECT p.proname, p.pronargs, p.pronargdefaults,
			array_to_string(ARRAY(SELECT format_type(a, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS u (a, o) ORDER BY o), ',')
		FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
		JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'leaderboard'
		WHERE p.pronamespace = 'public'::regnamespace});
	my $sql = '';

	for my $row (@rows)
	{
		my ($name, $n, $defaults, $types) = split /\|/, $row, -1;
		my @types = split /,/, $types;

		for my $k (0 .. $n - 1)
		{
			my @prefix = @types[ 0 .. $k - 1 ];

			$sql .= "SELECT public.planted('function', '$name', '" . join(', ', @prefix) . "', 'int8');\n";
			$sql .= "SELECT public.planted('function', '$name', '" . join(', ', map { $_ eq 'text' ? 'name' : $_ } @prefix) . "', 'int8');\n";
		}
		$sql .= "SELECT public.planted('function', '$name', '" . join(', ', @types, 'integer') . "', 'int8');\n";
		$sql .= "SELECT public.planted('function', '$name', '" . join(', ', map { $_ eq 'bigint' ? 'integer' : $_ eq 'text' ? 'name' : $_ } @types) . "', 'int8');\n"
		  if grep { $_ eq 'bigint' || $_ eq 'text' } @types;
		$sql .= "SELECT public.planted('function', '$name', 'VARIADIC text[]', 'int8');\n" if $types ne 'text[]';
	}
	return $sql;
}

sub plant
{
	my ($db) = @_;

	$node->safe_psql($db, $plant . overloads(), extra_params => [ '-U', 'dbo' ], timeout => 1200);
	cmp_ok($node->safe_psql($db, 'SELECT pg_catalog.count(*) FROM public.planted'), '>', 3000, "$db: planted");
	return;
}

# Boards: the default ones of a role, and one of another's.
sub boards
{
	my ($db, $role) = @_;

	$node->safe_psql($db, 'SELECT FROM public.lb_create_tables(CAST(false AS pg_catalog.bool), CAST($$bigint$$ AS pg_catalog.text), CAST(false AS pg_catalog.bool), CAST(NULL AS pg_catalog.int4))', extra_params => [ '-U', $role ]);
	$node->safe_psql($db, q{
		SET search_path = pg_catalog;
		CREATE TABLE public.game (id int8 PRIMARY KEY, level int4, points int8, shown bool NOT NULL DEFAULT true);
		ALTER TABLE public.game OWNER TO team;
		SELECT FROM public.lb_create_board(CAST('game' AS text), CAST('public.game' AS regclass), CAST('id' AS text),
			CAST('points DESC, level' AS text), CAST(NULL AS name), CAST('rank' AS text), CAST('shown' AS name), CAST('members' AS text), CAST(NULL AS text), CAST(false AS bool));
		INSERT INTO public.game SELECT i, i % 3, i / 2 FROM pg_catalog.generate_series(1, 50) i;
		CREATE SCHEMA lib AUTHORIZATION team;
		GRANT USAGE ON SCHEMA lib TO PUBLIC;
		CREATE TABLE public.elo (id int8 PRIMARY KEY, level int4 NOT NULL, points int8, name text);
		ALTER TABLE public.elo OWNER TO team;
		SET ROLE team;
		CREATE FUNCTION lib.weigh(a int8, b int4) RETURNS int8 IMMUTABLE LANGUAGE plpgsql AS
			'BEGIN IF current_user = ''postgres'' THEN RAISE LOG ''planted: weigh as %'', current_user; END IF; RETURN abs(a) * 2 + length(b::text); END';
		CREATE FUNCTION lib.next(int8) RETURNS int8 IMMUTABLE LANGUAGE sql AS 'SELECT abs($1) + CAST(1 AS int8)';
		INSERT INTO public.elo SELECT i, i % 7, i * 31 % 97, (ARRAY['Ann', 'bob', 'CY', 'x'])[1 + i % 4] FROM generate_series(1, 80) i;
		GRANT SELECT, INSERT, UPDATE, DELETE ON public.elo TO dbo;
		GRANT SELECT ON public.elo TO player;
		RESET ROLE;
		SELECT FROM public.lb_create_board(CAST('elo' AS text), CAST('public.elo' AS regclass), CAST('id' AS text),
			CAST('(points * 2 - level) DESC, lib.weigh(points, level), (name || ''!'')' AS text), CAST('lower(name)' AS text), CAST('rank' AS text),
			CAST('lib.next(points) > 3 AND length(name) <> 1 AND name ~ ''^[A-Za-z]''' AS text), CAST('members' AS text), CAST(NULL AS text), CAST(false AS bool));
		SELECT FROM public.lb_create_board(CAST('elos' AS text), CAST('public.elo' AS regclass), CAST(NULL AS text),
			CAST('(lib.next(points) + level) ASC' AS text), CAST(NULL AS text), CAST('rank' AS text), CAST('level < 6 AND lib.weigh(points, 1) > 7' AS text), CAST('counts' AS text), CAST(NULL AS text), CAST(false AS bool));
		GRANT SELECT ON public.player_scores, public.player_score_windows TO player, team;
		GRANT SELECT, INSERT, UPDATE, DELETE ON public.player_scores, public.player_score_windows TO dbo;
		GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO dbo;
		SELECT public.lb_wait_ready(CAST('10 min' AS interval))});
	return;
}

# A value for an argument, by its name where that says more than its type.
my %by_name = (
	board => q{CAST('global' AS pg_catalog.text)},
	boards => q{CAST('{global}' AS pg_catalog.text[])},
	window_name => q{CAST('daily' AS pg_catalog.text)},
	limit_name => q{CAST('daily' AS pg_catalog.text)},
	period => q{CAST('daily' AS pg_catalog.text)},
	method => q{CAST('rank' AS pg_catalog.text)},
	keeps => q{CAST('counts' AS pg_catalog.text)},
	offline => q{CAST('query' AS pg_catalog.text)},
	op => q{CAST('incr' AS pg_catalog.text)},
	source => q{CAST('public.game' AS pg_catalog.regclass)},
	action => q{CAST('flag' AS pg_catalog.text)},
	season => q{CAST('first' AS pg_catalog.text)},
	match_id => q{CAST('m1' AS pg_catalog.text)},
	match_ids => q{CAST('{m2,m3}' AS pg_catalog.text[])},
	at => q{pg_catalog.now()},
	late => q{CAST(NULL AS pg_catalog.interval)},
	starts => q{CAST(NULL AS pg_catalog.timestamptz)},
	ends => q{CAST(NULL AS pg_catalog.timestamptz)},
	time_zone => q{CAST('UTC' AS pg_catalog.text)},
	amounts => q{CAST('{30,40}' AS pg_catalog.int8[])},
	percentile => q{CAST(50 AS pg_catalog.float8)},
	query => q{CAST('SELECT pg_catalog.max(score) FROM public.game' AS pg_catalog.text)},
	member => q{CAST(3 AS pg_catalog.int8)});
my %key_by_name = (
	member => q{CAST('3' AS pg_catalog.text)},
	members => q{CAST('{1,2,77}' AS pg_catalog.text[])},
	score => q{CAST('3' AS pg_catalog.text)});
my %by_type = (
	'jsonb' => q{CAST('{"player_id": 5, "amount": 7, "at": "2026-04-09T12:00:00Z", "boards": ["global"]}' AS pg_catalog.jsonb)},
	'text' => q{CAST('global' AS pg_catalog.text)},
	'text[]' => q{CAST('{global}' AS pg_catalog.text[])},
	'bigint[]' => q{CAST('{1,2,77}' AS pg_catalog.int8[])},
	'bigint' => q{CAST(3 AS pg_catalog.int8)},
	'anyelement' => q{CAST(3 AS pg_catalog.int8)},
	'anycompatible' => q{CAST(3 AS pg_catalog.int8)},
	'integer' => q{CAST(3 AS pg_catalog.int4)},
	'integer[]' => q{CAST('{1,2,77}' AS pg_catalog.int4[])},
	'boolean' => q{CAST(false AS pg_catalog.bool)},
	'interval' => q{CAST('1 day' AS pg_catalog.interval)},
	'timestamp with time zone' => q{pg_catalog.now()},
	'double precision' => q{CAST(1 AS pg_catalog.float8)},
	'name' => q{CAST('id' AS pg_catalog.name)},
	'name[]' => q{CAST('{}' AS pg_catalog.name[])},
	'oid' => q{CAST(3 AS pg_catalog.oid)},
	'pg_lsn' => q{CAST('0/1' AS pg_catalog.pg_lsn)},
	bytea => q{CAST('' AS pg_catalog.bytea)},
	'numeric[]' => q{CAST('{1,10,50}' AS pg_catalog.numeric[])},
	'double precision[]' => q{CAST('{1,10,50}' AS pg_catalog.float8[])},
	'regprocedure' => q{CAST('pg_catalog.now()' AS pg_catalog.regprocedure)},
	'regclass' => q{CAST('public.game' AS pg_catalog.regclass)},
	'regtype[]' => q{CAST('{pg_catalog.int8}' AS pg_catalog.regtype[])});

# Calls of all functions, with all their arguments or only those that have no
# default.  Some answers differ from run to run.
# A call that takes something away is followed by one that restores it.
my @last = qw(lb_drop_limit lb_unwatch lb_unwatch_member lb_unwatch_member_key lb_close_window lb_close_season lb_drop_board);
my %varies = map { $_ => 1 } qw(lb_notify lb_maintain lb_stat lb_stat_rows lb_stat_feed_row lb_stat_ledger_row lb_stat_memory_usage lb_submit lb_submit_key lb_wait_ready);

sub calls
{
	my ($db) = @_;
	my @rows = split /\n/, $node->safe_psql('clean', q{
		SELECT p.pronamespace::regnamespace, p.proname, p.pronargs, p.pronargdefaults,
			array_to_string(ARRAY(SELECT format_type(a, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS u (a, o) ORDER BY o), ','),
			coalesce(array_to_string(p.proargnames, ','), '')
		FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
		JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'leaderboard'
		WHERE p.prorettype <> ALL ('{trigger,event_trigger,internal}'::regtype[]) ORDER BY p.proname COLLATE "C", p.oid});
	my %calls;

	for my $row (@rows)
	{
		my ($schema, $name, $n, $defaults, $types, $arguments) = split /\|/, $row, -1;
		my @types = split /,/, $types;
		my @arguments = split /,/, $arguments;
		my @values = map {
			my $argument = $arguments[$_] // '';
			my $value = $name =~ /_key$/ && $key_by_name{$argument} || $by_name{$argument};
			my $type = { text => 'text', bigint => 'int8', 'text[]' => 'text[]', 'bigint[]' => 'int8[]', interval => 'interval',
				regclass => 'regclass', 'double precision' => 'float8', 'timestamp with time zone' => 'timestamptz' }->{ $types[$_] };

			# Objects of the same name can be of another kind.
			defined $value && defined $type && ($value =~ /pg_catalog\.\Q$type\E\)$/ || $type eq 'timestamptz' && $value eq 'pg_catalog.now()')
			  ? $value : $by_type{ $types[$_] } // die "no value of type $types[$_]"
		} 0 .. $n - 1;

		my $call = "SELECT $schema.$name(" . join(', ', @values) . ')';

		push @{ $calls{$name} }, $name =~ /^lb_drop_(board|leaderboard)$/ ? "BEGIN;\n$call;\nROLLBACK" : $call;
	}
	return [ map { my $name = $_; map { [ $name, $_ ] } @{ $calls{$name} } }
		  ((grep { my $n = $_; !grep { $_ eq $n } @last } sort keys %calls), @last) ];
}

# The results of all calls by a role.  The schema of the planted objects comes first.
sub run
{
	my ($db, $role, $calls, $settings) = @_;
	my $sql = "SET search_path = public, pg_catalog;\n$settings;\n\\set VERBOSITY sqlstate\n";

	for my $name (qw(lb_board lb_window lb_limit lb_watched lb_closed lb_archive lb_event lb_entry lb_entry_count lb_entrant lb_hidden pg_class pg_type))
	{
		$sql .= "CREATE TEMP TABLE $name (x pg_catalog.int8);\n";
	}
	for my $call (@$calls)
	{
		$sql .= "\\echo $call->[0]\n" . ($varies{ $call->[0] } ? "\\o /dev/null\n" : '') . "$call->[1];\n\\o\n";
	}
	my ($rc, $out, $err) = $node->psql($db, $sql, on_error_stop => 0, extra_params => [ '-U', $role ], timeout => 1200);

	# The time, and the day in a window's name
	$out =~ s/"as_of":"[^"]*"/"as_of":""/g;
	$out =~ s/daily:\d{8}/daily:/g;
	return ("$out\n", $err =~ s/^psql:[^:]*:\d+: //mgr);
}

# A window that the worker closes, archives and removes; a watch that it
# notifies; a table that changes and goes.
sub workers
{
	my ($db) = @_;

	$node->safe_psql($db, q{
		SET search_path = pg_catalog;
		SELECT public.lb_watch(CAST('global' AS text), 3), public.lb_watch(CAST('game' AS text), 3),
			public.lb_watch_member(CAST(3 AS int8), CAST('global' AS text));
		INSERT INTO public.player_scores (player_id, score) VALUES (1000, 1000000);
		SELECT public.lb_open_window(CAST('cup:1' AS text), starts => '2026-01-01', ends => '2026-01-02', keep => '0', late => '0');
		INSERT INTO public.player_score_windows (player_id, window_key, score) SELECT i, 'cup:1', i FROM generate_series(1, 20) i;
		SELECT public.lb_set_limit(CAST('much' AS text), CAST('global' AS text), max_amount => 5, action => 'flag', period => '1 hour', max_period_amount => 7);
		SELECT public.lb_submit_many(CAST('{1,2,3}' AS int8[]), CAST('{10,20,30}' AS int8[]),
			CAST('incr' AS text), CAST(NULL AS text[]), now(), CAST('global' AS text))});
	ok($node->poll_query_until($db, q{SELECT last_members[1] OPERATOR(pg_catalog.=) '1000' FROM public.lb_watched
		WHERE board OPERATOR(pg_catalog.=) 'global' AND member IS NULL}), "$db: notified");
	ok($node->poll_query_until($db, q{SELECT removed_at IS NOT NULL FROM public.lb_closed WHERE board OPERATOR(pg_catalog.=) 'cup:1'}),
		"$db: closed and removed");
	is($node->safe_psql($db, q{SELECT pg_catalog.count(*) FROM public.lb_archive WHERE board OPERATOR(pg_catalog.=) 'cup:1'}), '20',
		"$db: archived");
	$node->safe_psql($db, q{
		SELECT public.lb_rebuild(CAST(NULL AS pg_catalog.text));
		SELECT public.lb_wait_ready(CAST('10 min' AS pg_catalog.interval));
		ALTER TABLE public.game RENAME points TO score});
	is($node->safe_psql($db, q{SELECT pg_catalog.count(*) FROM public.lb_verify(CAST(NULL AS pg_catalog.text))}), '0',
		"$db: indexes and tables are equal");
	$node->safe_psql($db, 'DROP TABLE public.game', extra_params => [ '-U', 'team' ]);
	is($node->safe_psql($db, q{SELECT pg_catalog.count(*) FROM public.lb_watched WHERE board OPERATOR(pg_catalog.=) 'game'}), '0',
		"$db: the watch has gone with its table");
	return;
}

# Boards on expressions: what they call is what their owner wrote, and within it
# and in its text what PostgreSQL has, whoever writes, reads or changes it.  In
# plain SQL a function has the path of its caller.
my $elo = q{
	SET leaderboard.enable_planner = on;
	SELECT * FROM public.lb_top(CAST(9 AS pg_catalog.int4), CAST('elo:ann' AS pg_catalog.text), CAST(2 AS pg_catalog.int8));
	SELECT * FROM public.lb_around(CAST(8 AS pg_catalog.int8), CAST('elo:ann' AS pg_catalog.text), CAST(2 AS pg_catalog.int4));
	SELECT public.lb_rank(CAST(9 AS pg_catalog.int8), CAST('elo:bob' AS pg_catalog.text), CAST(NULL AS pg_catalog.text));
	SELECT public.lb_count(CAST('elo:cy' AS pg_catalog.text)), public.lb_count(CAST('elos' AS pg_catalog.text));
	SELECT * FROM public.lb_histogram(CAST(4 AS pg_catalog.int4), CAST('elos' AS pg_catalog.text));
	SELECT board, problem FROM public.lb_verify_key(CAST('elo' AS pg_catalog.text));
	SET search_path = pg_catalog;
	SELECT pg_catalog.count(*), pg_catalog.max(points OPERATOR(pg_catalog.*) CAST(2 AS pg_catalog.int4) OPERATOR(pg_catalog.-) level) FROM public.elo
		WHERE lib.next(points) OPERATOR(pg_catalog.>) CAST(3 AS pg_catalog.int4) AND pg_catalog.length(name) OPERATOR(pg_catalog.<>) CAST(1 AS pg_catalog.int4)
		AND name OPERATOR(pg_catalog.~) CAST('^[A-Za-z]' AS pg_catalog.text) AND pg_catalog.lower(name) OPERATOR(pg_catalog.=) CAST('ann' AS pg_catalog.text)};

sub expressions
{
	my ($db) = @_;
	my $path = 'SET search_path = public, pg_catalog;';
	my $out = '';
	my $ask = sub {
		for my $role ('player', 'team', 'dbo', 'postgres')
		{
			for my $index ('on', 'off')
			{
				my ($rc, $rows, $err) = $node->psql($db, "\\set VERBOSITY sqlstate\n$path SET leaderboard.enable_index = $index; $elo",
					on_error_stop => 0, extra_params => [ '-U', $role ]);

				$out .= "$role $index:\n$rows\n" . ($err =~ s/^psql:[^:]*:\d+: //mgr);
			}
		}
	};
	my $texts = sub {
		$out .= $node->safe_psql($db, q{SET search_path = pg_catalog; SELECT rank_by, board_column, ranked_if, expressions
			FROM public.lb_board WHERE source = CAST('public.elo' AS regclass) ORDER BY board}) . "\n";
	};

	$ask->();
	$texts->();

	# Writes
	for my $role ('dbo', 'team', 'postgres')
	{
		$node->safe_psql($db, qq{$path
			INSERT INTO public.elo VALUES (CAST(100 AS pg_catalog.int8), CAST(3 AS pg_catalog.int4), CAST(70 AS pg_catalog.int8), CAST('Ann' AS pg_catalog.text));
			UPDATE public.elo SET points = CAST(55 AS pg_catalog.int8), name = CAST('Bob' AS pg_catalog.text) WHERE level OPERATOR(pg_catalog.=) CAST(3 AS pg_catalog.int4);
			DELETE FROM public.elo WHERE id OPERATOR(pg_catalog.=) CAST(100 AS pg_catalog.int8)}, extra_params => [ '-U', $role ]);
	}
	$ask->();

	# DDL, of the owner and of a superuser; what keeps an expression is made again.
	$node->safe_psql($db, "$path ALTER TABLE public.elo RENAME points TO score; ALTER FUNCTION lib.next(pg_catalog.int8) RENAME TO after", extra_params => [ '-U', 'team' ]);
	$texts->();
	$node->safe_psql($db, "$path ALTER TABLE public.elo RENAME score TO points; ALTER FUNCTION lib.after(pg_catalog.int8) RENAME TO next");
	$node->safe_psql($db, "$path DROP STATISTICS public.elo_elo_lb2, public.elo_elo_lb4, public.elo_elos_lb2", extra_params => [ '-U', 'team' ]);
	$node->safe_psql($db, "$path SELECT public.lb_rebuild(CAST('elo' AS pg_catalog.text)), public.lb_rebuild(CAST('elos' AS pg_catalog.text))");
	$ask->();
	$texts->();
	$node->safe_psql($db, "$path ANALYZE public.elo; VACUUM public.elo");
	$node->safe_psql($db, "$path ALTER TABLE public.elo ALTER level TYPE pg_catalog.int4 USING 5", extra_params => [ '-U', 'team' ]);
	$ask->();
	$texts->();
	return $out;
}

# How many lines of the log say that something planted has run.
sub planted_lines
{
	return grep { /planted: / } split /\n/, slurp_file($node->logfile);
}

my %expected;
my $calls;
for my $db ('clean', 'before', 'after')
{
	my $owner = $db eq 'after' ? 'dbo' : 'postgres';

	$node->safe_psql('postgres', "CREATE DATABASE $db OWNER dbo");
	plant($db) if $db eq 'before';
	$node->safe_psql($db, 'CREATE EXTENSION leaderboard', extra_params => [ '-U', $owner ]);
	plant($db) if $db eq 'after';
	boards($db, $owner);
	$calls = calls() if $db eq 'clean';
	for my $role ('player', 'team', 'dbo', 'postgres')
	{
		for my $settings ('SET leaderboard.enable_index = on', 'SET leaderboard.enable_index = off')
		{
			# In that database the tables have another owner.
			my $key = "$role, $settings";
			my ($out, $err) = run($db, $role, $calls, $settings);

			$expected{$key} //= "$out$err";
			is("$out$err", $expected{$key}, "$db: what came out for $key") unless $db eq 'after';
			unlike($err, qr/42725|42883|XX000|42501: .*use/, "$db: $key: nothing is ambiguous or refused") if $db ne 'clean';
		}
	}
	my $out = expressions($db);

	$expected{expressions} //= $out;
	is($out, $expected{expressions}, "$db: boards on expressions");
	unlike($out, qr/42725|42883|XX000/, "$db: nothing is ambiguous or missing") if $db ne 'clean';
	workers($db);
}
is_deeply([ planted_lines() ], [], 'nothing planted has run');
is($node->safe_psql('postgres', q{SELECT rolsuper FROM pg_roles WHERE rolname = 'dbo'}), 'f', 'no role has become superuser');

# A planted object would have run, and written to the log.
for my $db ('before', 'after')
{
	my $before = planted_lines();

	$node->safe_psql($db, q{SET search_path = public; SELECT cardinality(CAST('{}' AS pg_catalog.int8[]))},
		extra_params => [ '-U', 'dbo' ]);
	cmp_ok(scalar(planted_lines()), '>', $before, "$db: what is planted works");

	# And nothing of the extension has come to depend on it.
	my ($rc, $out, $err) = $node->psql($db, q{
		SET search_path = pg_catalog;
		SET client_min_messages = error;
		DO $$
		DECLARE
			p record;
		BEGIN
			FOR p IN SELECT object FROM public.planted ORDER BY what LOOP
				EXECUTE 'DROP ' || regexp_replace(p.object, ' DEFAULT \d+', '');
			END LOOP;
		END $$}, extra_params => [ '-U', 'dbo' ], timeout => 1200);
	is("$rc$err", '0', "$db: nothing depends on what was planted");
}
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|signal 11/, 'nothing has crashed');
done_testing();
