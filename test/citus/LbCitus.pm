# What the tests of this directory share.
package LbCitus;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(citus_examples citus_nodes citus_stop citus_settled);

# The settings of a server with Citus and the extension
our $settings = <<'END';
shared_preload_libraries = 'citus, leaderboard'
listen_addresses = '127.0.0.1'
wal_level = logical
max_wal_senders = 10
max_replication_slots = 10
max_worker_processes = 32
max_prepared_transactions = 100
citus.enable_statistics_collection = off
leaderboard.enable_planner = on
END

# The statements of a chapter of docs/scale-out.md, one text for each block
sub citus_examples
{
	my ($title) = @_;
	my ($chapter) = slurp_file("$FindBin::RealBin/../../docs/scale-out.md") =~ /^\Q$title\E\n(.*?)(?=^##|\z)/ms;

	return $chapter =~ /^ *```sql\n(.*?)^ *```/msg;
}

# A coordinator and two workers of that kind.  The first example makes the extension, in
# a schema of its own, unless the caller has other statements.
sub citus_nodes
{
	my ($extension) = @_;
	my @nodes;

	($extension) = map { s/DATABASE game/DATABASE postgres/r } citus_examples('## Citus') if !defined $extension;
	for my $name ('coordinator', 'worker1', 'worker2')
	{
		my $node = lb_node($name, $settings);
		$node->start;
		$node->safe_psql('postgres', 'CREATE EXTENSION citus');
		push @nodes, $node;
	}
	my ($node, @workers) = @nodes;
	$node->safe_psql('postgres', join(';', "SELECT citus_set_coordinator_host('127.0.0.1', " . $node->port . ')',
			map({ "SELECT citus_add_node('127.0.0.1', " . $_->port . ')' } @workers)));
	$node->safe_psql('postgres', $extension);
	return @nodes;
}

# Before a shard is moved: what former moves have left is gone.  Citus's own process
# removes it now and then, and a move that meets it there fails.
sub citus_settled
{
	my ($node) = @_;

	$node->safe_psql('postgres', 'CALL citus_cleanup_orphaned_resources()');
	return $node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_dist_cleanup');
}

# Stop them, and look at their logs.
sub citus_stop
{
	for (@_)
	{
		$_->stop;
		unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|terminated by signal|did not hold/, 'nothing bad in the log of ' . $_->name);
	}
	return;
}

1;
