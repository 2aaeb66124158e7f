/*-------------------------------------------------------------------------
 *
 * hugepage.c
 *	  Huge pages for the arena's region.
 *
 * A rank touches a handful of places that are far apart in hundreds of
 * megabytes.  With pages of 4 kB each of them costs a miss of the TLB besides
 * that of the cache, and each backend a page fault for every few of them
 * until it has seen them all.
 *
 * Where the server has got its huge_pages (hugetlbfs) there is nothing to do.
 * Elsewhere Linux, from 6.1 on, replaces ordinary pages by huge ones when it is
 * asked to (MADV_COLLAPSE), with whatever system-wide settings of transparent
 * huge pages.  It wants addresses and offsets in the mapping that agree modulo
 * the size of a huge page, which those of the server's segment do not.
 * So the part of the segment that becomes the region is covered by a mapping
 * of its own, before there are other processes; they inherit it.  The segment's
 * own pages below it are never touched, so they do not exist.  At the end the
 * server unmaps the whole of its segment, and with it this.
 *
 * Nothing depends on it.  Where a step is not possible, pages stay small.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <stdio.h>
#include <sys/mman.h>

#include "storage/pg_shmem.h"

#include "hugepage.h"

/* Of x86-64, and of arm64 with pages of 4 kB.  Elsewhere it is of no use. */
#define HUGE_PAGE ((Size) 2 * 1024 * 1024)

/* Huge pages made by one call. */
#define AT_ONCE 16

#if defined(__linux__) && !defined(EXEC_BACKEND)
#define USE_COLLAPSE
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#endif

/* Whether a mapping of our own is of use, as far as settings tell. */
static bool
is_wanted(void)
{
#ifdef USE_COLLAPSE
	/* A segment of System V is not unmapped as a range of addresses. */
	return huge_pages != HUGE_PAGES_OFF &&
		shared_memory_type == SHMEM_TYPE_MMAP;
#else
	return false;
#endif
}

#ifdef USE_COLLAPSE
/* The size of the pages at an address, in kB; 0 if it is not to be had. */
static unsigned long
page_kb(const char *address)
{
	FILE	   *file = fopen("/proc/self/smaps", "r");
	char		line[1024];
	bool		here = false;
	unsigned long size = 0;

	if (file == NULL)
		return 0;
	while (size == 0 && fgets(line, sizeof(line), file) != NULL)
	{
		unsigned long from;
		unsigned long to;

		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = (uintptr_t) address >= from && (uintptr_t) address < to;
		else if (here)
			(void) sscanf(line, "KernelPageSize: %lu kB", &size);
	}
	fclose(file);
	return size;
}

/*
 * Put a mapping of its own over a part of the segment.  Returns false if
 * there is no memory for it.
 */
static bool
cover(char *region, Size size)
{
	const int	prot = PROT_READ | PROT_WRITE;
	const int	flags = MAP_SHARED | MAP_ANONYMOUS;
	char	   *own;

	/*
	 * Elsewhere first: where memory is not overcommitted this can fail, and
	 * a mapping that fails may have unmapped already what it was to cover.
	 */
	own = mmap(NULL, size, prot, flags, -1, 0);
	if (own == MAP_FAILED)
		return false;
	if (mremap(own, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
			   region) == region)
		return true;
	munmap(own, size);
	if (mmap(region, size, prot, flags | MAP_FIXED, -1, 0) != region)
		ereport(FATAL,
				(errmsg("could not map shared memory: %m")));
	return true;
}
#endif

Size
lb_huge_slack(void)
{
	return is_wanted() ? 2 * HUGE_PAGE : 0;
}

char *
lb_huge_prepare(char *start, Size size, Size align)
{
#ifdef USE_COLLAPSE
	if (is_wanted())
	{
		char	   *region = (char *) TYPEALIGN(HUGE_PAGE, start);
		unsigned long page = page_kb(region);

		/* The last huge page is whole, within the slack. */
		size = TYPEALIGN(HUGE_PAGE, size);
		if (page != 0 && page * 1024 < HUGE_PAGE && cover(region, size))
			return region;
	}
#endif
	return (char *) TYPEALIGN(align, start);
}

bool
lb_huge_collapse(char *region, Size used)
{
#ifdef USE_COLLAPSE
	static Size done = 0;
	Size		end = used / HUGE_PAGE * HUGE_PAGE;
	Size		from = done;

	if (!is_wanted() || (uintptr_t) region % HUGE_PAGE != 0 || from >= end)
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
