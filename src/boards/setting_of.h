/*-------------------------------------------------------------------------
 *
 * setting_of.h
 *	  Settings that the value of an expression depends on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SETTING_OF_H
#define LB_SETTING_OF_H

#include "postgres.h"

#include "nodes/nodes.h"

/*
 * The name of a setting of the session that the value of an expression depends
 * on although PostgreSQL takes it for immutable, or NULL.  The expression
 * comes as it was written, and as the planner simplifies it: that has folded
 * constants, and shows what functions in SQL call.  Raises what a catalog
 * lookup can raise.
 */
extern const char *lb_setting_of(Node *expr, Node *simplified);

#endif							/* LB_SETTING_OF_H */
