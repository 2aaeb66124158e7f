/*-------------------------------------------------------------------------
 *
 * region.c
 *	  The arena's region: address space, and huge pages for it.
 *
 * leaderboard.memory can be raised while the server runs, so what it may be
 * raised to has to be at the same addresses in all processes from the start.
 * Address space costs nothing: the postmaster reserves it by a mapping of its
 * own (MAP_SHARED, MAP_NORESERVE), which its children inherit, and a page
 * exists from when it is first touched.  How many may be touched is the
 * arena's limit.  The main shared memory segment would be the wrong place,
 * since the server allocates all of it where it has huge pages, or does not
 * start.
 *
 * After a crash the postmaster makes shared memory anew.  Then the mapping
 * stays, and its pages are removed: the process that collects the log has
 * inherited it as well, outlives the crash, and would keep the memory of a
 * mapping that is only unmapped.
 *
 * With EXEC_BACKEND children inherit nothing, and the region is in the segment.
 *
 * Huge pages: a rank touches a handful of places that are far apart in hundreds
 * of megabytes.  With pages of 4 kB each of them costs a miss of the TLB
 * besides that of the cache, and each backend a page fault for every few of
 * them until it has seen them all.  Where the server uses huge pages
 * (huge_pages, hugetlbfs), the first leaderboard.memory bytes are taken from
 * the same pool, and what it is raised to later is in ordinary pages.  These
 * Linux, from 6.1 on, replaces by huge ones when it is asked to
 * (MADV_COLLAPSE), with whatever system-wide settings of transparent huge
 * pages.  It wants addresses and offsets in the mapping that agree modulo the
 * size of a huge page, so the region is aligned to that.
 *
 * No answer depends on huge pages.  Where they are not to be had, pages stay
 * small.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <stdio.h>
#include <unistd.h>
#ifndef WIN32
#include <sys/mman.h>
#include <sys/resource.h>
#endif

#include "storage/pg_shmem.h"
#include "storage/shmem.h"

#include "index/arena.h"
#include "util/region.h"

/* Of x86-64, and of arm64 with pages of 4 kB.  Elsewhere it is of no use. */
#define HUGE_PAGE ((Size) 2 * 1024 * 1024)

/* Huge pages made by one call. */
#define AT_ONCE 16

/* A server that cannot have this much does not start. */
#define LEAST ((Size) 64 * 1024)

#if defined(__linux__) && !defined(EXEC_BACKEND)
#define LINUX_FORKS
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#endif

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

#ifdef LINUX_FORKS

/* The number in a file of the kernel's, or 0 if there is none. */
static uint64
number_in(const char *path)
{
	FILE	   *file = fopen(path, "r");
	unsigned long long number;
	bool		found;

	if (file == NULL)
		return 0;
	found = fscanf(file, "%llu", &number) == 1;
	fclose(file);
	return found ? number : 0;
}

/*
 * Why address space is not for nothing, or NULL.  The kernel counts all of it
 * as used where it does not overcommit, and where processes may have so much
 * only, it would be missed elsewhere.
 */
static const char *
why_not_free(void)
{
	struct rlimit limit;

	if (number_in("/proc/sys/vm/overcommit_memory") == 2)
		return "the kernel does not overcommit memory (vm.overcommit_memory = 2)";
	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		return "the server's address space is limited (ulimit -v)";
	return NULL;
}

/* The memory of the machine, or of the container if that is less. */
static Size
memory_here(void)
{
	static const char *const limits[] = {"/sys/fs/cgroup/memory.max",
	"/sys/fs/cgroup/memory/memory.limit_in_bytes"};
	uint64		memory = (uint64) sysconf(_SC_PHYS_PAGES) *
		(uint64) sysconf(_SC_PAGESIZE);

	for (int i = 0; i < (int) lengthof(limits); i++)
	{
		uint64		limit = number_in(limits[i]);

		if (limit != 0 && limit < memory)
			memory = limit;
	}
	return memory;
}

#endif							/* LINUX_FORKS */

Size
lb_region_size(Size least, Size most)
{
#ifdef LINUX_FORKS
	const char *reason;

	if (most == 0)
	{
		reason = why_not_free();
		if (reason == NULL)
			most = memory_here();
		else
			ereport(LOG,
					(errmsg("\"%s\" cannot be raised while the server runs",
							"leaderboard.memory"),
					 errdetail("No more address space is reserved: %s.",
							   reason),
					 errhint("To reserve some, set \"%s\".",
							 "leaderboard.max_memory")));
	}
#endif
	return Max(least, most);
}

