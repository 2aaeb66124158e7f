\echo Use "ALTER EXTENSION leaderboard UPDATE" to load this file. \quit

/*
 * From 0.2.0 to 0.3.0.  CREATE EXTENSION runs the scripts of 0.1.0, 0.2.0 and
 * then this one.
 *
 * The chapters are in the order of those of the script for 0.2.0.
 */
