/*-------------------------------------------------------------------------
 *
 * members.h
 *	  Members in an array that is an operand.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MEMBERS_H
#define LB_MEMBERS_H

#include "reads/call.h"
#include "reads/row_list.h"

/*
 * The members in the array that is the first operand, palloc'd; none if it is
 * null.  With counts, a call as text has their values in call->members, and no
 * words.
 */
extern void lb_array_operand(const LbCall *call, LbMembers *members);

#endif							/* LB_MEMBERS_H */
