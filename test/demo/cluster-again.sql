-- The first call may still find the connection that has ended.
\set QUIET on
\set ON_ERROR_STOP off
\o /dev/null
SELECT lb_count();
\o
\set ON_ERROR_STOP on
\set ECHO queries
\timing on
SELECT lb_rank(4711), lb_count();
