/*-------------------------------------------------------------------------
 *
 * tables.c
 *	  The tables, and what is ranked of them.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE

#include "oracle.h"

/* No statement writes the last value of each. */
static const char *const kinds[] = {
	"A", "B", "", "x:y", "Gr\303\266\303\237e", "never", NULL
};
static const char *const realms[] = {
	"7", "0", "-7", "2147483647", "-2147483648", "12345", NULL
};

const Table tables[] = {
	{
		.name = "o_plain",
		.create = "CREATE TABLE o_plain (note text, player_id bigint UNIQUE,"
		" score bigint, updated_at timestamptz, kind text, fine boolean)"
		" WITH (fillfactor = 80)",
		.create_board = "SELECT lb_create_board('plain', 'o_plain',"
		" rank_by => 'score DESC, updated_at ASC')",
		.board = "plain",
		.method = "row_number",
		.member = "player_id",
		.score = "score",
		.tie = "updated_at",
		.group = "kind",
		.flag = "fine",
		.member_type = "bigint",
		.score_type = "bigint",
		.tie_type = "timestamptz",
		.group_type = "text",
		.conflict = "player_id",
		.direction = "DESC",
		.reverse = "ASC",
		.order = "score DESC, updated_at ASC, player_id ASC",
		.ranked = "player_id IS NOT NULL AND score IS NOT NULL"
		" AND updated_at IS NOT NULL",
		.ties = {"'2026-01-01 00:00+00'", "'2026-01-01 00:00:00.000001+00'",
			"'2026-01-02 03:04:05+00'", "'infinity'", "'-infinity'", "now()",
		"clock_timestamp()"},
		.extreme_members = {"9223372036854775807", "-9223372036854775808",
		"0", "-1"},
		.extreme_scores = {"9223372036854775807", "-9223372036854775808",
		"9223372036854775806", "-9223372036854775807"},
	},
	{
		/* A second board on the same table. */
		.name = "o_plain",
		.create_board = "SELECT lb_create_board('worst', 'o_plain',"
		" rank_by => 'score ASC, updated_at DESC', method => 'rank',"
		" ranked_if => 'fine')",
		.board = "worst",
		.method = "rank",
		.member = "player_id",
		.score = "score",
		.tie = "updated_at",
		.group = "kind",
		.flag = "fine",
		.member_type = "bigint",
		.score_type = "bigint",
		.tie_type = "timestamptz",
		.group_type = "text",
		.conflict = "player_id",
		.direction = "ASC",
		.reverse = "DESC",
		.order = "score ASC, updated_at DESC, player_id ASC",
		.ranked = "player_id IS NOT NULL AND score IS NOT NULL"
		" AND updated_at IS NOT NULL AND fine",
		.ties = {"'2026-01-01 00:00+00'", "'2026-01-02 03:04:05+00'",
		"'infinity'", "'-infinity'", "now()"},
		.extreme_members = {"9223372036854775807", "-9223372036854775808",
		"0", "-1"},
		.extreme_scores = {"9223372036854775807", "-9223372036854775808",
		"9223372036854775806", "-9223372036854775807"},
	},
	{
		.name = "o_dense",
		.create = "CREATE TABLE o_dense (fine boolean, points integer,"
		" gone text, id integer UNIQUE, kind text, day date)",
		.create_board = "SELECT lb_create_board('dense', 'o_dense',"
		" member => 'id', rank_by => 'points ASC, day DESC',"
		" method => 'dense_rank', ranked_if => 'fine')",
		.board = "dense",
		.method = "dense_rank",
		.member = "id",
		.score = "points",
		.tie = "day",
		.group = "kind",
		.flag = "fine",
		.member_type = "integer",
		.score_type = "integer",
		.tie_type = "date",
		.group_type = "text",
		.conflict = "id",
		.direction = "ASC",
		.reverse = "DESC",
		.order = "points ASC, day DESC, id ASC",
		.ranked = "id IS NOT NULL AND points IS NOT NULL"
		" AND day IS NOT NULL AND fine",
		.ties = {"'2026-01-01'", "'2026-01-02'", "'1999-12-31'",
		"'infinity'", "'-infinity'"},
		.extreme_members = {"2147483647", "-2147483648", "0", "-1"},
		.extreme_scores = {"2147483647", "-2147483648", "2147483646",
		"-2147483647"},
	},
	{
		.name = "o_family",
		.create = "CREATE TABLE o_family (player bigint, kind text,"
		" score smallint, at timestamp, fine boolean, UNIQUE (kind, player))",
		.create_board = "SELECT lb_create_board('fam', 'o_family',"
		" member => 'player', rank_by => 'score DESC, at DESC',"
		" board_column => 'kind', method => 'rank')",
		.board = "fam",
		.method = "rank",
		.member = "player",
		.score = "score",
		.tie = "at",
		.group = "kind",
		.flag = "fine",
		.member_type = "bigint",
		.score_type = "smallint",
		.tie_type = "timestamp",
		.group_type = "text",
		.conflict = "kind, player",
		.direction = "DESC",
		.reverse = "ASC",
		.order = "score DESC, at DESC, player ASC",
		.ranked = "player IS NOT NULL AND score IS NOT NULL"
		" AND at IS NOT NULL",
		.ties = {"'2026-01-01 00:00'", "'2026-01-01 00:00:00.000001'",
		"'2026-01-02 03:04:05'", "'infinity'", "'-infinity'"},
		.extreme_members = {"9223372036854775807", "-9223372036854775808",
		"0", "-1"},
		.extreme_scores = {"32767", "-32768", "32766", "-32767"},
		.values = kinds,
	},
	{
		.name = "o_parts",
		.create = "CREATE TABLE o_parts (at timestamp, score integer,"
		" gone text, member smallint, realm integer, fine boolean,"
		" UNIQUE (member, realm));"
		"ALTER TABLE o_parts DROP COLUMN gone",
		.create_partitioned = "CREATE TABLE o_parts (at timestamp,"
		" score integer, member smallint, realm integer, fine boolean,"
		" UNIQUE (member, realm)) PARTITION BY LIST (member);"
		"CREATE TABLE o_parts1 PARTITION OF o_parts FOR VALUES IN (1, 2, 3);"
		"CREATE TABLE o_parts2 (fine boolean, gone text, realm integer,"
		" member smallint, at timestamp, score integer,"
		" UNIQUE (member, realm));"
		"ALTER TABLE o_parts2 DROP COLUMN gone;"
		"ALTER TABLE o_parts ATTACH PARTITION o_parts2 DEFAULT",
		.create_board = "SELECT lb_create_board('*', 'o_parts',"
		" member => 'member', rank_by => 'score', board_column => 'realm',"
		" method => 'dense_rank', ranked_if => 'fine')",
		.board = "*",
		.method = "dense_rank",
		.member = "member",
		.score = "score",
		.tie = "at",
		.group = "realm",
		.flag = "fine",
		.member_type = "smallint",
		.score_type = "integer",
		.tie_type = "timestamp",
		.group_type = "integer",
		.conflict = "member, realm",
		.direction = "ASC",
		.reverse = "DESC",
		.order = "score ASC, member ASC",
		.ranked = "member IS NOT NULL AND score IS NOT NULL AND fine",
		.ties = {"'2026-01-01 00:00'", "'infinity'"},
		.extreme_members = {"32767", "-32768", "0", "-1"},
		.extreme_scores = {"2147483647", "-2147483648", "2147483646",
		"-2147483647"},
		.values = realms,
	},
};

const int	ntables = LENGTH(tables);
