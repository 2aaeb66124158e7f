# A database's owner that is not a superuser creates the extension and gains no right
# by it, whatever is in the schema beforehand or put there afterwards.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('trusted', "leaderboard.maintenance_interval = 1\nleaderboard.notify_interval = 100ms");
$node->start;
$node->safe_psql('postgres', q{
	CREATE ROLE landlord LOGIN;
	CREATE ROLE lodger LOGIN;
	CREATE DATABASE rented OWNER landlord});

# As one of them; what psql says on standard error.
sub as
{
	my ($role, $sql) = @_;
	my ($rc, $out, $err) = $node->psql('rented', $sql, extra_params => [ '-U', $role ], on_error_stop => 1);

	return wantarray ? ($out, $err) : $err;
}

sub safe_as
{
	my ($role, $sql, $what) = @_;
	my ($out, $err) = as($role, "SET client_min_messages = warning; $sql");

	is($err, '', $what);
	return $out;
}

like(as('lodger', 'CREATE EXTENSION leaderboard'), qr/permission denied to create extension/, 'not for every role');

# Functions and operators for the very types that the extension's statements have,
# which PostgreSQL prefers to its own that are polymorphic or need a cast.
my $plant = q{
	CREATE SCHEMA planted;
	CREATE FUNCTION planted.act() RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
			ALTER ROLE landlord SUPERUSER;
		END IF;
	END $$;
	GRANT USAGE ON SCHEMA planted TO PUBLIC;
	DO $do$
	DECLARE
		o record;
		f record;
		t text;
		n integer := 0;
	BEGIN
		FOR o IN SELECT op, l, r, res FROM pg_catalog.unnest('{=,<>,<,<=,>,>=}'::text[]) op,
				(VALUES ('pg_catalog.int4', 'pg_catalog.int8[]', 'pg_catalog.bool'), ('pg_catalog.int8[]', 'pg_catalog.int8[]', 'pg_catalog.bool'),
					('pg_catalog.text', 'pg_catalog.name', 'pg_catalog.bool'), ('pg_catalog.regclass', 'pg_catalog.regclass', 'pg_catalog.bool'),
					('pg_catalog.varchar', 'pg_catalog.text', 'pg_catalog.bool')) v (l, r, res)
			UNION ALL
			SELECT op, l, r, res FROM pg_catalog.unnest('{+,-,*,/}'::text[]) op,
				(VALUES ('pg_catalog.int4', 'pg_catalog.float8', 'pg_catalog.float8'), ('pg_catalog.int4', 'pg_catalog.numeric', 'pg_catalog.numeric'),
					('pg_catalog.timestamptz', 'pg_catalog.int4', 'pg_catalog.timestamptz')) v (l, r, res)
		LOOP
			n := n + 1;
			EXECUTE pg_catalog.format('CREATE FUNCTION public.o%s(%s, %s) RETURNS %s LANGUAGE plpgsql AS $f$ BEGIN PERFORM planted.act(); RETURN NULL; END $f$',
				n, o.l, o.r, o.res);
			EXECUTE pg_catalog.format('CREATE OPERATOR public.%s (FUNCTION = public.o%s, LEFTARG = %s, RIGHTARG = %s)', o.op, n, o.l, o.r);
		END LOOP;
		FOR f IN SELECT * FROM (VALUES ('to_json', 'pg_catalog.text', 'pg_catalog.json'), ('to_json', 'pg_catalog.timestamptz', 'pg_catalog.json'),
				('cardinality', 'pg_catalog.int8[]', 'pg_catalog.int4'), ('count', 'pg_catalog.int8', 'pg_catalog.int8'),
				('format', 'pg_catalog.text, pg_catalog.text', 'pg_catalog.text'), ('format', 'pg_catalog.text, pg_catalog.int8', 'pg_catalog.text'),
				('unnest', 'pg_catalog.int8[]', 'pg_catalog.int8'), ('octet_length', 'pg_catalog.varchar', 'pg_catalog.int4'),
				('strpos', 'pg_catalog.varchar', 'pg_catalog.int4'), ('now', '', 'pg_catalog.timestamptz'),
				('pg_notify', 'pg_catalog.varchar, pg_catalog.text', 'pg_catalog.void'), ('set_config', 'pg_catalog.text, pg_catalog.text, pg_catalog.bool', 'pg_catalog.text')) v (name, args, res)
		LOOP
			EXECUTE pg_catalog.format('CREATE FUNCTION public.%s(%s) RETURNS %s LANGUAGE plpgsql AS $f$ BEGIN PERFORM planted.act(); RETURN%s; END $f$',
				f.name, f.args, f.res, CASE WHEN f.res OPERATOR(pg_catalog.<>) 'pg_catalog.void' THEN ' NULL' END);
		END LOOP;
		FOREACH t IN ARRAY '{text,int8,timestamptz,name,regclass,json,jsonb,"interval"}'::text[] LOOP
			EXECUTE pg_catalog.format('CREATE DOMAIN public.%s AS pg_catalog.int4', t);
		END LOOP;
	END $do$};
