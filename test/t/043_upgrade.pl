# ALTER EXTENSION UPDATE to a version that this test makes of the present one: it leads
# to the objects of a fresh installation, and a library of another version than the SQL
# objects says so, loses no write and answers nothing.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = lb_node('upgrade', 'leaderboard.maintenance_interval = 0');
my $scripts = $node->config_data('--sharedir') . '/extension';
my ($version) = slurp_file("$scripts/leaderboard.control") =~ /^default_version = '(.*)'$/m;
my $next = "$version.next";
my $addition = q{
COMMENT ON COLUMN @extschema@.lb_board.board IS 'another comment';
ALTER TABLE @extschema@.lb_board ADD COLUMN added integer;
CREATE FUNCTION @extschema@.lb_added() RETURNS integer LANGUAGE sql RETURN 1;
GRANT SELECT ON TABLE @extschema@.lb_event TO pg_monitor;
};
my @made;

sub make_script
{
	my ($name, $text) = @_;

	push @made, "$scripts/leaderboard--$name.sql";
	append_to_file($made[-1], $text);
	return;
}

END
{
	unlink @made;
}

make_script($next, slurp_file("$scripts/leaderboard--$version.sql") . $addition);
make_script("$version--$next", $addition);
make_script("$next--$version", q{
DROP FUNCTION @extschema@.lb_added();
ALTER TABLE @extschema@.lb_board DROP COLUMN added;
REVOKE SELECT ON TABLE @extschema@.lb_event FROM pg_monitor;
});
$node->start;

# Everything that the extension has in a database, a line each.
sub catalog
{
	my ($db) = @_;

	return $node->safe_psql($db, q{
		SET search_path = pg_catalog;
		WITH member AS MATERIALIZED (
			SELECT d.classid, d.objid
			FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
			WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
				AND e.extname = 'leaderboard'),
		relation AS MATERIALIZED (
			SELECT c.* FROM pg_class c
			WHERE c.oid IN (SELECT objid FROM member WHERE classid = 'pg_class'::regclass))
		SELECT line FROM (
		SELECT pg_describe_object(classid, objid, 0) || ', comment '
			|| coalesce(obj_description(objid, classid::regclass::name), 'none')
		FROM member WHERE classid <> 'pg_type'::regclass
		UNION ALL
		SELECT concat_ws(', ', pg_get_functiondef(p.oid), p.proacl,
			pg_get_userbyid(p.proowner))
		FROM pg_proc p
		WHERE p.oid IN (SELECT objid FROM member WHERE classid = 'pg_proc'::regclass)
		UNION ALL
		SELECT concat_ws(', ', n.nspname, n.nspacl, pg_get_userbyid(n.nspowner))
		FROM pg_namespace n
		WHERE n.oid IN (SELECT objid FROM member WHERE classid = 'pg_namespace'::regclass)
		UNION ALL
		SELECT concat_ws(', ', c.oid::regclass, c.relkind, c.relacl, c.reloptions, c.relrowsecurity,
			c.relpersistence, c.relreplident, pg_get_userbyid(c.relowner),
			CASE WHEN c.relkind = 'v' THEN pg_get_viewdef(c.oid) END)
		FROM relation c
		UNION ALL
		SELECT concat_ws(', ', a.attrelid::regclass, a.attnum, a.attname,
			format_type(a.atttypid, a.atttypmod), a.attcollation::regcollation, a.attnotnull,
			a.attidentity, pg_get_expr(d.adbin, d.adrelid), a.attacl, a.attstorage,
			col_description(a.attrelid, a.attnum))
		FROM pg_attribute a JOIN relation c ON c.oid = a.attrelid
			LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
		WHERE a.attnum > 0 AND NOT a.attisdropped
		UNION ALL
		SELECT concat_ws(', ', conrelid::regclass, conname, pg_get_constraintdef(oid))
		FROM pg_constraint WHERE conrelid IN (SELECT oid FROM relation)
		UNION ALL
		SELECT pg_get_indexdef(indexrelid)
		FROM pg_index WHERE indrelid IN (SELECT oid FROM relation)
		UNION ALL
		SELECT concat_ws(', ', pg_get_triggerdef(oid), tgenabled)
		FROM pg_trigger WHERE NOT tgisinternal AND tgrelid IN (SELECT oid FROM relation)
		UNION ALL
		SELECT concat_ws(', ', e.evtname, e.evtevent, e.evtfoid::regproc, e.evtenabled)
		FROM pg_event_trigger e
		WHERE e.oid IN (SELECT objid FROM member WHERE classid = 'pg_event_trigger'::regclass)
		UNION ALL
		SELECT concat_ws(', ', 'dumped', c.oid::regclass, x.cond)
		FROM pg_extension e, unnest(e.extconfig, e.extcondition) AS x (oid, cond)
			JOIN pg_class c ON c.oid = x.oid
		WHERE e.extname = 'leaderboard') s (line) ORDER BY line});
}

