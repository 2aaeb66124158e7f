# Rows of lb_board that do not come from the extension's functions: by logical
# replication of all tables, and by a restore of data into tables that have
# boards.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = lb_node('publisher', 'wal_level = logical', allows_streaming => 'logical');
my $subscriber = lb_node('subscriber', 'max_worker_processes = 16', allows_streaming => 'logical');
$_->start for ($publisher, $subscriber);
fill($publisher, 'postgres', 600);
ready($publisher, 'postgres', 'publisher');

sub session
{
	my ($node) = @_;

	return open_session($node, 'postgres');
}

# Ranks of one more board that differ from those of SQL.
sub wrong
{
	my ($board, $order) = @_;

	return "SELECT count(*) FILTER (WHERE r IS DISTINCT FROM lb_rank(player_id, '$board')), count(*) = lb_count('$board') FROM"
	  . " (SELECT player_id, row_number() OVER (ORDER BY $order, player_id) AS r FROM player_scores) s";
}

#
# All tables are replicated.
#
my $schema = $publisher->basedir . '/schema.sql';
$publisher->command_ok([ 'pg_dump', '--schema-only', '-f', $schema, '-d', $publisher->connstr('postgres') ], 'pg_dump --schema-only');
$subscriber->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $schema, '-d', $subscriber->connstr('postgres') ], 'psql');
$publisher->safe_psql('postgres', 'CREATE PUBLICATION p FOR ALL TABLES');
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '" . $publisher->connstr . " dbname=postgres' PUBLICATION p");
$subscriber->wait_for_subscription_sync($publisher, 's');
ready($subscriber, 'postgres', 'copied');

# From here on the worker that applies, and a session, know the definitions.
my $old = session($subscriber);
$publisher->safe_psql('postgres', 'UPDATE player_scores SET score = score + 1 WHERE player_id < 50');
$publisher->wait_for_catchup('s');
ready($subscriber, 'postgres', 'applied');
isnt($old->query('SELECT lb_rank(1)'), '', 'a session reads');

sub look
{
	my ($what, $order) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	for my $when ('made', 'changes applied')
	{
		$publisher->wait_for_catchup('s');
		is($subscriber->safe_psql('postgres', wrong('more', $order)), '0|t', "$what, $when: ranks are right");
		wait_ready($subscriber, 'postgres');
		is($subscriber->safe_psql('postgres', wrong('more', $order)), '0|t', "$what, $when: and when it is ready");
		is($old->query(wrong('more', $order)), '0|t', "$what, $when: also in an older session");
		is($subscriber->safe_psql('postgres', 'SELECT * FROM lb_verify()'), '', "$what, $when: index and table are equal");
		$publisher->safe_psql('postgres', 'UPDATE player_scores SET score = score * 7 % 201 WHERE player_id % 3 = 1');
	}
	$publisher->wait_for_catchup('s');
	return right($subscriber, 'postgres', $what);
}

$publisher->safe_psql('postgres', q{SELECT lb_create_board('more', 'player_scores', rank_by => 'score ASC')});
look('a second board', 'score');
$publisher->safe_psql('postgres', q{SELECT lb_drop_board('more');
	SELECT lb_create_board('more', 'player_scores', rank_by => 'score DESC, updated_at DESC')});
look('made anew', 'score DESC, updated_at DESC');
$publisher->safe_psql('postgres', q{SELECT lb_drop_board('more')});
$publisher->wait_for_catchup('s');
for my $who ('a new session', 'an older session')
{
	my $session = $who eq 'a new session' ? session($subscriber) : $old;

	$session->{stderr} = '';
	$session->query(q{SELECT lb_rank(1, 'more')});
	like($session->{stderr}, qr/board "more" does not exist/, "dropped: $who knows");
	$session->quit if $session != $old;
}

# Numbers that the subscriber's sequence has not given are not given again.
$subscriber->safe_psql('postgres', q{
	CREATE TABLE own (player_id bigint PRIMARY KEY, score bigint);
	INSERT INTO own VALUES (1, 10), (2, 20);
	SELECT lb_create_board('own', 'own');
	ALTER TABLE own RENAME score TO points});