safe_as('landlord', $plant, 'planted');

# Something of a name that the script needs: it stops, and nothing is left.
safe_as('landlord', 'CREATE FUNCTION public.lb_window_at(period pg_catalog.text, at pg_catalog.timestamptz) RETURNS pg_catalog.text LANGUAGE sql AS $$SELECT NULL::pg_catalog.text$$',
	'a function that the script would replace');
like(as('landlord', 'CREATE EXTENSION leaderboard'), qr/function "lb_window_at" already exists/, 'is not replaced');
safe_as('landlord', 'DROP FUNCTION public.lb_window_at(pg_catalog.text, pg_catalog.timestamptz)', 'dropped');

safe_as('landlord', 'CREATE EXTENSION leaderboard', 'the owner of the database creates the extension');
is($node->safe_psql('rented', q{
		SELECT pg_catalog.string_agg(DISTINCT r.rolname, ' ')
		FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid AND e.extname = 'leaderboard'
			LEFT JOIN pg_catalog.pg_class c ON d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND c.oid = d.objid
			LEFT JOIN pg_catalog.pg_proc p ON d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND p.oid = d.objid
			JOIN pg_catalog.pg_roles r ON r.oid = COALESCE(c.relowner, p.proowner)
		WHERE d.deptype = 'e'}),
	'postgres', 'its objects are not the owner\'s');

# The script's objects refer to the system's own objects.
is($node->safe_psql('rented', q{
		SELECT count(*) FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
			JOIN pg_catalog.pg_depend d ON d.objid = c.oid AND d.deptype = 'e' JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
		WHERE a.attnum > 0 AND t.typnamespace <> 'pg_catalog'::pg_catalog.regnamespace
			AND NOT (t.typelem <> 0 AND t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace)}),
	'0', 'no column of a planted type');

# Every function, by the owner of the database and by a superuser.
my $use = q{
	SET search_path = public;
	SELECT lb_create_tables();
	SELECT lb_wait_ready('1 min'::pg_catalog.interval);
	SELECT lb_open_window('cup:1', starts => '2026-01-01', ends => '2026-02-01', keep => '1 day', late => '0');
	INSERT INTO player_score_windows (player_id, window_key, score) VALUES (1, 'cup:1', 5);
	SELECT lb_set_limit('l', 'global', max_amount => 100, max_submits => 1000, action => 'flag');
	SELECT lb_watch('global', 3), lb_watch_member(2)};
my $all = q{
	SET search_path = public;
	SELECT * FROM lb_submit(1, 50, match_id => 'm' OPERATOR(pg_catalog.||) pg_catalog.txid_current());
	SELECT lb_submit_many('{1,2,3}', '{1,2,300}');
	SELECT lb_submit_json('{"player_id": 2, "amount": 5}');
	SELECT lb_hide(3); SELECT lb_show(3);
	SELECT lb_rank(1::pg_catalog.int8), lb_score(1), lb_percentile(1), lb_player(1), lb_at(1), lb_count(), lb_count_between(1, 9),
		lb_rank_of_score(3), lb_score_at_percentile(50), lb_rank_json(1), lb_resolve_board('daily'), lb_window_at('daily'),
		lb_estimate_memory(10), lb_estimate_memory(10, keeps => 'counts', distinct_scores => 5);
	SELECT * FROM lb_top(); SELECT * FROM lb_page(); SELECT lb_count_before(3, '{now}', 1, inclusive => true); SELECT lb_top_json(); SELECT * FROM lb_around(1); SELECT * FROM lb_ranks('{1,2}');
	SELECT * FROM lb_among('{1,2}'); SELECT * FROM lb_histogram(2); SELECT * FROM lb_verify();
	SELECT * FROM lb_stat_board; SELECT * FROM lb_stat_memory; SELECT * FROM lb_stat_ledger; SELECT * FROM lb_stat_feed;
	SELECT lb_close_season('global', 's' OPERATOR(pg_catalog.||) pg_catalog.txid_current(), NULL, 1);
	SELECT * FROM lb_archive_top('global'); SELECT * FROM lb_maintain(10);
	SELECT lb_rebuild();
	SELECT lb_create_board('other', 'player_scores'), lb_create_board('fam', 'player_score_windows', board_column => 'window_key');
	SELECT lb_create_board('counted', 'player_scores', keeps => 'counts'), lb_create_board('ids', 'player_scores', 'player_id', keeps => 'counts');
	SELECT lb_count('counted'), lb_rank_of_score(3, 'counted'), lb_rank(1, 'ids') FROM lb_histogram(2, 'counted'), lb_around(1, 'ids');
	SELECT lb_set_offline('other', 'error'), lb_drop_board('other'), lb_drop_board('fam'), lb_drop_board('counted'), lb_drop_board('ids');
	SELECT lb_set_limit('x', 'global', 5); SELECT lb_drop_limit('x');
	SELECT lb_set_entry('hourly', 3) FROM (SELECT lb_open_window('hourly')) o;
	SELECT lb_join(1, 'hourly'); SELECT * FROM lb_submit(1, 1); SELECT * FROM lb_entry_status(1, 'hourly');
	SELECT lb_leave(1, 'hourly'); SELECT lb_drop_entry('hourly'); SELECT lb_close_window('hourly')};