Size
lb_region_in_segment(Size size)
{
#ifdef EXEC_BACKEND
	return add_size(size, LB_PAGE_SIZE);	/* it starts at a page */
#else
	return 0;
#endif
}

#ifndef EXEC_BACKEND

/* The size of the server's huge pages, and how to ask for them; 0 if none. */
static Size
server_huge_page(int *flags)
{
	Size		page = 0;

	*flags = 0;
#ifdef MAP_HUGETLB
	if (huge_pages != HUGE_PAGES_OFF)
		GetHugePageSize(&page, flags);
#endif
	return page;
}

/*
 * Map a region of that size, the first huge bytes in the server's huge pages if
 * they are to be had.  Returns NULL, and errno, if there is no address space.
 */
static char *
map_region(Size size, Size huge)
{
	const int	prot = PROT_READ | PROT_WRITE;
	const int	flags = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED;
	int			huge_flags;
	Size		page = server_huge_page(&huge_flags);
	Size		align = Max(HUGE_PAGE, page);
	Size		space_size = size + align;
	char	   *space;
	char	   *region;

	/* Some space first, to have it aligned. */
	space = mmap(NULL, space_size, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (space == MAP_FAILED)
		return NULL;
	region = (char *) TYPEALIGN(align, space);

	/* Without MAP_NORESERVE: pages that are promised are there. */
	huge = page == 0 ? 0 : TYPEALIGN(page, huge);
	if (huge > size ||
		(huge > 0 && mmap(region, huge, prot, flags | huge_flags, -1, 0) !=
		 region))
	{
		if (huge_pages == HUGE_PAGES_ON)
			ereport(LOG,
					(errmsg("the memory of boards is not in huge pages"),
					 errdetail("%zu bytes of them are not to be had.", huge)));
		huge = 0;
	}
	if (size > huge &&
		mmap(region + huge, size - huge, prot, flags | MAP_NORESERVE, -1,
			 0) == MAP_FAILED)
	{
		int			save_errno = errno;

		munmap(space, space_size);
		errno = save_errno;
		return NULL;
	}
	if (region > space)
		munmap(space, region - space);
	munmap(region + size, space + space_size - (region + size));
	return region;
}

#endif							/* !EXEC_BACKEND */

char *
lb_region_map(char *segment, Size least, Size *size)
{
#ifdef EXEC_BACKEND
	return (char *) TYPEALIGN(LB_PAGE_SIZE, segment);
#else
	static char *region = NULL;
	static Size mapped = 0;
	Size		want = *size;
	int			save_errno = 0;

	if (region != NULL)
	{
		/* Again after a crash. */
#ifdef MADV_REMOVE
		if (madvise(region, mapped, MADV_REMOVE) == 0)
		{
			*size = mapped;
			return region;
		}
#endif
		munmap(region, mapped);
		region = NULL;
	}
	for (;;)
	{
		/* The last huge page is whole. */
		mapped = TYPEALIGN(HUGE_PAGE, want);
		region = map_region(mapped, Min(least, mapped));
		if (region != NULL)
			break;
		if (save_errno == 0)
			save_errno = errno;
		if (want <= LEAST)
			ereport(FATAL,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("could not reserve memory for boards: %m"),
					 errdetail("The failed request was for %zu bytes.",
							   mapped)));
		want = want > least ? least : Max(LEAST, want / 2);
	}
	if (want < *size)
	{
		errno = save_errno;
		ereport(WARNING,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("could not reserve memory for boards as \"%s\" says: %m",
						*size > least ? "leaderboard.max_memory" :
						"leaderboard.memory"),
				 errdetail("The failed request was for %zu bytes; %zu are reserved.",
						   *size, mapped),
				 errhint("Look at the server's limit of address space (ulimit -v) and at vm.overcommit_memory.")));
	}
	*size = mapped;
	return region;
#endif
}

bool
lb_region_collapse(char *region, Size used)
{
#ifdef LINUX_FORKS
	static Size done = 0;
	Size		end = used / HUGE_PAGE * HUGE_PAGE;
	Size		from = done;

	if (huge_pages == HUGE_PAGES_OFF || from >= end)
		return false;
	end = Min(end, from + AT_ONCE * HUGE_PAGE);

	/* What the kernel refuses stays as it is. */
	(void) madvise(region + from, end - from, MADV_COLLAPSE);
	done = end;
	return end < used / HUGE_PAGE * HUGE_PAGE;
#else
	return false;
#endif
}
