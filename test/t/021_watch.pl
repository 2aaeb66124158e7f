# Notification by a worker: what has changed of what is watched.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use JSON::PP;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $settings = "leaderboard.notify_interval = '50ms'\nleaderboard.maintenance_interval = 0\n";
my $few = lb_node('few', $settings . "max_worker_processes = 5\n");
my $node = $few;
$node->start;

sub make
{
	my ($db) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $db") if $db ne 'postgres';
	$node->safe_psql($db, q{
		CREATE EXTENSION leaderboard;
		SELECT lb_create_tables();
		SELECT lb_open_window('daily', keep => '1000 years');
		SELECT lb_open_window('weekly', keep => '1000 years');
		CREATE FUNCTION seen(b text, m text, s text[]) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			FOR i IN 1 .. 60000 LOOP
				IF (SELECT last_scores = s FROM lb_watched
						WHERE board = b AND member IS NOT DISTINCT FROM m) THEN
					RETURN;
				END IF;
				PERFORM pg_sleep(0.01);
			END LOOP;
			RAISE 'scores that have not been seen: %', s;
		END $$});
	wait_ready($node, $db);
	$node->safe_psql($db, q{SELECT lb_submit_many('{1,2,3,4,5}', '{10,20,30,40,50}', at => '2026-04-09')});
	return;
}

sub workers
{
	my ($db) = @_;

	return $node->safe_psql('postgres', qq{SELECT count(*) FROM pg_stat_activity
		WHERE datname = '$db' AND backend_type = 'leaderboard notifier'});
}

# Wait until there are n workers.
sub until_workers
{
	my ($db, $n, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return ok($node->poll_query_until('postgres', qq{SELECT count(*) = $n FROM pg_stat_activity
		WHERE datname = '$db' AND backend_type = 'leaderboard notifier'}), $what);
}

# The notifications of a session that runs these statements.  Its own notification
# comes after all that were committed before.
sub heard
{
	my ($db, @sql) = @_;
	my ($rc, $out, $err) = $node->psql($db, join(";\n", 'LISTEN leaderboard; LISTEN heard', @sql, 'NOTIFY heard', 'SELECT 1', ''), on_error_stop => 1);

	is($rc, 0, "heard: $err");
	my @payloads = $out =~ /Asynchronous notification "leaderboard" with payload "(.*)" received/g;

	ok(length($_) < 8000, 'a payload is below 8000 bytes') for @payloads;
	return map { decode_json($_) } @payloads;
}

# Where there are too few workers, it is said once, tried until one has left, and
# no build has to wait for good.  It is tried every two seconds, and so while the
# other server is tested.
make($_) for ('postgres', 'one', 'two');
$node->safe_psql($_, q{SELECT lb_watch('global', 1)}) for ('postgres', 'one', 'two');
my $notifiers = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'leaderboard notifier'};
my $refused = qr/WARNING:  could not start a leaderboard notifier/;
ok($node->poll_query_until('postgres', $notifiers, '2'), 'as many workers as there may be');
ok($node->wait_for_log($refused), 'it is said');

$node = lb_node('watch', $settings);
$node->start;
make('postgres');
usleep(300_000);
is(workers('postgres'), '0', 'no worker where no session watches');

# The first places.
my @got = heard('postgres',
	q{SELECT lb_watch('global', 3)},
	q{SELECT applied FROM lb_submit(2, 15, boards => '{global}')},
	q{SELECT seen('global', NULL, '{50,40,35}')});
is(scalar @got, 1, 'one notification');
like($got[0]{as_of}, qr/^2/, 'it has the time');
delete $got[0]{as_of};
is_deeply($got[0],
	{ board => 'global', key => 'global', more => JSON::PP::false,
		places => [ { place => 3, rank => 3, player_id => 2, score => 35 } ] },
	'the place that changed');
is(workers('postgres'), '1', 'a worker');

# There is no notification without a change.
@got = heard('postgres',
	q{SELECT applied FROM lb_submit(1, 1, boards => '{global}')},
	q{SELECT applied FROM lb_submit(5, 5, boards => '{global}')},
	q{SELECT seen('global', NULL, '{55,40,35}')});
is_deeply([ map { $_->{player_id} } map { @{ $_->{places} } } @got ], [5], 'of two changes, one');

# Rolled back.
@got = heard('postgres',
	'BEGIN', q{SELECT applied FROM lb_submit(1, 1000, boards => '{global}')}, 'SELECT pg_sleep(0.2)', 'ROLLBACK',
	q{SELECT applied FROM lb_submit(5, 1, boards => '{global}')},
	q{SELECT seen('global', NULL, '{56,40,35}')});
is_deeply([ map { $_->{score} } map { @{ $_->{places} } } @got ], [56], 'not what is rolled back');

