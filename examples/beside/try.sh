#!/bin/bash
# A main server to try compose.yaml with: what a managed service gives you, and a table.
set -e
psql -v ON_ERROR_STOP=1 <<-'SQL'
	\getenv password POSTGRES_PASSWORD
	CREATE ROLE app LOGIN REPLICATION PASSWORD :'password';
	CREATE DATABASE game OWNER app;
	\c game
	CREATE EXTENSION postgres_fdw;
	GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO app;
	SET ROLE app;
	CREATE TABLE player (id bigint PRIMARY KEY, name text NOT NULL, score bigint NOT NULL,
		reached_at timestamptz NOT NULL DEFAULT now());
	INSERT INTO player SELECT i, 'player ' || i, i * 7919 % 100003 FROM generate_series(1, 100000) i;
SQL
