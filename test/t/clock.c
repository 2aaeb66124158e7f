/*
 * clock.c
 *	  A clock that tests can set.  Preloaded by a server: gettimeofday() and time()
 *	  are ahead of the system's clock by as many seconds as the file says that the
 *	  environment variable LB_TEST_CLOCK names.  pg_ctl compares its time with the
 *	  server's.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int
gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	const char *file = getenv("LB_TEST_CLOCK");
	char		digits[32] = "";
	struct timespec now;
	int			fd;

	(void) tz;
	clock_gettime(CLOCK_REALTIME, &now);
	tv->tv_sec = now.tv_sec;
	tv->tv_usec = now.tv_nsec / 1000;
	fd = file == NULL ? -1 : open(file, O_RDONLY);
	if (fd >= 0)
	{
		if (read(fd, digits, sizeof(digits) - 1) > 0)
			tv->tv_sec += atoll(digits);
		close(fd);
	}
	return 0;
}

time_t
time(time_t *result)
{
	struct timeval now;

	(void) gettimeofday(&now, NULL);
	if (result != NULL)
		*result = now.tv_sec;
	return now.tv_sec;
}