# A member's rank, in a window too.
@got = heard('postgres',
	q{SELECT lb_unwatch('global'), lb_watch_member(1, 'weekly:202615'), lb_watch_member(1)},
	q{SELECT applied FROM lb_submit(1, 90, at => '2026-04-09')},
	q{SELECT seen('weekly:202615', '1', '{100}'), seen('global', '1', '{101}')});
delete $_->{as_of} for @got;
is_deeply([ sort { $a->{board} cmp $b->{board} } @got ],
	[ { board => 'global', key => 'global', player_id => 1, old => 5, new => 1, score => 101 },
		{ board => 'weekly:202615', key => 'weekly:202615', player_id => 1, old => 5, new => 1, score => 100 } ],
	'ranks that changed');
@got = heard('postgres',
	q{DELETE FROM player_scores WHERE player_id = 1},
	q{SELECT seen('global', '1', '{NULL}')});
is_deeply([ map { [ $_->{old}, $_->{new}, $_->{score} ] } @got ], [ [ 1, undef, undef ] ], 'a member that has left');

# Members and scores of other types, as JSON has them.
@got = heard('postgres',
	q{CREATE TABLE accounts (id uuid PRIMARY KEY, balance numeric(12,2));
		INSERT INTO accounts SELECT ('00000000-0000-0000-0000-00000000000' || g)::uuid, g FROM generate_series(1, 3) g;
		SELECT lb_create_board('accounts', 'accounts', member => 'id', rank_by => 'balance DESC'), lb_wait_ready('1 min');
		SELECT lb_watch('accounts', 1), lb_watch_member_key('00000000000000000000000000000001', 'accounts')},
	q{UPDATE accounts SET balance = 4.50 WHERE balance = 1},
	q{SELECT seen('accounts', NULL, '{4.50}'), seen('accounts', '00000000-0000-0000-0000-000000000001', '{4.50}')});
