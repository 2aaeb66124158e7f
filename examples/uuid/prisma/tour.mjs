// Keys that are uuids, with Prisma: models say @db.Uuid, raw queries send text.
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '@prisma/client';

const account = 'a1d0c6e8-3f02-7327-d846-1063f4ac58a6';
const nobody = '00000000-0000-0000-0000-000000000000';
const hex = (uuid) => uuid.replaceAll('-', '');

// libpq's environment variables say where the database is.
const prisma = new PrismaClient({ adapter: new PrismaPg({}) });

const [player] = await prisma.$queryRaw`
  SELECT rank, score FROM leaderboard.lb_player_key(${account}, 'richest')`;
console.log(`rank ${player.rank}, balance ${player.score}`);
const [{ n }] = await prisma.$queryRaw`
  SELECT leaderboard.lb_count_between_key(${'12387.50'}, NULL, 'richest') AS n`;
console.log(`${n} accounts have 12387.50 or more`);
for (const { rank, member, score } of await prisma.$queryRaw`
  SELECT rank, member, score FROM leaderboard.lb_around_key(${account}, 'richest', 1)`) {
  console.log(`${rank}. ${hex(member)} with ${score}`);
}
const ranks = await prisma.$queryRaw`
  SELECT rank FROM leaderboard.lb_ranks_key(${[account, nobody]}, 'richest')`;
console.log(`of two: ${ranks.map(({ rank }) => rank ?? 'none').join(', ')}`);
const { owner, rank } = await prisma.rankedAccount.findUnique({ where: { id: account } });
console.log(`plain SQL: ${owner} has rank ${rank}`);
await prisma.$disconnect();
