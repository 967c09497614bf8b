import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { against, together, type Figure, type Scale } from '../figure.ts';
import { inTurn, ran } from '../measure.ts';
import { World } from '../world.ts';

/** Milliseconds that an answer may take from the remote to stdout. */
const ASKING_MS = 15;
const ACTOR = 'cat > /dev/null; echo done';

/**
 * The time from the start of `send` until the reply is on the remote, through a running dispatcher, and
 * from the start of `ask` until it has printed its answer.
 */
export async function roundtrip({ rounds }: Scale): Promise<Figure[]> {
  const [byHand, world] = [await World.make(), await World.make()];
  try {
    const host = await world.machine('worker', ACTOR);
    const serving = await host.serve('--interval', '3600');
    await byHand.machine('other');
    const clone = join(byHand.root, 'clone');
    await byHand.git(byHand.root, 'clone', '--quiet', byHand.hub, clone);
    let serial = 0;
    const commitAndPush = async (): Promise<void> => {
      writeFileSync(join(clone, `file-${String(serial++)}`), 'x\n');
      await ran('sh', ['-c', 'git add . && git commit -qm x && git push -q'], {
        cwd: clone,
        env: byHand.env,
      });
    };
    const spreads = await inTurn(rounds, {
      'node -e 0': () => ran(process.execPath, ['-e', '0'], { cwd: clone, env: byHand.env }),
      'two commits and the actor': async () => {
        await commitAndPush();
        await ran('sh', ['-c', ACTOR], { cwd: clone, env: byHand.env });
        await commitAndPush();
      },
      'send to reply': async () => {
        const before = await count(world);
        const sent = host.run('send', '--to', 'worker', '--from', 'me', 'hello');
        while (!(await arrived(world, before + 2))) await sleep(1);
        await sent;
      },
      ask: () => host.run('ask', 'worker', '--from', 'me', 'hello'),
    });
    await serving.stop();
    const floor = together(
      'node -e 0 + two commits pushed by sh + the actor',
      spreads['node -e 0'],
      spreads['two commits and the actor'],
    );
    const sending = spreads['send to reply'];
    const most = {
      ...sending,
      what: `send → reply on the remote + ${String(ASKING_MS)} ms`,
      median: sending.median + ASKING_MS,
    };
    return [
      against('send → reply on the remote', floor, sending, 1.4),
      against('ask → answer printed', most, spreads.ask, 1),
    ];
  } finally {
    for (const one of [byHand, world]) await one.end();
  }
}

let known = '';

async function count(world: World): Promise<number> {
  known = tipOf(world);
  return Number(await world.git(world.hub, 'rev-list', '--count', 'main'));
}

/** Asks git only if the branch has moved. */
async function arrived(world: World, wanted: number): Promise<boolean> {
  const tip = tipOf(world);
  if (tip === known) return false;
  known = tip;
  return Number(await world.git(world.hub, 'rev-list', '--count', 'main')) >= wanted;
}

function tipOf(world: World): string {
  return readFileSync(join(world.hub, 'refs/heads/main'), 'utf8');
}
