/*-------------------------------------------------------------------------
 *
 * client.c
 *	  One loop for every system: asks PostgreSQL, Redis or Valkey the same
 *	  thing again and again over a unix socket, and tells how often it was
 *	  answered and how long that took.
 *
 * Usage: client -p CONNINFO | -r SOCKET [option ...] -q STATEMENT ...
 *		  client -n N -u
 *
 *	-c N	connections, each with a thread of its own (1)
 *	-t S	seconds (1)
 *	-n N	members, numbered from 1 (1000)
 *	-b N	members in {M}, {U} and {S} (1000)
 *	-P N	statements on their way at once: a pipeline (1)
 *	-w N	how often, among several, the next statement is chosen (1)
 *	-T S	takes several statements in turns of so many seconds instead, the
 *			next turn in the other direction, each of them for -t seconds
 *	-q S	a statement, in which {m} is a random member, {s} a random score, {d}
 *			a random change of one, and {M} and {S} arrays of members, in order,
 *			and of scores; {u} is the uuid of a random member, as text, and {U}
 *			an array of those
 *	-l KEY	adds to a sorted set what standard input holds, lines of
 *			"member,score", -P at a time
 *	-u		prints the uuids of all members, a line each
 *
 * PostgreSQL is asked by prepared statements with binary parameters and
 * results, as most drivers do, and {u} as text; Redis in its own protocol.  Any
 * error ends the program.  It prints
 *
 *	things per second, median and 99th percentile in us, statements
 *
 * (with -T a line for each statement), where a thing is a member of {M} or {U},
 * if the statement has one of these, and else a statement.  The time is that of
 * a statement or of a whole pipeline.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hiredis/hiredis.h>
#include <libpq-fe.h>

#define MAX_STATEMENTS 8
#define MAX_WORDS 16
#define MAX_SCORE 1000000
#define MAX_CHANGE 1000
#define UUID_TEXT 36			/* bytes */

/* OIDs of pg_type.dat, which no header of libpq's has. */
#define INT8OID 20
#define TEXTOID 25
#define INT8ARRAYOID 1016
#define TEXTARRAYOID 1009

/* What can stand in braces. */
#define PARAMS "msdMSuU"

typedef struct Statement
{
	const char *text;
	int			weight;
	bool		many;			/* has {M} or {U} */
	bool		scores;			/* has {S}: rows are written */

	/* for PostgreSQL: $1 ... and what each of them is, one of PARAMS */
	char	   *sql;
	int			nparams;
	char		params[MAX_WORDS];

	/* for Redis */
	int			nwords;
	char	   *words[MAX_WORDS];
} Statement;

/* What has been answered, in all or to one statement. */
typedef struct Tally
{
	uint64_t	things;
	double		took;			/* in s */
	uint32_t   *times;			/* in ns */
	size_t		ntimes;
	size_t		room;
} Tally;

typedef struct Client
{
	pthread_t	thread;
	uint64_t	rng;
	PGconn	   *pg;
	redisContext *redis;
	const Statement **sent;		/* of a pipeline */
	int64_t    *members;		/* of one array */
	char	   *buffers[MAX_WORDS];
	Tally		tallies[MAX_STATEMENTS];	/* the first only, without -T */
} Client;

static const char *conninfo;
static const char *socket_path;
static const char *load_key;
static int	nclients = 1;
static double seconds = 1;
static double turn = 0;			/* of -T */
static int64_t members = 1000;
static int	batch = 1000;
static int	pipeline = 1;
static Statement statements[MAX_STATEMENTS];
static int	nstatements = 0;
static int	total_weight = 0;
static pthread_barrier_t ready;
static pthread_barrier_t next_turn;

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "client: %s: %s\n", what, why);
	exit(1);
}

static void *
alloc(size_t size)
{
	void	   *p = malloc(size);

	if (p == NULL)
		die("malloc", "out of memory");
	return p;
}

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t
mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t
next_random(Client *c)
{
	return mix(c->rng += UINT64_C(0x9e3779b97f4a7c15));
}

/*
 * The text of a member's uuid, with the bits of a random one (version 4): the
 * same in every run, and in no order.
 */
