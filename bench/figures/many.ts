import { join } from 'node:path';
import { deliver } from '../../src/actions/deliver.ts';
import { withContext } from '../../src/actions/context.ts';
import { outgoing } from '../../src/protocol/outgoing.ts';
import { against, together, type Figure, type Scale } from '../figure.ts';
import { inTurn, ran } from '../measure.ts';
import { World, type Machine } from '../world.ts';

const SENDERS = 100;
const BATCH = 1000;

/** Measures many messages at once. */
export async function many({ rounds }: Scale): Promise<Figure[]> {
  return [await senders(), await batch(Math.ceil(rounds / 3))];
}

async function senders(): Promise<Figure> {
  const world = await World.make();
  try {
    const host = await world.machine('front');
    await world.machine('quiet');
    const serving = await host.serve();
    const before = serving.events('push_done').length;
    const begun = performance.now();
    const sent = await Promise.all(
      Array.from({ length: SENDERS }, (_, n) =>
        host.run('send', '--to', 'quiet', '--from', 'me', `message ${String(n)}`),
      ),
    );
    const seconds = (performance.now() - begun) / 1000;
    const pushes = serving.events('push_done').length - before;
    const listed = await world.git(world.hub, 'ls-tree', '-r', '--name-only', 'main');
    const arrived = sent.filter(({ out }) => listed.includes(out.replace('Sent: ', '').trim()));
    await serving.stop();
    const lost = SENDERS - arrived.length;
    return {
      figure: `${String(SENDERS)} send processes at once`,
      value: `${String(pushes)} pushes, ${String(lost)} lost`,
      goal: '≤ 15 pushes, 0 lost',
      met: pushes <= 15 && lost === 0,
      note: `${seconds.toFixed(1)} s, nearly all of it starting ${String(SENDERS)} processes`,
    };
  } finally {
    await world.end();
  }
}

/** A thousand messages with a commit each, compared to a thousand files in one commit. */
async function batch(rounds: number): Promise<Figure> {
  const world = await World.make();
  try {
    const host = await world.machine('front');
    const channel = (await world.git(world.hub, 'ls-tree', '--name-only', 'main', 'data/channels/'))
      .split('\n')[0]
      ?.slice('data/channels/'.length);
    const raw = join(world.root, 'raw.git');
    await world.git(world.root, 'init', '--quiet', '--bare', raw);
    const clone = join(world.root, 'raw');
    await world.git(world.root, 'clone', '--quiet', raw, clone);
    let serial = 0;
    const spreads = await inTurn(rounds, {
      'fast-import': () =>
        ran('git', ['-C', clone, 'fast-import', '--quiet', '--force'], {
          cwd: clone,
          env: world.env,
          input: blobs(`round-${String(serial++)}`),
        }),
      push: () => world.git(clone, 'push', '--quiet', 'origin', 'main'),
      library: () => handOver(host, channel ?? ''),
    });
    const floor = together(
      `fast-import of ${String(BATCH)} files + push`,
      spreads['fast-import'],
      spreads.push,
    );
    return against(`${String(BATCH)} messages to the library`, floor, spreads.library, 2);
  } finally {
    await world.end();
  }
}

function blobs(folder: string): string {
  const files = Array.from({ length: BATCH }, (_, n) => {
    const text = `message ${String(n)} of ${folder}, ${'x'.repeat(200)}`;
    return `M 100644 inline ${folder}/${String(n)}\ndata ${String(text.length)}\n${text}\n`;
  });
  return `commit refs/heads/main\ncommitter b <b@b> 1700000000 +0000\ndata 0\n${folder === 'round-0' ? '' : 'from refs/heads/main^0\n'}${files.join('')}`;
}

function handOver(host: Machine, channel: string): Promise<void> {
  const surroundings = { env: host.env, cwd: host.dir };
  return withContext(
    surroundings,
    { transport: host.dir, note: () => undefined },
    async (context) => {
      const commits = Array.from({ length: BATCH }, (_, n) => {
        const message = {
          from: 'me',
          to: [{ name: 'quiet' }],
          type: 'text',
          timestamp: context.now().toISOString(),
          re: [],
          cause: [],
          extra: {},
          body: `message ${String(n)}, ${'x'.repeat(200)}\n`,
        };
        return outgoing(message, channel, 'bench', context.suffix()).commit;
      });
      const delivered = await deliver(context, commits, { wait: true });
      if (!delivered.published) throw new Error(delivered.reason);
    },
  );
}
