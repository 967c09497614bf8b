import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { directPublisher, withContext } from '../../src/actions/context.ts';
import { outgoing } from '../../src/protocol/outgoing.ts';
import type { Figure, Scale } from '../figure.ts';
import { World } from '../world.ts';

/** The number of messages in a push at a busy moment; every other push is a single message. */
const BUSY = 60;

/**
 * The number of loose objects that very many sends leave, with the maintenance that belongs to
 * them.
 */
export async function objects({ sends }: Scale): Promise<Figure[]> {
  const world = await World.make();
  try {
    const host = await world.machine('front');
    const channel = (
      await world.git(world.hub, 'ls-tree', '--name-only', 'main', 'data/channels/')
    ).slice('data/channels/'.length);
    let most = 0;
    const loose = async (): Promise<number> => {
      const counted = await world.git(host.dir, 'count-objects', '-v');
      return Number(/^count: (\d+)/m.exec(counted)?.[1]);
    };
    await withContext(
      { env: host.env, cwd: host.dir },
      { transport: host.dir, note: () => undefined },
      async (context) => {
        const publisher = directPublisher(context);
        for (let sent = 0, round = 0; sent < sends; round++) {
          const size = round % 2 === 0 ? 1 : BUSY;
          const commits = Array.from({ length: size }, (_, n) => {
            const message = {
              from: 'me',
              to: [{ name: 'nobody' }],
              type: 'text',
              timestamp: context.now().toISOString(),
              re: [],
              cause: [],
              extra: {},
              body: `message ${String(sent + n)}\n`,
            };
            return outgoing(message, channel, 'front', context.suffix()).commit;
          });
          const id = context.newId();
          await context.outbox.put({ id, commits });
          const outcome = await publisher.publish(id);
          if (!outcome.published) throw new Error(outcome.failure.reason);
          sent += size;
          await context.transport.maintain();
          if (round % 50 === 0) most = Math.max(most, await loose());
        }
      },
    );
    const left = await loose();
    const packs = readdirSync(join(host.dir, '.git/objects/pack')).filter((name) =>
      name.endsWith('.pack'),
    ).length;
    return [
      {
        figure: `loose objects after ${sends.toLocaleString('en')} sends`,
        value: String(left),
        goal: '< 10,000',
        met: Math.max(left, most) < 10_000,
        note: `at most ${String(most)} on the way, ${String(packs)} packs in the end`,
      },
    ];
  } finally {
    await world.end();
  }
}