static void
put_uuid(char *p, int64_t member)
{
	uint64_t	words[2] = {
		mix((uint64_t) member * 2 * UINT64_C(0x9e3779b97f4a7c15)),
		mix(((uint64_t) member * 2 + 1) * UINT64_C(0x9e3779b97f4a7c15))
	};

	words[0] = (words[0] & ~UINT64_C(0xf000)) | UINT64_C(0x4000);
	words[1] = (words[1] & ~(UINT64_C(3) << 62)) | UINT64_C(1) << 63;
	for (int i = 0; i < 32; i++)
	{
		if (i == 8 || i == 12 || i == 16 || i == 20)
			*p++ = '-';
		*p++ = "0123456789abcdef"[words[i / 16] >> (60 - i % 16 * 4) & 15];
	}
}

/* The value of a word in braces that is one number. */
static int64_t
random_value(Client *c, char what)
{
	switch (what)
	{
		case 'm':
		case 'u':
			return (int64_t) (next_random(c) % (uint64_t) members) + 1;
		case 's':
			return (int64_t) (next_random(c) % (MAX_SCORE + 1));
		default:
			return (int64_t) (next_random(c) % (2 * MAX_CHANGE + 1)) -
				MAX_CHANGE;
	}
}

static void
put32(char **p, uint32_t v)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		*(*p)++ = (char) (v >> shift);
}

static void
put64(char **p, int64_t v)
{
	put32(p, (uint32_t) ((uint64_t) v >> 32));
	put32(p, (uint32_t) v);
}

static int
compare(const void *a, const void *b)
{
	int64_t		x = *(const int64_t *) a;
	int64_t		y = *(const int64_t *) b;

	return x < y ? -1 : x > y;
}

/*
 * A parameter in the server's binary format, {u} in the one of text.  Returns its
 * length.
 */
static int
put_param(Client *c, const Statement *s, char what, char *buffer)
{
	char	   *p = buffer;

	if (what == 'u')
	{
		put_uuid(p, random_value(c, what));
		p[UUID_TEXT] = '\0';
		return UUID_TEXT;
	}
	if (what == 'm' || what == 's' || what == 'd')
	{
		put64(&p, random_value(c, what));
		return 8;
	}
	for (int i = 0; i < batch; i++)
		c->members[i] = random_value(c, what == 'S' ? 's' : 'm');

	/* Batches that lock rows in one order do not deadlock. */
	if (what == 'M' && s->scores)
		qsort(c->members, batch, sizeof(int64_t), compare);
	put32(&p, 1);				/* dimensions */
	put32(&p, 0);				/* no null */
	put32(&p, what == 'U' ? TEXTOID : INT8OID);
	put32(&p, (uint32_t) batch);
	put32(&p, 1);				/* lower bound */
	for (int i = 0; i < batch; i++)
	{
		if (what == 'U')
		{
			put32(&p, UUID_TEXT);
			put_uuid(p, c->members[i]);
			p += UUID_TEXT;
			continue;
		}
		put32(&p, 8);
		put64(&p, c->members[i]);
	}
	return (int) (p - buffer);
}

/* What a statement's words in braces stand for. */
static void
parse_statement(Statement *s)
{
	const char *p;
	char	   *out;
	char	   *save;

	out = s->sql = alloc(strlen(s->text) * 2 + 1);
	for (p = s->text; *p != '\0'; p++)
	{
		if (p[0] == '{' && p[1] != '\0' && strchr(PARAMS, p[1]) &&
			p[2] == '}')
		{
			if (s->nparams == MAX_WORDS)
				die(s->text, "too many parameters");
			s->many = s->many || p[1] == 'M' || p[1] == 'U';
			s->scores = s->scores || p[1] == 'S';
			s->params[s->nparams++] = p[1];
			out += sprintf(out, "$%d", s->nparams);
			p += 2;
		}
		else
			*out++ = *p;
	}
	*out = '\0';
	if (socket_path == NULL)
		return;
	if (s->many)
		die(s->text, "no arrays here");
	for (char *word = strtok_r(strdup(s->text), " ", &save); word != NULL;
		 word = strtok_r(NULL, " ", &save))
	{
		if (s->nwords == MAX_WORDS)
			die(s->text, "too many words");
		s->words[s->nwords++] = word;
	}
}

static void
check_reply(struct redisContext *redis, struct redisReply *reply)
{
	if (reply == NULL)
		die(socket_path, redis->errstr);
	if (reply->type == REDIS_REPLY_ERROR)
		die(socket_path, reply->str);
	if (reply->type == REDIS_REPLY_NIL)
		die(socket_path, "no such member");
	freeReplyObject(reply);
}