safe_as('landlord', $use, 'tables, windows, limits, watches');
safe_as('landlord', $all, 'every function, by the owner of the database');
safe_as('landlord', "SET leaderboard.enable_index = off; $all", '... and by the queries');
safe_as('postgres', $all, 'every function, by a superuser');
safe_as('postgres', "SET leaderboard.enable_index = off; $all; SELECT lb_notify()", '... and by the queries');
ok($node->poll_query_until('rented', q{SELECT count(*) = 1 FROM public.lb_closed WHERE board OPERATOR(pg_catalog.=) 'cup:1' AND removed_at IS NOT NULL}),
	'the maintenance worker has been here');
safe_as('landlord', 'SELECT public.lb_submit(1, 77)', 'something to notify');
ok($node->poll_query_until('rented', q{SELECT last_scores[1] OPERATOR(pg_catalog.=) (SELECT CAST(pg_catalog.max(score) AS pg_catalog.text) FROM public.player_scores)
		FROM public.lb_watched WHERE member IS NULL}), 'the notifier has been here');
is($node->safe_psql('postgres', q{SELECT rolsuper FROM pg_roles WHERE rolname = 'landlord'}), 'f', 'nothing planted ran with more rights');

# The owner cannot alter the extension's tables, or write to them.
for my $t (qw(lb_board lb_leaderboard lb_window lb_limit lb_closed lb_applied lb_event lb_usage lb_anomaly lb_archive lb_archive_source lb_watched lb_entry lb_entry_count lb_entrant lb_hidden))
{
	like(as('landlord', "ALTER TABLE public.$t ADD COLUMN x integer"), qr/must be owner of table $t/, "$t: not altered");
	like(as('landlord', "DELETE FROM public.$t"), qr/permission denied for table $t/, 'nor written');
	like(as('landlord', "CREATE TRIGGER x AFTER INSERT ON public.$t EXECUTE FUNCTION planted.act()"), qr/permission denied for table $t/, 'nor triggered');
	like(as('landlord', "ALTER EXTENSION leaderboard DROP TABLE public.$t"), qr/must be owner of table $t/, 'nor taken from the extension');
}

# A schema of the owner's that comes before the extension's among its members.
safe_as('landlord', q{CREATE SCHEMA own;
	CREATE FUNCTION own.lb_capture() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM planted.act(); RETURN NULL; END $$;
	CREATE TABLE public.late (player_id pg_catalog.int8 PRIMARY KEY, score pg_catalog.int8)}, 'a schema');
safe_as('postgres', 'ALTER EXTENSION leaderboard DROP SCHEMA leaderboard_internal', 'the schema is no member');
safe_as('landlord', 'ALTER EXTENSION leaderboard ADD SCHEMA own', 'another one is');
safe_as('postgres', 'ALTER EXTENSION leaderboard ADD SCHEMA leaderboard_internal', 'and the first one again');
safe_as('postgres', q{SELECT public.lb_create_board('late', 'public.late')}, 'a board');
is($node->safe_psql('rented', q{SELECT pg_catalog.string_agg(DISTINCT tgfoid::pg_catalog.regproc::pg_catalog.text, ' ') FROM pg_catalog.pg_trigger
		WHERE tgrelid OPERATOR(pg_catalog.=) 'public.late'::pg_catalog.regclass}),
	'leaderboard_internal.lb_capture', 'its triggers are of the extension');
safe_as('landlord', 'DROP EXTENSION leaderboard CASCADE', 'dropped');
is($node->safe_psql('postgres', q{SELECT rolsuper FROM pg_roles WHERE rolname = 'landlord'}), 'f', 'no right gained');
unlike(slurp_file($node->logfile), qr/PANIC|was terminated by signal/, 'no crash');

$node->stop;
done_testing();
