/*-------------------------------------------------------------------------
 *
 * archive.h
 *	  Final standings: lb_archive.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ARCHIVE_H
#define LB_ARCHIVE_H

#include "boards/definition.h"
#include "boards/target.h"
#include "sql/args.h"

/*
 * Copy the first places of a board to lb_archive, all if top is below 0, and
 * return how many.  An empty season is that of a window: the same statement
 * enters the key in lb_closed, and standings that are there already stay.
 * Between SPI_connect and SPI_finish; can raise.
 */
extern int64 lb_archive(const LbDefinition *defn, const char *board,
						const char *season, int64 top);

/* The name of the role that owns a board's table, as lb_archive records it. */
extern LbArg lb_arg_owner(const LbDefinition *defn);

/*
 * The number of a board's table in lb_archive_source, entered if it is not
 * there.  Between SPI_connect and SPI_finish; can raise.
 */
extern int32 lb_archive_source(const LbDefinition *defn);

/*
 * The name by which a window's key is read as a board of its family: another
 * family may have the name that the key begins with.
 */
extern char *lb_window_board(const LbDefinition *family, const char *key);

/*
 * The name by which lb_archive and lb_season have a board, which may have been
 * named in another way: "team:9" for "*:team:9", and the key for a window's
 * name.  Palloc'd, or the name itself.  Raises what a catalog lookup can
 * raise.
 */
extern const char *lb_archived_name(const LbTarget *target, const char *board);

#endif							/* LB_ARCHIVE_H */