static redisContext *
connect_redis(void)
{
	redisContext *redis = redisConnectUnix(socket_path);

	if (redis == NULL || redis->err)
		die(socket_path, redis ? redis->errstr : "out of memory");
	return redis;
}

static void
send_redis(Client *c, const Statement *s)
{
	const char *argv[MAX_WORDS];
	size_t		lens[MAX_WORDS];
	char		values[MAX_WORDS][UUID_TEXT + 1];

	for (int i = 0; i < s->nwords; i++)
	{
		argv[i] = s->words[i];
		if (argv[i][0] == '{')
		{
			int64_t		v = random_value(c, argv[i][1]);

			if (argv[i][1] == 'u')
			{
				put_uuid(values[i], v);
				values[i][UUID_TEXT] = '\0';
			}
			else
				sprintf(values[i], "%" PRId64, v);
			argv[i] = values[i];
		}
		lens[i] = strlen(argv[i]);
	}
	if (redisAppendCommandArgv(c->redis, s->nwords, argv, lens) != REDIS_OK)
		die(socket_path, c->redis->errstr);
}

static uint64_t
receive_redis(Client *c)
{
	void	   *reply = NULL;

	if (redisGetReply(c->redis, &reply) != REDIS_OK)
		die(socket_path, c->redis->errstr);
	check_reply(c->redis, reply);
	return 1;
}

/* What a parameter is declared as: 0 lets the server choose. */
static Oid
param_type(char what)
{
	switch (what)
	{
		case 'M':
		case 'S':
			return INT8ARRAYOID;
		case 'U':
			return TEXTARRAYOID;
		case 'u':
			return 0;
		default:
			return INT8OID;
	}
}

static void
connect_pg(Client *c)
{
	c->pg = PQconnectdb(conninfo);
	if (PQstatus(c->pg) != CONNECTION_OK)
		die(conninfo, PQerrorMessage(c->pg));
	for (int i = 0; i < nstatements; i++)
	{
		Statement  *s = &statements[i];
		Oid			types[MAX_WORDS];
		char		name[8];
		PGresult   *res;

		for (int j = 0; j < s->nparams; j++)
			types[j] = param_type(s->params[j]);
		sprintf(name, "s%d", i);
		res = PQprepare(c->pg, name, s->sql, s->nparams, types);
		if (PQresultStatus(res) != PGRES_COMMAND_OK)
			die(s->sql, PQerrorMessage(c->pg));
		PQclear(res);
	}
	if (pipeline > 1 && PQenterPipelineMode(c->pg) != 1)
		die(conninfo, PQerrorMessage(c->pg));
}

static void
send_pg(Client *c, const Statement *s)
{
	const char *values[MAX_WORDS];
	int			lens[MAX_WORDS];
	int			formats[MAX_WORDS];
	char		name[8];

	for (int i = 0; i < s->nparams; i++)
	{
		values[i] = c->buffers[i];
		lens[i] = put_param(c, s, s->params[i], c->buffers[i]);
		formats[i] = s->params[i] != 'u';
	}
	sprintf(name, "s%d", (int) (s - statements));
	if (PQsendQueryPrepared(c->pg, name, s->nparams, values, lens, formats,
							1) != 1)
		die(s->sql, PQerrorMessage(c->pg));
}

/* The result of one statement: how many things it has done. */
static uint64_t
receive_pg(Client *c, const Statement *s)
{
	uint64_t	n = 1;
	PGresult   *res = PQgetResult(c->pg);

	switch (PQresultStatus(res))
	{
		case PGRES_TUPLES_OK:
			if (s->many)
				n = (uint64_t) batch;
			break;
		case PGRES_COMMAND_OK:
			if (s->many)
				n = strtoull(PQcmdTuples(res), NULL, 10);
			break;
		default:
			die(s->sql, PQerrorMessage(c->pg));
	}
	PQclear(res);
	res = PQgetResult(c->pg);
	if (res != NULL)
		die(s->sql, "more than one result");
	return n;
}

static const Statement *
choose(Client *c)
{
	int			n;
	const Statement *s = statements;

	if (nstatements == 1)
		return s;
	n = (int) (next_random(c) % (uint64_t) total_weight);
	while (n >= s->weight)
		n -= s++->weight;
	return s;
}

