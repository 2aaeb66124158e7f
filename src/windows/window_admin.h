/*-------------------------------------------------------------------------
 *
 * window_admin.h
 *	  Recording windows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_WINDOW_ADMIN_H
#define LB_WINDOW_ADMIN_H

#include "boards/definition.h"

/*
 * A family of windows is gone, or is another table's: remove its windows.
 * Between SPI_connect and SPI_finish; can raise.
 */
extern void lb_windows_end(const char *family);

/*
 * A family of windows has been made: forget the keys that an earlier family
 * has closed, except those whose final standings are of the same table or
 * owner.  Between SPI_connect and SPI_finish; can raise.
 */
extern void lb_windows_begin(const LbDefinition *family);

#endif							/* LB_WINDOW_ADMIN_H */
