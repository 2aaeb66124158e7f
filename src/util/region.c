/*-------------------------------------------------------------------------
 *
 * region.c
 *	  The arena's region: address space, and huge pages for it.
 *
 * A reload can raise leaderboard.memory while the server runs.  So all
 * processes must have the memory that it may be raised to at the same
 * addresses from the start.  Address space costs nothing: the postmaster
 * reserves it by a mapping of its own (MAP_SHARED, MAP_NORESERVE), which its
 * children inherit, and a page exists once it has been touched.  The arena's
 * limit says how many pages may be touched.  The main shared memory segment
 * would be the wrong place, since with huge pages the server allocates all of
 * it, or does not start.
 *
 * After a crash the postmaster makes shared memory anew.  Then it keeps the
 * mapping and removes its pages.  The log collector has inherited the mapping,
 * outlives the crash, and would keep the memory if the postmaster only
 * unmapped it.
 *
 * With EXEC_BACKEND children inherit nothing, and the region is in the
 * segment.
 *
 * Huge pages: a rank touches a handful of places that are far apart in
 * hundreds of megabytes.  With pages of 4 kB, each place costs a miss of the
 * TLB besides that of the cache, and a backend takes a page fault for every
 * few places that it has not seen yet.  If the server uses huge pages
 * (huge_pages, hugetlbfs), the first leaderboard.memory bytes come from the
 * same pool, and what a reload adds is in ordinary pages.  Linux 6.1 and later
 * replaces ordinary pages by huge ones on request (MADV_COLLAPSE), whatever
 * the system's settings of transparent huge pages are.  For that, addresses
 * and offsets in the mapping have to agree modulo the size of a huge page, so
 * the region is aligned to it.
 *
 * No answer depends on huge pages.  Without them, pages stay small.
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

/* On x86-64, and on arm64 with pages of 4 kB; useless elsewhere. */
#define HUGE_PAGE ((Size) 2 * 1024 * 1024)

/* Huge pages that one call asks for. */
#define AT_ONCE 16

/* A server that cannot reserve this many bytes does not start. */
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

/* The number in a file of the kernel, or 0 if there is none. */
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
 * Why address space costs something, or NULL if it does not.  A kernel that
 * does not overcommit counts all of it as used.  If the address space of
 * processes is limited, it would be missing elsewhere.
 */
static const char *
cost_of_address_space(void)
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
physical_memory(void)
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
		reason = cost_of_address_space();
		if (reason == NULL)
			most = physical_memory();
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
	return add_size(size, LB_PAGE_SIZE);	/* to align it to a page */
#else
	return 0;
#endif
}

#ifndef EXEC_BACKEND

/* The size of the server's huge pages and their flags of mmap(); 0 if none. */
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
 * Map a region of that size, the first huge bytes in the server's huge pages
 * if there are enough.  Returns NULL, and sets errno, if there is no address
 * space.
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

	/* Reserve enough to align the region. */
	space = mmap(NULL, space_size, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (space == MAP_FAILED)
		return NULL;
	region = (char *) TYPEALIGN(align, space);

	/* Without MAP_NORESERVE, the kernel sets these pages aside now. */
	huge = page == 0 ? 0 : TYPEALIGN(page, huge);
	if (huge > size ||
		(huge > 0 && mmap(region, huge, prot, flags | huge_flags, -1, 0) !=
		 region))
	{
		if (huge_pages == HUGE_PAGES_ON)
			ereport(LOG,
					(errmsg("the memory of boards is not in huge pages"),
					 errdetail("The system does not have %zu bytes of them.", huge)));
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
		/* After a crash. */
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
		/* Up to the end of a huge page. */
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

	/* Pages for which the kernel refuses stay small. */
	(void) madvise(region + from, end - from, MADV_COLLAPSE);
	done = end;
	return end < used / HUGE_PAGE * HUGE_PAGE;
#else
	return false;
#endif
}
