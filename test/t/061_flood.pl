# Values of a board column that have one hash under a seed that is known: they come into
# different places of the table of boards, since the server's seed is random.  Each start
# of the server has another one.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LbTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $boards = 1200;    # more than two pages of the table have

# The finalizer that lb_hash_bytes() chains, backwards (unmix() in test/unit/model.c).
sub unmix
{
	my ($h) = @_;

	no warnings 'portable';
	for my $inverse (0x9cb4b2f8129337db, 0x4f74430c22a54005)
	{
		$h ^= $h >> 33;
		use integer;    # multiplies as C does, without turning to floating point
		$h *= $inverse;
		no integer;
	}
	return $h ^ $h >> 33;
}

# Texts of eight bytes, all ASCII, whose hash under the seed 0 is the same.
my @values;
for (my $n = 0; @values < $boards; $n++)
{
	my $value = pack('Q', unmix(unmix($n << 32 | ($n ^ 20260411)) ^ 8));

	push @values, unpack('H*', $value) unless $value =~ /[^\x01-\x7f]/;
}

my $node = lb_node('flood', 'leaderboard.maintenance_interval = 0');
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION leaderboard;
	CREATE TABLE guilds (n int PRIMARY KEY, name text);
	CREATE TABLE guild_scores (guild text, player_id int, score int NOT NULL, PRIMARY KEY (guild, player_id));
	SELECT lb_create_board('guild', 'guild_scores', rank_by => 'score DESC', member => 'player_id', board_column => 'guild');
	SELECT lb_wait_ready()});
$node->safe_psql('postgres', qq{
	INSERT INTO guilds SELECT n, convert_from(decode(hex, 'hex'), 'UTF8')
		FROM unnest('{@{[join ',', @values]}}'::text[]) WITH ORDINALITY u(hex, n)});

# One after the other: a transaction with many boards makes them in another order.
$node->safe_psql('postgres', q{
	DO $$
	BEGIN
		FOR i IN 1 .. (SELECT count(*) FROM guilds) LOOP
			INSERT INTO guild_scores SELECT name, 1, n FROM guilds WHERE n = i;
			COMMIT;
		END LOOP;
	END
	$$});

# The numbers of the boards in the order in which the table has them: stripe by stripe,
# page by page, and in a page by hash.  Boards of one hash are in one stripe, one after
# the other as they were made.
sub order
{
	return split /\n/, $node->safe_psql('postgres', q{
		SELECT n FROM (SELECT board, row_number() OVER () AS place FROM lb_stat_board) s
			JOIN guilds ON board = 'guild:' || name ORDER BY place});
}

# Whether about half of the boards come before one that was made earlier.
sub is_mixed
{
	my ($what, @order) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	is(scalar @order, $boards, "$what: all boards");
	cmp_ok(scalar(grep { $order[$_] > $order[$_ + 1] } 0 .. $#order - 1), '>', $boards / 4, "$what: they are in no order");
	is($node->safe_psql('postgres', 'SELECT * FROM lb_verify()'), '', "$what: lb_verify()");
	return;
}

my @made = order();
is_mixed('made', @made);

# A build makes them in the order of the table.
$node->safe_psql('postgres', 'SELECT lb_rebuild()');
my @built = order();
is_mixed('built', @built);

$node->restart;
wait_ready($node, 'postgres');
my @started = order();
is_mixed('built after a start', @started);
ok("@started" ne "@built", 'another start, another order');

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal/, 'nothing bad in the log');
done_testing();
