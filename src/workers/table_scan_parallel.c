/*-------------------------------------------------------------------------
 *
 * table_scan_parallel.c
 *	  Reading the rows of a source with parallel workers.
 *
 * A board that keeps counts is for tables that are larger than memory, and a
 * single process does not read them as fast as the disk delivers.  So a build
 * has PostgreSQL's parallel workers read with it, as CREATE INDEX does.  Each
 * process takes the next pages of the table and counts its rows (tally.c).  A
 * worker writes what it has counted to a file, which the build adds to its
 * sort.  That is as many tuples as there are keys, and not rows.
 *
 * Each process yields as a build without workers does (worker.c).  A worker
 * does so by an error, which ends the build.  So the build also yields while
 * it only waits for its workers.
 *
 * Other boards sort all rows, which files would not make faster.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/buffile.h"
#include "storage/condition_variable.h"
#include "storage/sharedfileset.h"
#include "storage/spin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "boards/parts.h"
#include "boards/resolve.h"
#include "util/compat.h"
#include "util/pause.h"
#include "util/wait_event.h"
#include "workers/table_scan_internal.h"
#include "workers/worker.h"

/* Of the table of contents; that of a table's scan follows. */
#define KEY_JOB UINT64CONST(0x1b5ca90000000001)
#define KEY_SCAN UINT64CONST(0x1b5ca90100000000)

/* What the build tells its workers, and they tell it. */
typedef struct Job
{
	/* Set by the build. */
	Oid			source;
	Oid			catalog;
	int32		id;				/* of the definition ... */
	uint32		fingerprint;	/* ... as it was resolved */
	Size		memory;			/* for the counts of a process */
	pg_atomic_uint64 *progress; /* in the server's shared memory */
	SharedFileSet files;

	/* Of all processes. */
	slock_t		mutex;
	int64		off_board;
	pg_atomic_uint32 nbegun;	/* workers that have connected; it changes: */
	ConditionVariable changed;

	int			ntables;
	Oid			tables[FLEXIBLE_ARRAY_MEMBER];
} Job;

extern PGDLLEXPORT void lb_scan_worker_main(dsm_segment *seg, shm_toc *toc);

/* Take part in the scan of all tables. */
static void
scan_tables(LbScan *s, LbDefinition *defn, Job *job, shm_toc *toc)
{
	for (int i = 0; i < job->ntables; i++)
	{
		Relation	rel = table_open(job->tables[i], AccessShareLock);
		ParallelTableScanDesc shared = shm_toc_lookup(toc, KEY_SCAN + i, false);

		lb_scan_rows(s, job->tables[i] == job->source ? defn :
					 lb_part_defn(defn, rel), rel,
					 LB_TABLE_BEGINSCAN_PARALLEL(rel, shared));
		table_close(rel, NoLock);
	}
	lb_tally_end(s->tally);
	SpinLockAcquire(&job->mutex);
	job->off_board += s->values->off_board;
	SpinLockRelease(&job->mutex);
}

static int
tuple_words(const LbDefinition *defn)
{
	return defn->shape.width + 1;
}


/* ----------------------------------------------------------------
 *		A worker
 * ----------------------------------------------------------------
 */

typedef struct Output
{
	BufFile    *file;
	Size		size;			/* of a tuple */
} Output;

static void
write_tuple(void *arg, const int64 *tuple)
{
	Output	   *output = (Output *) arg;

	BufFileWrite(output->file, (void *) tuple, output->size);
}

static void
file_name(char *name, Size size, int worker)
{
	snprintf(name, size, "counts.%d", worker);
}

/* The worker is about to lock the tables; the build has locked the source. */
static void
yield_for_tables(const Job *job)
{
	int			n = job->ntables;
	Oid		   *tables = MemoryContextAlloc(TopTransactionContext,
											(n + 1) * sizeof(Oid));

	tables[0] = job->source;
	memcpy(tables + 1, job->tables, n * sizeof(Oid));
	lb_yield_for(tables, n + 1);
}

