# What a primary writes to WAL for its standbys: nothing if it is not to, and nothing that
# others see.  Logical decoding skips it, no role can forge it, and a server without the
# library replays it as nothing.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use LbStandby;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = lb_node('primary', <<'END', allows_streaming => 'logical', has_archiving => 1);
wal_level = logical
leaderboard.feed_standbys = off
autovacuum = off
full_page_writes = off
checkpoint_timeout = 1h
END
$primary->start;

sub place
{
	return $primary->lsn('insert');
}

# A place to which the files have WAL, and at least one record since any other place.
sub end_of_wal
{
	return $primary->safe_psql('postgres', q{SELECT pg_logical_emit_message(false, 'end', '') < '0/0'; SELECT pg_switch_wal()}) =~ s/.*\n//r;
}

# Records of the primary's WAL from one place to another, as pg_waldump shows them.
sub wal
{
	my ($from, $to) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run(['pg_waldump', '-p', $primary->data_dir . '/pg_wal', '-s', $from, '-e', $to], '>', \$out, '2>', \$err)
	  or die "pg_waldump: $err";
	return split /\n/, $out;
}

# What our messages since a place say: C, U, H, B.
my $message = qr/prefix "lb"; payload \(\d+ bytes\): (01 ([0-9A-F]{2})[0-9A-F ]*)/;

sub messages
{
	my ($from) = @_;

	return join '', map { /$message/ ? chr hex $2 : () } wal($from, end_of_wal());
}

# Statements of one session, each a transaction of its own.
sub update
{
	my ($n) = @_;

	$primary->safe_psql('postgres', join ';', map { "UPDATE player_scores SET score = score + 1 WHERE player_id = $_" } 1 .. $n);
	return;
}

#
# Switched off, and on.
#

my $begin = place();
fill($primary, 'postgres', 200);
$primary->safe_psql('postgres', q{
	BEGIN; UPDATE player_scores SET score = score + 1; SAVEPOINT s; DELETE FROM player_scores WHERE player_id > 190; COMMIT;
	BEGIN; UPDATE player_scores SET score = 3 WHERE player_id = 3; PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p';
	TRUNCATE player_score_windows;
	CREATE TABLE other (player_id bigint PRIMARY KEY, score bigint);
	SELECT lb_create_board('other', 'other'); SELECT lb_drop_board('other'); DROP TABLE other});
wait_ready($primary, 'postgres');
is(messages($begin), '', 'off: nothing is written');

# Bytes that a transaction takes, on average.
sub bytes
{
	my $from = place();
	my %bytes;

	update(50);
	for (wal($from, end_of_wal()))
	{
		m{len \(rec/tot\):\s+\d+/\s*(\d+), tx:\s+(\d+),} or die $_;
		$bytes{$2} += int(($1 + 7) / 8) * 8 if $2 != 0;
	}
	delete $bytes{$_} for grep { $bytes{$_} > 1000 } keys %bytes;
	cmp_ok(scalar keys %bytes, '>=', 45, 'transactions in WAL');
	my $sum = 0;
	$sum += $_ for values %bytes;
	return $sum / keys %bytes;
}

update(50);
my $bytes_off = bytes();

sub set_feed
{
	my ($to) = @_;

	$primary->append_conf('postgresql.conf', "leaderboard.feed_standbys = $to");
	$primary->reload;
	return;
}

# Wait until messages since a place are like this; updates are made before each look.
sub wait_messages
{
	my ($from, $like, $what, $updates) = @_;
	my $messages = '';

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		update($updates) if $updates;
		$messages = messages($from);
		last if $messages =~ $like;
		select undef, undef, undef, 0.1;
	}
	return like($messages, $like, $what);
}

