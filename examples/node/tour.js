// The leaderboard extension from Node: submit, read, retry, listen.
//
// libpq's environment variables (PGHOST, PGDATABASE, ...) say where the database is.
'use strict';

const pg = require('pg');

// A number holds whole numbers up to 2^53 exactly.  pg therefore returns a bigint as a
// string; this makes it a BigInt.
pg.types.setTypeParser(pg.types.builtins.INT8, BigInt);

async function connect() {
  const client = new pg.Client();
  client.on('error', () => {});             // the query that is running fails too
  await client.connect();
  return client;
}

// The player's score and rank after the change.  With a match, the same call can be
// repeated: it counts once.
async function submit(client, player, amount, { op = 'incr', match = null } = {}) {
  const result = await client.query(
    "SELECT score, rank FROM leaderboard.lb_submit($1, $2, $3, $4) WHERE board = 'global'",
    [player, amount, op, match]);
  return result.rows[0];
}

async function top(client, n) {
  return (await client.query('SELECT rank, member, score FROM leaderboard.lb_top($1)', [n])).rows;
}

async function around(client, player, radius) {
  return (await client.query(
    'SELECT rank, member, score FROM leaderboard.lb_around($1, radius => $2)', [player, radius])).rows;
}

// Serialization failure, deadlock, shutdown, lost connection.  The last has no SQLSTATE,
// or that of the system.
function canBeTriedAgain(error) {
  const code = error.code || '';
  return ['40001', '40P01'].includes(code) || /^(08|57P)/.test(code) ||
    ['ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes(code) || /Connection terminated/.test(error.message);
}

// Run work(client, attempt) until none of these gets in its way.  A lost connection does
// not say whether its commit was done, so work should submit with a match.
async function retry(work, attempts = 5) {
  for (let attempt = 1; ; attempt++) {
    let client;
    try {
      client = await connect();
      return await work(client, attempt);
    } catch (error) {
      if (attempt === attempts || !canBeTriedAgain(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * 2 ** attempt));
    } finally {
      // Not awaited: of a connection that is lost already, end() of pg 8.8 never resolves.
      client?.end().catch(() => {});
    }
  }
}

async function conflicting(client, attempt) {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query('SELECT leaderboard.lb_score(42)');
  if (attempt === 1) {                      // another session is faster
    const other = await connect();
    await submit(other, 42, 10);
    await other.end();
  }
  const { score } = await submit(client, 42, 10);
  await client.query('COMMIT');
  return { score, attempt };
}

async function disconnected(client, attempt) {
  const { score } = await submit(client, 42, 10, { match: 'match 2' });
  if (attempt === 1) {                      // the answer does not arrive
    await client.query('SELECT pg_terminate_backend(pg_backend_pid())');
  }
  return { score, attempt };
}

function show(rows) {
  for (const { rank, member, score } of rows) console.log(`  ${rank}. player ${member} with ${score}`);
}

async function main() {
  const client = await connect();

  for (const title of ['submit', 'the same match again']) {
    const { score, rank } = await submit(client, 42, 80, { match: 'match 1' });
    console.log(`${title}: player 42 has ${score} points and rank ${rank}`);
  }
  console.log('top:');
  show(await top(client, 3));
  console.log('around player 42:');
  show(await around(client, 42, 1));

  for (const [title, work] of [['serialization failure', conflicting], ['lost connection', disconnected]]) {
    const { score, attempt } = await retry(work);
    console.log(`${title}: player 42 has ${score} points after ${attempt} attempts`);
  }

  // Listen first, then read or change: nothing is missed.
  const noticed = new Promise((resolve) => {
    client.on('notification', ({ payload }) => {
      const place = (JSON.parse(payload).places || []).find((p) => p.player_id === 42);
      if (place) resolve(place.place);
    });
  });
  await client.query('LISTEN leaderboard');
  await submit(client, 42, 2n ** 53n + 1n, { op: 'set' });
  console.log(`listen: player 42 is at place ${await noticed}`);

  // Scores in a payload are JSON numbers, which JSON.parse() rounds.  Read large ones.
  const { rows } = await client.query('SELECT leaderboard.lb_score(42) AS score');
  console.log(`2^53 + 1: player 42 has ${rows[0].score} points`);
  await client.end();
}

main();
