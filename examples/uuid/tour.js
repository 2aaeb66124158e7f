// Keys that are uuids, with node-postgres: parameters have no type, and are texts.
//
// libpq's environment variables (PGHOST, PGDATABASE, ...) say where the database is.
'use strict';

const pg = require('pg');

const account = 'a1d0c6e8-3f02-7327-d846-1063f4ac58a6';
const nobody = '00000000-0000-0000-0000-000000000000';
const hex = (uuid) => uuid.replaceAll('-', '');

async function main() {
  const client = new pg.Client();
  await client.connect();
  const query = async (sql, ...values) => (await client.query(sql, values)).rows;

  const [player] = await query(
    "SELECT rank, score FROM leaderboard.lb_player_key($1, 'richest')", account);
  console.log(`rank ${player.rank}, balance ${player.score}`);
  const [{ n }] = await query(
    "SELECT leaderboard.lb_count_between_key($1, NULL, 'richest') AS n", '12387.50');
  console.log(`${n} accounts have 12387.50 or more`);
  for (const { rank, member, score } of await query(
    "SELECT rank, member, score FROM leaderboard.lb_around_key($1, 'richest', 1)", account)) {
    console.log(`${rank}. ${hex(member)} with ${score}`);
  }
  const ranks = await query(
    "SELECT rank FROM leaderboard.lb_ranks_key($1, 'richest')", [account, nobody]);
  console.log(`of two: ${ranks.map(({ rank }) => rank ?? 'none').join(', ')}`);
  const [{ owner, rank }] = await query(
    'SELECT owner, rank FROM ranked_account WHERE account_id = $1', account);
  console.log(`plain SQL: ${owner} has rank ${rank}`);
  await client.end();
}

main();