/*
 * As many statements as a pipeline holds, and their answers: s, or what is
 * chosen where that is NULL.  Returns how many things they have done.
 */
static uint64_t
run_once(Client *c, const Statement *s)
{
	uint64_t	things = 0;

	for (int i = 0; i < pipeline; i++)
	{
		c->sent[i] = s != NULL ? s : choose(c);
		if (c->redis != NULL)
			send_redis(c, c->sent[i]);
		else
			send_pg(c, c->sent[i]);
	}
	if (c->pg != NULL && pipeline > 1 && PQpipelineSync(c->pg) != 1)
		die(conninfo, PQerrorMessage(c->pg));
	for (int i = 0; i < pipeline; i++)
		things += c->redis != NULL ? receive_redis(c) :
			receive_pg(c, c->sent[i]);
	if (c->pg != NULL && pipeline > 1)
	{
		PGresult   *res = PQgetResult(c->pg);

		if (PQresultStatus(res) != PGRES_PIPELINE_SYNC)
			die(conninfo, PQerrorMessage(c->pg));
		PQclear(res);
	}
	return things;
}

/* Again and again for so many seconds: s, or what is chosen. */
static void
run_for(Client *c, const Statement *s, double length, Tally *tally)
{
	double		start = now();
	double		before = start;
	double		after;

	do
	{
		tally->things += run_once(c, s);
		after = now();
		if (tally->ntimes == tally->room)
		{
			tally->room = tally->room ? tally->room * 2 : 65536;
			tally->times = realloc(tally->times,
								   tally->room * sizeof(uint32_t));
			if (tally->times == NULL)
				die("realloc", "out of memory");
		}
		tally->times[tally->ntimes++] = after - before >= 4 ? UINT32_MAX :
			(uint32_t) ((after - before) * 1e9);
		before = after;
	} while (after - start < length);
	tally->took += after - start;
}

static void *
run(void *arg)
{
	Client	   *c = arg;

	c->sent = alloc(pipeline * sizeof(Statement *));
	c->members = alloc(batch * sizeof(int64_t));
	for (int i = 0; i < MAX_WORDS; i++)
		c->buffers[i] = alloc(20 + UUID_TEXT + 1 +
							  (size_t) batch * (4 + UUID_TEXT));
	if (socket_path != NULL)
		c->redis = connect_redis();
	else
		connect_pg(c);

	/* The first may have to make plans and fill caches. */
	for (int i = 0; i < 7; i++)
	{
		if (turn == 0)
			run_once(c, NULL);
		for (int j = 0; turn > 0 && j < nstatements; j++)
			run_once(c, &statements[j]);
	}
	pthread_barrier_wait(&ready);
	if (turn == 0)
		run_for(c, NULL, seconds, &c->tallies[0]);
	else
	{
		int			rounds = (int) (seconds / turn + 0.5);

		for (int i = 0; i < rounds; i++)
			for (int j = 0; j < nstatements; j++)
			{
				int			k = i % 2 ? nstatements - 1 - j : j;

				/* What one client still does is not beside the next one's. */
				pthread_barrier_wait(&next_turn);
				run_for(c, &statements[k], turn, &c->tallies[k]);
			}
	}

	if (c->redis != NULL)
		redisFree(c->redis);
	else
		PQfinish(c->pg);
	return NULL;
}

static int
compare_times(const void *a, const void *b)
{
	uint32_t	x = *(const uint32_t *) a;
	uint32_t	y = *(const uint32_t *) b;

	return x < y ? -1 : x > y;
}

/* Prints what all clients have in one place of their tallies. */
static void
print_tally(const Client *clients, int which)
{
	double		rate = 0;
	uint32_t   *times;
	size_t		n = 0;
	size_t		at = 0;

	for (int i = 0; i < nclients; i++)
		n += clients[i].tallies[which].ntimes;
	times = alloc(n * sizeof(uint32_t));
	for (int i = 0; i < nclients; i++)
	{
		const Tally *tally = &clients[i].tallies[which];

		rate += (double) tally->things / tally->took;
		memcpy(times + at, tally->times, tally->ntimes * sizeof(uint32_t));
		at += tally->ntimes;
	}
	qsort(times, n, sizeof(uint32_t), compare_times);
	printf("%.2f %.1f %.1f %zu\n", rate,
		   times[n / 2] / 1e3, times[n - 1 - n / 100] / 1e3, n);
	free(times);
}

