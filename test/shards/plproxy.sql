-- The server that clients connect to, by PL/Proxy: see examples/shards/README.md.  The
-- variable shards is the folder of the shards' sockets.
CREATE EXTENSION plproxy;
SELECT format('CREATE SERVER game FOREIGN DATA WRAPPER plproxy OPTIONS (%s)', string_agg(
	format('p%s %L', i, format('host=%s/shard_%s dbname=game', :'shards', i)), ', ' ORDER BY i))
FROM generate_series(0, 3) AS i \gexec
CREATE USER MAPPING FOR PUBLIC SERVER game OPTIONS (user 'postgres');
\ir ../../examples/shards/plproxy.sql
\ir ../../examples/shards/merge.sql
