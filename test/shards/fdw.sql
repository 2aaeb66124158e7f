-- The same by postgres_fdw.
CREATE EXTENSION postgres_fdw;
SELECT format('CREATE SERVER shard_%1$s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %2$L, dbname ''game'', async_capable ''true'')',
		i, format('%s/shard_%s', :'shards', i)),
	format('CREATE USER MAPPING FOR CURRENT_USER SERVER shard_%s OPTIONS (user ''postgres'')', i),
	format('CREATE SCHEMA shard_%s', i),
	format('IMPORT FOREIGN SCHEMA public LIMIT TO (player_scores, player_score_windows) FROM SERVER shard_%1$s INTO shard_%1$s', i)
FROM generate_series(0, 3) AS i \gexec
\ir ../../examples/shards/fdw.sql
\ir ../../examples/shards/merge.sql
INSERT INTO shards.shard SELECT generate_series(0, 3);