is($subscriber->safe_psql('postgres', q{SELECT lb_rank(1, 'own'), (SELECT count(DISTINCT id) = 3 FROM lb_board)}),
	'2|t', q{a board of the subscriber's own});
$old->quit;
ready($subscriber, 'postgres', 'at the end of replication');

# Limits and windows go with their boards there too, those that were set there among
# them.
my $names = q{SELECT (SELECT string_agg(name, ' ' ORDER BY name) FROM lb_limit), (SELECT string_agg(name, ' ' ORDER BY name) FROM lb_window),
	(SELECT string_agg(board, ' ' ORDER BY board) FROM lb_board)};
$publisher->safe_psql('postgres', q{SELECT lb_set_limit('cap', 'global', max_amount => 5)});
$publisher->wait_for_catchup('s');
$subscriber->safe_psql('postgres', q{SELECT lb_set_limit('local', 'global', max_amount => 5), lb_open_window('hourly')});
is($subscriber->safe_psql('postgres', $names), 'cap local|daily hourly weekly|* global own', 'limits and windows');
$publisher->safe_psql('postgres', q{SELECT lb_drop_board('global'), lb_drop_board('*')});
$publisher->wait_for_catchup('s');
is($subscriber->safe_psql('postgres', $names), '||own', 'are gone with their boards');
$_->stop for ($subscriber, $publisher);

#
# Data are restored into tables that have boards.
#
my $node = lb_node('restored');
my $data = $node->basedir . '/data.sql';
$node->start;
fill($node, 'postgres', 600);
ready($node, 'postgres', 'made');
$node->command_ok([ 'pg_dump', '--data-only', '-f', $data, '-d', $node->connstr('postgres') ], 'pg_dump --data-only');
$node->safe_psql('postgres', q{
	UPDATE player_scores SET score = score + 100 WHERE player_id % 2 = 0;
	DELETE FROM player_score_windows WHERE player_id < 100;
	TRUNCATE player_scores, player_score_windows, lb_board, lb_window, lb_reward, lb_entry, lb_entry_count, lb_entrant, lb_hidden});
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $data, '-d', $node->connstr('postgres') ], 'psql');
right($node, 'postgres', 'restored');
ready($node, 'postgres', 'restored');

# The rows of lb_board go and come back; no trigger captures meanwhile.
my %ways = (
	'DELETE' => ['DELETE FROM lb_board', 'INSERT INTO lb_board SELECT * FROM kept'],
	'TRUNCATE' => ['TRUNCATE lb_board', 'INSERT INTO lb_board SELECT * FROM kept'],
	'UPDATE' => [q{UPDATE lb_board SET source = 'kept'}, 'UPDATE lb_board b SET source = k.source FROM kept k WHERE k.id = b.id']);
for my $way (sort keys %ways)
{
	for my $together (0, 1)
	{
		my ($go, $come) = @{ $ways{$way} };
		my $what = "$way, " . ($together ? 'one transaction' : 'apart');
		my $reader = session($node);

		isnt($reader->query('SELECT lb_rank(1)'), '', "$what: a session reads");
		$node->safe_psql('postgres', 'CREATE TABLE kept AS SELECT * FROM lb_board');
		$node->safe_psql('postgres', ($together ? 'BEGIN;' : '') . "$go;"
			  . 'UPDATE player_scores SET score = score + 33 WHERE player_id % 3 = 1;'
			  . q{DELETE FROM player_score_windows WHERE window_key = 'weekly:3';}
			  . "$come;"
			  . ($together ? 'DO $$ BEGIN IF lb_score(1) <> (SELECT score FROM player_scores WHERE player_id = 1) THEN RAISE \'wrong\'; END IF; END $$; COMMIT' : ''));
		is( $reader->query('SELECT lb_score(1) = score FROM player_scores WHERE player_id = 1'),
			't', "$what: the session is right");
		right($node, 'postgres', $what);
		ready($node, 'postgres', $what);
		$node->safe_psql('postgres', 'DROP TABLE kept; UPDATE player_scores SET score = score + 1 WHERE player_id % 2 = 0');
		ready($node, 'postgres', "$what, after changes");
		$reader->quit;
	}
}

# A build waits for a writer that does not know the new rows yet.
my ($writer, $recorder) = map { session($node) } 1 .. 2;
$writer->query('SELECT lb_rank(1)');
$writer->query('BEGIN; UPDATE player_scores SET score = score + 1000 WHERE player_id % 4 = 1');
$recorder->query_until(qr/now/, "\\echo now\n"
	  . q{INSERT INTO lb_board (board, source, member, rank_by, method) VALUES ('more', 'player_scores', 'player_id', 'score ASC', 'row_number');} . "\n");
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'virtualxid' AND NOT granted}),
	'a writer is waited for');
$writer->query('UPDATE player_scores SET score = score + 1000 WHERE player_id % 4 = 2; COMMIT');
is($recorder->query(wrong('more', 'score')), '0|t', 'recorded beside a writer');
wait_ready($node, 'postgres');
is($node->safe_psql('postgres', wrong('more', 'score')), '0|t', 'and when it is ready');
$writer->query('UPDATE player_scores SET score = score - 3000 WHERE player_id % 4 = 3');
is($node->safe_psql('postgres', wrong('more', 'score')), '0|t', 'the writer knows it');
is($node->safe_psql('postgres', 'SELECT * FROM lb_verify()'), '', 'index and table are equal');
$_->quit for ($writer, $recorder);

# A table that is not there is no reason to try again and again.
$node->safe_psql('postgres', q{INSERT INTO lb_board (board, source, member, rank_by, method)
	VALUES ('gone', 999999::oid::regclass, 'player_id', 'score ASC', 'row_number')});
is($node->safe_psql('postgres', q{SELECT lb_wait_ready('60 s')}), 'f', 'a board without its table is not ready');
is( $node->safe_psql('postgres', q{SELECT state, reason FROM lb_stat_board WHERE board = 'gone'}),
	'offline|the source table does not exist', 'it is offline');
$node->safe_psql('postgres', q{SELECT lb_drop_board('gone')});

$node->stop;
for my $server ($publisher, $subscriber, $node)
{
	unlike(slurp_file($server->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold|cache lookup failed/, $server->name . ': nothing bad in the log');
}
done_testing();
