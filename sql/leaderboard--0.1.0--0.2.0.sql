\echo Use "ALTER EXTENSION leaderboard UPDATE" to load this file. \quit

/*
 * From 0.1.0 to 0.2.0.  There is no script for 0.2.0 alone: CREATE EXTENSION
 * runs that of 0.1.0 and then this one.
 */
