# Transactions are prepared while a standby is promoted.  Between the end of redo and
# the end of recovery no process has them: what settles publications of prepared
# transactions must not take them for aborted ones.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbStandby;
use LbTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $old = lb_node('old', "max_prepared_transactions = 10\nleaderboard.maintenance_interval = 0", allows_streaming => 1);
$old->start;
fill($old, 'postgres', 100);
install_oracle($old, 'postgres');

# The server asks for the history of the new timeline when redo has ended; not before,
# since it follows one timeline only.  It gets no answer as long as this file is not there.
my $gate = $old->basedir . '/gate';
append_to_file($gate, '');
my $new = standby_of($old, 'new',
	"recovery_target_timeline = current\nrestore_command = 'case %f in *.history) while [ ! -e $gate ]; do sleep 0.05; done ;; esac; false'");
$new->start;
same($old, $new, 'standby');
my $builds = builds($new);

$old->safe_psql('postgres', <<'END');
BEGIN;
UPDATE player_scores SET score = 1000000 WHERE player_id = 1;
INSERT INTO player_score_windows VALUES (1000, 'weekly:1', 1000000);
PREPARE TRANSACTION 'committed';
BEGIN;
UPDATE player_scores SET score = 2000000 WHERE player_id = 2;
DELETE FROM player_score_windows WHERE player_id = 8;
PREPARE TRANSACTION 'rolled back';
END
caught_up($old, $new);
$old->stop('immediate');
unlink $gate or die $!;
$new->safe_psql('postgres', 'SELECT pg_promote(false)');
ok($new->wait_for_log(qr/redo done at/), 'redo has ended');

# Who looks at the boards settles what prepared transactions have left.
$new->safe_psql('postgres', 'SELECT * FROM lb_stat_board; SELECT lb_rank(1), lb_count()') for 1 .. 5;
is($new->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 't', 'recovery has not ended');
append_to_file($gate, '');
ok($new->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()'), 'it ends');
same_by($new, 'postgres', 'index', 'promoted');
$new->safe_psql('postgres', "COMMIT PREPARED 'committed'");
$new->safe_psql('postgres', "ROLLBACK PREPARED 'rolled back'");
same_by($new, 'postgres', 'index', 'ended');
is($new->safe_psql('postgres', q{SELECT lb_rank(1), lb_rank(1000, 'weekly:1'), lb_rank(2) > 1, lb_score(8, 'weekly:1') IS NOT NULL}),
	'1|1|t|t', 'what was committed counts');
is(builds($new), $builds, 'no board was built again');
verified('ended', $new);
$new->stop;
done_testing();