$begin = place();
set_feed('on');
wait_messages($begin, qr/^H/, 'on: it says so');
$begin = place();
update(5);
is(messages($begin) =~ s/H//gr, 'CCCCC', 'on: one message for each transaction');
my $bytes_on = bytes();
note "bytes of WAL for an UPDATE: $bytes_off, feeding $bytes_on";
cmp_ok($bytes_on, '>', $bytes_off, 'WAL of an UPDATE grows');
cmp_ok($bytes_on, '<=', $bytes_off + 110, 'WAL of an UPDATE grows by 110 bytes at most');

$begin = place();
$primary->safe_psql('postgres', q{
	BEGIN; UPDATE player_scores SET score = score + 1; ROLLBACK;
	CREATE UNLOGGED TABLE sessions (player_id bigint PRIMARY KEY, score bigint);
	CREATE TABLE plain (player_id bigint PRIMARY KEY, score bigint);
	INSERT INTO plain VALUES (1, 1);
	UPDATE player_scores SET score = score WHERE player_id = 7});
is(messages($begin) =~ s/H//gr, '', 'on: what changes no board is not written');
$primary->safe_psql('postgres', q{SELECT lb_create_board('sessions', 'sessions')});
wait_ready($primary, 'postgres');
$begin = place();
$primary->safe_psql('postgres', q{INSERT INTO sessions SELECT g, g FROM generate_series(1, 20) g; UPDATE sessions SET score = 3});
is(messages($begin) =~ s/H//gr, '', 'on: nor is an unlogged table');
$begin = place();
$primary->safe_psql('postgres', q{DROP TABLE sessions});
like(messages($begin) =~ s/H//gr, qr/^U/, 'on: a board that is gone is');

$begin = place();
set_feed('off');
wait_messages($begin, qr/B/, 'off again: it says so');

# The launcher says so, and then switches it off.
for (1 .. 100)
{
	$begin = place();
	update(1);
	last if messages($begin) eq '';
}
$begin = place();
update(5);
$primary->safe_psql('postgres', 'TRUNCATE player_score_windows');
is(messages($begin), '', 'off again: nothing is written');

#
# Logical decoding sees none of it, and what others write with the same prefix.
#

$begin = place();
set_feed('auto');
wait_messages($begin, qr/H/, 'auto: a server that has started feeds');
$primary->safe_psql('postgres', q{
	CREATE PUBLICATION p FOR TABLE player_scores;
	SELECT pg_create_logical_replication_slot('pgoutput', 'pgoutput');
	SELECT pg_create_logical_replication_slot('test_decoding', 'test_decoding')});
$begin = place();
update(3);
$primary->safe_psql('postgres', q{
	INSERT INTO player_score_windows SELECT g, 'weekly:' || g % 3, g FROM generate_series(1, 60) g;
	TRUNCATE player_score_windows;
	INSERT INTO player_score_windows SELECT g, 'weekly:' || g % 3, g FROM generate_series(1, 60) g;
	SELECT pg_logical_emit_message(true, 'lb', 'ours is not this')});
like(messages($begin) =~ s/H//gr, qr/^CCCCUC/, 'messages were written');
is( $primary->safe_psql('postgres', q{
		SELECT count(*) FILTER (WHERE data LIKE 'message:%prefix: lb,%'), count(*) FILTER (WHERE data LIKE 'table public.player_scores: UPDATE%')
		FROM pg_logical_slot_peek_changes('test_decoding', NULL, NULL)}),
	'1|3', 'test_decoding sees the rows, and the one message that is not ours');
is( $primary->safe_psql('postgres', q{
		SELECT count(*) FILTER (WHERE get_byte(data, 0) = ascii('M') AND substr(data, 11, 3) = '\x6c6200'), count(*) FILTER (WHERE get_byte(data, 0) = ascii('U'))
		FROM pg_logical_slot_peek_binary_changes('pgoutput', NULL, NULL,
			'proto_version', '1', 'publication_names', 'p', 'messages', 'on')}),
	'1|3', 'pgoutput as well');
$primary->safe_psql('postgres', 'SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots');

#
# A role writes bytes of our messages by PostgreSQL's own function.
#

my $standby = standby_of($primary, 'standby');
$standby->start;
install_oracle($primary, 'postgres');
same($primary, $standby, 'standby');
my $builds = q{SELECT board, build_seconds, members FROM lb_stat_board ORDER BY board};
my $before = $standby->safe_psql('postgres', $builds);

# Real ones: changes of an UPDATE, which would be made again; unknown changes.
$begin = place();
update(1);
$primary->safe_psql('postgres', 'UPDATE player_scores SET score = score - 1 WHERE player_id = 1; CREATE TABLE gone (player_id bigint PRIMARY KEY, score bigint)');
$primary->safe_psql('postgres', q{SELECT lb_create_board('gone', 'gone')});
$primary->safe_psql('postgres', q{SELECT lb_drop_board('gone')});
my @payloads = map { /$message/ ? $1 =~ tr/ //dr : () } wal($begin, end_of_wal());
my $database = $primary->safe_psql('postgres', q{SELECT oid FROM pg_database WHERE datname = 'postgres'});
my $leb = '';
for (my $oid = $database; ; $oid >>= 7)
{
	$leb .= sprintf '%02X', $oid > 127 ? $oid % 128 + 128 : $oid;
	last if $oid <= 127;
}
push @payloads, '0142', '0148' . '00' x 8, '0148' . 'FF' x 8, "0155${leb}41", '', '00', 'FF' x 100;
cmp_ok(scalar(grep { /^0143/ } @payloads), '>=', 2, 'there are changes among them');
cmp_ok(scalar(grep { /^0155/ } @payloads), '>=', 2, 'and unknown ones');
same($primary, $standby, 'before messages are forged');
$before = $standby->safe_psql('postgres', $builds);
$primary->safe_psql('postgres', 'CREATE ROLE player LOGIN');
$primary->safe_psql('postgres', 'GRANT CREATE ON SCHEMA public TO player');
for my $transactional ('false', 'true')
{
	for my $payload (@payloads)
	{
		my $emit = "SELECT pg_logical_emit_message($transactional, 'lb', '\\x$payload'::bytea)";

		# With a transaction id, and without.
		$primary->safe_psql('postgres', "$emit; BEGIN; SELECT pg_current_xact_id(); $emit; COMMIT",
			extra_params => [ '-U', 'player' ]);
	}
}
same($primary, $standby, 'messages of a role');
is($standby->safe_psql('postgres', $builds), $before, 'messages of a role: nothing was built');
verified('messages of a role', $primary, $standby);

#
# Servers without the library: a standby, and one that is restored from an archive.
#

my $without = "shared_preload_libraries = ''";
my $bare = standby_of($primary, 'bare', $without);
my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init_from_backup($primary, 'bare', has_restoring => 1, standby => 0);
$restored->append_conf('postgresql.conf', "$without\narchive_mode = off");
$bare->start;

sub changes
{
	$primary->safe_psql('postgres', q{
		UPDATE player_scores SET score = score + player_id % 7;
		BEGIN; UPDATE player_scores SET score = 100000 WHERE player_id = 20; PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p';
		CREATE TABLE IF NOT EXISTS more (player_id bigint PRIMARY KEY, score bigint);
		TRUNCATE more;
		INSERT INTO more SELECT g, g FROM generate_series(1, 1000) g;
		BEGIN; SELECT lb_create_board('more', 'more') WHERE NOT EXISTS (SELECT FROM lb_board WHERE board = 'more'); COMMIT;
		UPDATE more SET score = 5 WHERE player_id < 100;
		INSERT INTO player_score_windows SELECT player_id + 1000, window_key, score FROM player_score_windows WHERE player_id < 1000 ON CONFLICT DO NOTHING});
	return;
}
my $sums = q{
	SELECT count(*), sum(player_id * score) FROM player_scores;
	SELECT count(*), sum(player_id * score) FROM player_score_windows;
	SELECT count(*), sum(player_id * score) FROM more};

changes();
caught_up($primary, $bare);
is($bare->safe_psql('postgres', $sums), $primary->safe_psql('postgres', $sums), 'without the library: replays');
$bare->restart;
changes();
caught_up($primary, $bare);
is($bare->safe_psql('postgres', $sums), $primary->safe_psql('postgres', $sums), 'without the library: replays after a restart');
fails_with($bare, 'postgres', 'SELECT lb_rank(1);', '55000', qr/HINT:.*shared_preload_libraries/s, 'without the library: functions');
same($primary, $standby, 'the standby beside it');
verified('the standby beside it', $primary, $standby);

my $end = $primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
my $expected = $primary->safe_psql('postgres', $sums);
ok($primary->poll_query_until('postgres', "SELECT last_archived_wal >= pg_walfile_name('$end') FROM pg_stat_archiver"), 'WAL is archived');
$primary->stop;
$standby->stop;

$restored->start;
ok($restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()'), 'restored without the library');
$bare->promote;
ok($bare->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()'), 'promoted without the library');
for my $node ($bare, $restored)
{
	my $what = $node->name;

	is($node->safe_psql('postgres', $sums), $expected, "$what: has the rows");
	$node->safe_psql('postgres', q{
		UPDATE player_scores SET score = score + 3; INSERT INTO more VALUES (5000, 7); DELETE FROM more WHERE player_id = 6; CHECKPOINT});
	$node->restart;
	unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal/, "$what: nothing bad in its log");
}
$bare->safe_psql('postgres', 'DROP EXTENSION leaderboard CASCADE');
is($bare->safe_psql('postgres', q{SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'lb%' OR tgname LIKE 'leaderboard%'}), '0', 'bare: the extension is dropped');
$bare->safe_psql('postgres', 'UPDATE player_scores SET score = 1; INSERT INTO more VALUES (5001, 7); CHECKPOINT');
$bare->restart;
is($bare->safe_psql('postgres', 'SELECT count(*) FROM more'), '1001', 'bare: works on');
$bare->stop;

# With the library again, boards are built.
$restored->append_conf('postgresql.conf', "shared_preload_libraries = 'leaderboard'");
$restored->restart;
same_by($restored, 'postgres', 'index', 'restored, with the library again');
verified('restored, with the library again', $restored);
$restored->stop;
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log of ' . $_->name)
  for $primary, $standby;
done_testing();