is_deeply([ sort { ($a->{old} // 0) <=> ($b->{old} // 0) } map { delete $_->{as_of}; $_ } @got ],
	[ { board => 'accounts', key => 'accounts', more => JSON::PP::false,
			places => [ { place => 1, rank => 1, player_id => '00000000-0000-0000-0000-000000000001', score => 4.5 } ] },
		{ board => 'accounts', key => 'accounts', player_id => '00000000-0000-0000-0000-000000000001', old => 3, new => 1,
			score => 4.5 } ],
	'a uuid and a numeric');
@got = heard('postgres',
	q{CREATE TABLE guild_players (guild text, n integer, points integer, PRIMARY KEY (guild, n));
		INSERT INTO guild_players VALUES ('', 1, 5), (E'"\\\\"\\n', 2, 4);
		SELECT lb_create_board('guilds', 'guild_players', member => 'guild, n', rank_by => 'points DESC'), lb_wait_ready('1 min');
		SELECT lb_watch_member_key(ROW(guild, n)::text, 'guilds') FROM guild_players WHERE n = 2},
	q{UPDATE guild_players SET points = 6 WHERE n = 2},
	q{SELECT seen('guilds', member, '{6}') FROM lb_watched WHERE board = 'guilds'});
is_deeply([ map { delete $_->{as_of}; $_ } @got ],
	[ { board => 'guilds', key => 'guilds', player_id => { guild => qq{"\\"\n}, n => 2 }, old => 2, new => 1, score => 6 } ],
	'a text and an integer');
$node->safe_psql('postgres', q{SELECT lb_drop_board('accounts'), lb_drop_board('guilds'); DROP TABLE accounts, guild_players});

# Many changes are few notifications.
$node->append_conf('postgresql.conf', "leaderboard.notify_interval = '2s'");
$node->reload;
@got = heard('postgres',
	q{SELECT lb_unwatch_member(1), lb_unwatch_member(1, 'weekly:202615'), lb_watch('global', 2)},
	q{DO $$ BEGIN FOR i IN 1 .. 100 LOOP PERFORM lb_submit(2, 1000, boards => '{global}'); COMMIT; END LOOP; END $$},
	q{SELECT seen('global', NULL, '{100035,56}')});
cmp_ok(scalar @got, '<', 50, 'a hundred commits are few notifications');
is($got[-1]{places}[0]{score}, 100035, 'the last one has the last');
$node->append_conf('postgresql.conf', "leaderboard.notify_interval = '50ms'");
$node->reload;

# A large change is cut.
@got = heard('postgres',
	q{SELECT lb_watch('global', 1000)},
	q{INSERT INTO player_scores (player_id, score) SELECT 1000000000 + g, 9000000000000000000 - g FROM generate_series(1, 1000) g},
	q{DO $$ BEGIN FOR i IN 1 .. 60000 LOOP EXIT WHEN (SELECT last_members[1] = '1000000001' FROM lb_watched); PERFORM pg_sleep(0.01); END LOOP; END $$});
is(scalar @got, 1, 'one notification for a thousand places');
ok($got[0]{more}, 'which has been cut');
cmp_ok(scalar @{ $got[0]{places} }, '>', 50, 'but not to nothing');

# A board whose table is locked does not hold up the notifications of others.
@got = heard('postgres',
	q{SELECT lb_watch('global', 1), lb_watch('weekly:202615', 1)},
	q{BEGIN; LOCK TABLE player_score_windows; PREPARE TRANSACTION 'lock'},
	q{UPDATE player_scores SET score = 1 WHERE player_id = 1000000001},
	q{SELECT seen('global', NULL, '{8999999999999999998}')});
is(scalar @got, 1, 'notified beside a table that is locked');
$node->safe_psql('postgres', q{COMMIT PREPARED 'lock'; SELECT lb_unwatch('weekly:202615')});

# Nor does one that fails: its value is too long for the index, and its table's
# owner may not read it.
$node->safe_psql('postgres', q{
	CREATE ROLE g_owner;
	CREATE TABLE g (id bigint PRIMARY KEY, score bigint, v text, UNIQUE (id, v));
	SELECT lb_create_board('g', 'g', 'id', board_column => 'v')});
wait_ready($node, 'postgres');
$node->safe_psql('postgres', q{
	SELECT lb_watch('g:' || repeat('x', 1025));
	ALTER TABLE g OWNER TO g_owner;
	REVOKE SELECT ON g FROM g_owner;
	INSERT INTO g VALUES (1, 1, repeat('x', 1025))});
wait_ready($node, 'postgres');
ok($node->poll_query_until('postgres', q{SELECT problem IS NOT NULL FROM lb_watched WHERE board LIKE 'g:%'}), 'a board fails');
@got = heard('postgres', map {
	("UPDATE player_scores SET score = $_ WHERE player_id = 1000000001",
		"SELECT seen('global', NULL, '{$_}')",
		'UPDATE player_scores SET score = 1 WHERE player_id = 1000000001',
		q{SELECT seen('global', NULL, '{8999999999999999998}')}) } map { '900000000000000000' . $_ } 1 .. 3);
is(scalar @got, 6, 'notified beside a board that fails');
is(scalar(() = slurp_file($node->logfile) =~ /WARNING:  could not notify of board "g:x+": permission denied/g),
	1, 'which is told once');
$node->safe_psql('postgres', 'GRANT SELECT ON g TO g_owner');
ok($node->poll_query_until('postgres', q{SELECT problem IS NULL AND last_scores = '{1}' FROM lb_watched WHERE board LIKE 'g:%'}),
	'until it works');
$node->safe_psql('postgres', q{SELECT lb_unwatch('g:' || repeat('x', 1025)); DROP TABLE g});

# A board that lacks a row in its index, for its text, says so.  The worker runs no query of
# it, and tells of the family's others.
$node->safe_psql('postgres', q{
	CREATE TABLE h (realm text, name text, score int, PRIMARY KEY (realm, name));
	INSERT INTO h VALUES ('A', 'a', 1), ('B', 'b', 1);
	SELECT lb_create_board('h', 'h', 'name', board_column => 'realm')});
wait_ready($node, 'postgres');
$node->safe_psql('postgres', q{SELECT lb_watch('h:A', 1), lb_watch('h:B', 1); INSERT INTO h VALUES ('A', repeat('x', 600), 9)});
ok($node->poll_query_until('postgres', q{SELECT problem LIKE 'the index of board "h:A" does not have all%' FROM lb_watched WHERE board = 'h:A'}),
	'a board that lacks a row');
@got = heard('postgres', q{UPDATE h SET score = 5 WHERE realm = 'B'}, q{SELECT seen('h:B', NULL, '{5}')});
is(scalar @got, 1, 'another one is notified of');
$node->safe_psql('postgres', q{UPDATE h SET name = 'x' WHERE score = 9});
ok($node->poll_query_until('postgres', q{SELECT problem IS NULL AND last_scores = '{9}' FROM lb_watched WHERE board = 'h:A'}),
	'and the first one when it has the row');
$node->safe_psql('postgres', q{SELECT lb_unwatch('h:A'), lb_unwatch('h:B'); DROP TABLE h});

# Over a restart, and a crash.
for my $how ('fast', 'immediate')
{
	my $score = $how eq 'fast' ? 1 : 2;

	$node->safe_psql('postgres', q{TRUNCATE player_scores; INSERT INTO player_scores VALUES (1, 1); SELECT lb_watch('global', 1)});
	$node->stop($how);
	$node->start;
	wait_ready($node, 'postgres');
	@got = heard('postgres',
		"UPDATE player_scores SET score = 1$score WHERE player_id = 1",
		"SELECT seen('global', NULL, '{1$score}')");
	is_deeply([ map { $_->{score} } map { @{ $_->{places} } } @got ], [ "1$score" ], "after $how: notified");
}

# A watch that is prepared is there once it is committed, however long that takes
# and whatever happens meanwhile.
$node->safe_psql('postgres', q{SELECT lb_unwatch('global')});
until_workers('postgres', 0, 'no session watches');
for my $restart (0, 1)
{
	$node->safe_psql('postgres', q{SELECT lb_unwatch('global'); UPDATE player_scores SET score = 1 WHERE player_id = 1;
		BEGIN; SELECT lb_watch('global', 1); PREPARE TRANSACTION 'watch'});
	usleep(1_000_000);
	if ($restart)
	{
		$node->restart;
		wait_ready($node, 'postgres');
		usleep(1_000_000);
	}
	$node->safe_psql('postgres', q{COMMIT PREPARED 'watch'});
	@got = heard('postgres',
		q{UPDATE player_scores SET score = 5 WHERE player_id = 1},
		q{SELECT seen('global', NULL, '{5}')});
	is_deeply([ map { $_->{score} } map { @{ $_->{places} } } @got ], [5], 'prepared: notified');
}

# Commands on a database that is watched.
make('busy');
$node->safe_psql('busy', q{SELECT lb_watch('global', 1)});
until_workers('busy', 1, 'a worker before');
ok(retry_accessed($node, 'CREATE DATABASE copy TEMPLATE busy'), 'a copy of the database can be made');
until_workers('busy', 1, 'the worker is back');
ok(retry_accessed($node, 'DROP DATABASE busy'), 'the database can be dropped');
is($node->safe_psql('copy', q{SELECT lb_rank(5)}), '1', 'the copy works');
@got = heard('copy',
	q{SELECT applied FROM lb_submit(4, 15, boards => '{global}')},
	q{SELECT seen('global', NULL, '{55}')});
is(scalar @got, 1, 'and is watched as well');

# While a board is offline the worker runs no query, whatever the board says of its reads.
$node->safe_psql('postgres', q{SELECT lb_set_offline('global', 'query');
	ALTER TABLE player_scores DISABLE TRIGGER leaderboard_capture});
@got = heard('postgres',
	q{INSERT INTO player_scores VALUES (500, 200)},
	q{SELECT lb_watch('weekly:202615', 1)},
	q{INSERT INTO player_score_windows VALUES (500, 'weekly:202615', 300)},
	q{SELECT seen('weekly:202615', NULL, '{300}')},
	q{SELECT lb_unwatch('weekly:202615')});
is_deeply([ map { $_->{board} } @got ], ['weekly:202615'], 'other boards are compared meanwhile');
@got = heard('postgres',
	q{ALTER TABLE player_scores ENABLE ALWAYS TRIGGER leaderboard_capture},
	q{SELECT lb_rebuild('global')},
	q{SELECT seen('global', NULL, '{200}')});
is(scalar @got, 1, 'notified when the board is back');
$node->safe_psql('postgres', 'DELETE FROM player_scores WHERE player_id = 500');

# No session watches any more.
$node->safe_psql('postgres', q{SELECT lb_unwatch('global')});
until_workers('postgres', 0, 'the worker has left');
@got = heard('postgres',
	q{SELECT lb_watch('global', 1)},
	q{SELECT applied FROM lb_submit(1, 100, boards => '{global}')},
	q{SELECT seen('global', NULL, '{105}')});
is(scalar @got, 1, 'and comes back');
$node->safe_psql('postgres', 'DROP EXTENSION leaderboard CASCADE');
until_workers('postgres', 0, 'gone with the extension');

$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP:|signal 11/, 'nothing has crashed');
unlike($log, qr/FATAL:  database .* does not exist/, 'no worker connects to a dropped database');

# The server with too few workers
$node = $few;
is(scalar(() = slurp_file($node->logfile) =~ /$refused/g), 1, 'said once');
is($node->safe_psql('postgres', $notifiers), '2', 'they stay');
my $ended = qr/FATAL:  terminating background worker "leaderboard notifier/;
my $before = () = slurp_file($node->logfile) =~ /$ended/g;
is($node->safe_psql('one', q{SELECT lb_rebuild('global'); SELECT lb_wait_ready('10 min')}), "\nt", 'a board is built') for (1 .. 5);
my $after = () = slurp_file($node->logfile) =~ /$ended/g;
cmp_ok($after - $before, '<=', 5, 'no build has ended more than one notifier');
$node->safe_psql($_, q{SELECT lb_unwatch('global')}) for ('postgres', 'one');
@got = heard('two',
	q{SELECT applied FROM lb_submit(5, 5, boards => '{global}')},
	q{SELECT seen('global', NULL, '{55}')});
is(scalar @got, 1, 'notified when there is room');
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|signal 11/, 'nothing has crashed');
done_testing();