/* A parallel worker's entry point. */
void
lb_scan_worker_main(dsm_segment *seg, shm_toc *toc)
{
	Job		   *job = shm_toc_lookup(toc, KEY_JOB, false);
	LbValues	values = {0};
	LbScan		s = {
		.values = &values,.snapshot = GetActiveSnapshot(),
		.progress = job->progress,.poll = lb_yield
	};
	LbDefinition *defn;
	Output		output;
	char		name[32];

	pg_atomic_fetch_add_u32(&job->nbegun, 1);
	ConditionVariableBroadcast(&job->changed);
	SharedFileSetAttach(&job->files, seg);
	lb_pause("launched");
	defn = lb_defn_of(job->source, job->catalog, job->id);

	/*
	 * The build has locked the table, but the definition may have been
	 * recorded anew, and what keeps an expression may be gone.
	 */
	if (defn == NULL || defn->fingerprint != job->fingerprint ||
		!lb_resolve_parts(defn, false) || defn->problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the definition of a board has changed")));
	file_name(name, sizeof(name), ParallelWorkerNumber);
	output.file = BufFileCreateFileSet(&job->files.fs, name);
	output.size = tuple_words(defn) * sizeof(int64);
	s.tally = lb_tally_begin(defn->shape.width, job->memory, write_tuple,
							 &output);
	yield_for_tables(job);
	lb_pause("scan");
	scan_tables(&s, defn, job, toc);
	BufFileExportFileSet(output.file);
	BufFileClose(output.file);
}


/* ----------------------------------------------------------------
 *		The build
 * ----------------------------------------------------------------
 */

/* Add what a worker has counted to the sort. */
static void
read_file(LbScan *s, LbDefinition *defn, Job *job, int worker)
{
	Size		size = tuple_words(defn) * sizeof(int64);
	int64		tuple[LB_MAX_WIDTH + 1];
	char		name[32];
	BufFile    *file;
	Size		got;
	uint64		ntuples = 0;

	file_name(name, sizeof(name), worker);
	file = BufFileOpenFileSet(&job->files.fs, name, O_RDONLY, true);
	if (file == NULL)
		return;
	while ((got = LB_BUFFILE_READ(file, tuple, size)) == size)
	{
		lb_sort_add(s->sort, tuple);
		if (++ntuples % POLL_ROWS == 0)
			s->poll();
	}
	if (got != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: %m")));
	BufFileClose(file);
}

/* Lay out the scans of the tables. */
static void
share_scans(ParallelContext *pcxt, LbScan *s, const Job *job)
{
	for (int i = 0; i < job->ntables; i++)
	{
		Relation	rel = table_open(job->tables[i], NoLock);
		ParallelTableScanDesc shared;

		shared = shm_toc_allocate(pcxt->toc,
								  table_parallelscan_estimate(rel, s->snapshot));
		table_parallelscan_initialize(rel, shared, s->snapshot);
		shm_toc_insert(pcxt->toc, KEY_SCAN + i, shared);
		table_close(rel, NoLock);
	}
}

/* Room in the segment. */
static void
estimate(ParallelContext *pcxt, LbScan *s, const Oid *tables, int ntables)
{
	shm_toc_estimate_chunk(&pcxt->estimator,
						   offsetof(Job, tables) + ntables * sizeof(Oid));
	for (int i = 0; i < ntables; i++)
	{
		Relation	rel = table_open(tables[i], AccessShareLock);

		shm_toc_estimate_chunk(&pcxt->estimator,
							   table_parallelscan_estimate(rel, s->snapshot));
		table_close(rel, NoLock);
	}
	shm_toc_estimate_keys(&pcxt->estimator, 1 + ntables);
}

static bool
any_runs(const ParallelContext *pcxt)
{
	pid_t		pid;

	for (int i = 0; i < pcxt->nworkers_launched; i++)
	{
		if (GetBackgroundWorkerPid(pcxt->worker[i].bgwhandle, &pid) != BGWH_STOPPED)
			return true;
	}
	return false;
}

/*
 * Wait until the workers have connected, or have ended.  One that connects
 * waits for the lock of DROP DATABASE, which waits for this process to yield.
 * Once it is connected it yields by itself.
 */
static void
wait_for_begin(LbScan *s, Job *job, const ParallelContext *pcxt)
{
	ConditionVariablePrepareToSleep(&job->changed);
	while (pg_atomic_read_u32(&job->nbegun) < (uint32) pcxt->nworkers_launched &&
		   any_runs(pcxt))
	{
		(void) ConditionVariableTimedSleep(&job->changed, 100,
										   lb_wait_event(LB_WAIT_EVENT_BUILD));
		s->poll();
	}
	ConditionVariableCancelSleep();
}

void
lb_scan_parallel(LbScan *s, LbDefinition *defn, const Oid *tables, int ntables,
				 int nworkers)
{
	ParallelContext *pcxt;
	Job		   *job;
	int			launched;

	EnterParallelMode();
	pcxt = CreateParallelContext("leaderboard", "lb_scan_worker_main",
								 nworkers);
	estimate(pcxt, s, tables, ntables);
	InitializeParallelDSM(pcxt);
	job = shm_toc_allocate(pcxt->toc,
						   offsetof(Job, tables) + ntables * sizeof(Oid));
	job->source = defn->source;
	job->catalog = defn->catalog;
	job->id = defn->id;
	job->fingerprint = defn->fingerprint;
	job->memory = (Size) maintenance_work_mem * 1024 / 2 / (pcxt->nworkers + 1);
	job->progress = s->progress;
	if (pcxt->seg != NULL)
		SharedFileSetInit(&job->files, pcxt->seg);
	SpinLockInit(&job->mutex);
	job->off_board = 0;
	pg_atomic_init_u32(&job->nbegun, 0);
	ConditionVariableInit(&job->changed);
	job->ntables = ntables;
	memcpy(job->tables, tables, ntables * sizeof(Oid));
	shm_toc_insert(pcxt->toc, KEY_JOB, job);
	share_scans(pcxt, s, job);

	lb_pause("workers");

	/* Without a segment there are no workers, and this process does all. */
	if (pcxt->seg != NULL)
		LaunchParallelWorkers(pcxt);
	launched = pcxt->nworkers_launched;
	s->tally = lb_tally_begin(defn->shape.width, job->memory, lb_sort_counted,
							  s->sort);
	scan_tables(s, defn, job, pcxt->toc);
	s->tally = NULL;
	wait_for_begin(s, job, pcxt);
	WaitForParallelWorkersToFinish(pcxt);
	s->values->off_board = job->off_board;
	for (int i = 0; i < launched; i++)
		read_file(s, defn, job, i);
	DestroyParallelContext(pcxt);
	ExitParallelMode();
}