static void
measure(void)
{
	Client	   *clients = calloc((size_t) nclients, sizeof(Client));

	if (clients == NULL)
		die("calloc", "out of memory");
	pthread_barrier_init(&ready, NULL, (unsigned) nclients);
	pthread_barrier_init(&next_turn, NULL, (unsigned) nclients);
	for (int i = 0; i < nclients; i++)
	{
		clients[i].rng = (uint64_t) time(NULL) * 1000 + (uint64_t) i +
			(uint64_t) getpid() * 1000003;
		errno = pthread_create(&clients[i].thread, NULL, run, &clients[i]);
		if (errno != 0)
			die("pthread_create", strerror(errno));
	}
	for (int i = 0; i < nclients; i++)
		pthread_join(clients[i].thread, NULL);
	for (int i = 0; i < (turn > 0 ? nstatements : 1); i++)
		print_tally(clients, i);
}

static void
load(void)
{
	redisContext *redis = connect_redis();
	char		line[128];
	uint64_t	n = 0;
	int			sent = 0;
	double		start = now();
	bool		more;

	do
	{
		char	   *comma;

		more = fgets(line, sizeof(line), stdin) != NULL;
		if (more)
		{
			const char *argv[4] = {"ZADD", load_key, NULL, line};
			size_t		lens[4];

			line[strcspn(line, "\n")] = '\0';
			comma = strchr(line, ',');
			if (comma == NULL)
				die(line, "no comma");
			*comma = '\0';
			argv[2] = comma + 1;
			for (int i = 0; i < 4; i++)
				lens[i] = strlen(argv[i]);
			if (redisAppendCommandArgv(redis, 4, argv, lens) != REDIS_OK)
				die(socket_path, redis->errstr);
			sent++;
			n++;
		}
		while (sent > 0 && (sent >= pipeline || !more))
		{
			/* Answers as the commands went: all of a pipeline. */
			for (; sent > 0; sent--)
			{
				void	   *reply = NULL;

				if (redisGetReply(redis, &reply) != REDIS_OK)
					die(socket_path, redis->errstr);
				check_reply(redis, reply);
			}
		}
	} while (more);
	redisFree(redis);
	printf("%.3f %" PRIu64 "\n", now() - start, n);
}

static void
print_uuids(void)
{
	char		line[UUID_TEXT + 1];

	line[UUID_TEXT] = '\n';
	for (int64_t i = 1; i <= members; i++)
	{
		put_uuid(line, i);
		if (fwrite(line, sizeof(line), 1, stdout) != 1)
			die("standard output", strerror(errno));
	}
}

int
main(int argc, char **argv)
{
	int			weight = 1;
	bool		uuids = false;
	int			opt;

	while ((opt = getopt(argc, argv, "p:r:c:t:T:n:b:P:w:q:l:u")) != -1)
	{
		switch (opt)
		{
			case 'p':
				conninfo = optarg;
				break;
			case 'r':
				socket_path = optarg;
				break;
			case 'c':
				nclients = atoi(optarg);
				break;
			case 't':
				seconds = atof(optarg);
				break;
			case 'T':
				turn = atof(optarg);
				break;
			case 'n':
				members = atoll(optarg);
				break;
			case 'b':
				batch = atoi(optarg);
				break;
			case 'P':
				pipeline = atoi(optarg);
				break;
			case 'w':
				weight = atoi(optarg);
				break;
			case 'q':
				if (nstatements == MAX_STATEMENTS)
					die(optarg, "too many statements");
				statements[nstatements].text = optarg;
				statements[nstatements++].weight = weight;
				total_weight += weight;
				break;
			case 'l':
				load_key = optarg;
				break;
			case 'u':
				uuids = true;
				break;
			default:
				return 2;
		}
	}
	if (uuids && members >= 1 && optind == argc)
	{
		print_uuids();
		return 0;
	}
	if ((conninfo == NULL) == (socket_path == NULL) || nclients < 1 ||
		members < 1 || batch < 1 || pipeline < 1 || turn < 0 || optind != argc ||
		(load_key == NULL ? nstatements < 1 || total_weight < 1 :
		 socket_path == NULL))
	{
		fprintf(stderr, "usage: see the top of client.c\n");
		return 2;
	}
	for (int i = 0; i < nstatements; i++)
		parse_statement(&statements[i]);
	if (load_key != NULL)
		load();
	else
		measure();
	return 0;
}