# A fresh installation of each version, and updates of each one to each other one.
my %fresh;
for my $wanted ($version, $next)
{
	$node->safe_psql('postgres', qq{CREATE DATABASE "$wanted"});
	$node->safe_psql($wanted, "CREATE EXTENSION leaderboard VERSION '$wanted'");
	$fresh{$wanted} = catalog($wanted);
}
cmp_ok(scalar(split /\n/, $fresh{$version}), '>', 500, 'a version has objects');
isnt($fresh{$next}, $fresh{$version}, 'the next one has others');

for my $schema ('public', 'leaderboard')
{
	my $db = "in_$schema";
	my ($out, $err);

	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, qq{
		SET client_min_messages = warning;
		CREATE SCHEMA IF NOT EXISTS $schema;
		CREATE EXTENSION leaderboard SCHEMA $schema;
		SELECT $schema.lb_create_tables();
		INSERT INTO player_scores (player_id, score) SELECT i, i FROM generate_series(1, 100) i;
		SELECT $schema.lb_wait_ready();
		CREATE ROLE writer_$schema;
		GRANT SELECT, INSERT, UPDATE ON player_scores TO writer_$schema;
		GRANT USAGE ON SCHEMA $schema TO writer_$schema;
		REVOKE EXECUTE ON FUNCTION $schema.lb_rank FROM PUBLIC;
		GRANT EXECUTE ON FUNCTION $schema.lb_rank TO writer_$schema;
		CREATE VIEW ranked AS SELECT player_id, $schema.lb_rank(player_id) FROM player_scores});
	my $session = open_session($node, $db);
	is($session->query("SELECT $schema.lb_rank(1)"), '100', "$schema: a session reads");

	$node->safe_psql($db, "ALTER EXTENSION leaderboard UPDATE TO '$next'");
	for my $call ("$schema.lb_rank(1)", "$schema.lb_submit(1, 5)", "$schema.lb_maintain()",
		"$schema.lb_create_board('x', 'player_scores')", "$schema.lb_hide(1)", 'sum(lb_rank) FROM ranked')
	{
		(undef, undef, $err) = $node->psql($db, "SELECT $call");
		like($err, qr/leaderboard's library and its SQL objects are of different versions/, "$schema: $call");
	}
	like($err, qr/DETAIL:  The server has loaded version \Q$version\E of the library/, 'the library says its version');
	like($err, qr/HINT:  Restart the server, or run ALTER EXTENSION leaderboard UPDATE/, '... and what to do');
	$session->query("SELECT $schema.lb_rank(1)");
	like($session->{stderr}, qr/of different versions/, 'so in the session that was there');
	is( $node->safe_psql($db, qq{
			SET ROLE writer_$schema;
			INSERT INTO player_scores (player_id, score) VALUES (101, 1000);
			UPDATE player_scores SET score = 2000 WHERE player_id = 1;
			SELECT count(*), max(score) FROM player_scores WHERE ranked AND score >= 1000}),
		'2|2000', 'writes pass, and plain SQL is answered without boards');

	# As if a library of that version had been loaded.
	$node->safe_psql($db, "ALTER EXTENSION leaderboard UPDATE TO '$version'");
	is($node->safe_psql($db, "SELECT $schema.lb_wait_ready()"), 't', 'boards are built again');
	is( $node->safe_psql($db, qq{
			SET ROLE writer_$schema;
			SELECT $schema.lb_rank(1), $schema.lb_rank(101), $schema.lb_rank(2)}),
		'1|2|101', 'with what was written meanwhile, and the rights that were granted');
	$session->{stderr} = '';
	is($session->query("SELECT lb_rank FROM ranked WHERE player_id = 101"), '2', 'in the session, by a view');
	$session->quit;
	is($node->safe_psql($db, "SELECT $schema.lb_submit(1, 5, boards => '{global}')"), '(global,2005,1,1,t)', 'submits');
	is($node->safe_psql($db, "SELECT * FROM $schema.lb_verify()"), '', 'index and table are equal');
}

# By updates the objects of a fresh installation.
$node->safe_psql($version, "ALTER EXTENSION leaderboard UPDATE TO '$next'");
is(catalog($version), $fresh{$next}, 'an update makes the objects of a fresh installation');

$node->stop;
done_testing();
