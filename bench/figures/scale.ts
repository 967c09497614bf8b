import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Figure, Scale } from '../figure.ts';
import { ran, spread, timed, type Spread } from '../measure.ts';
import { World } from '../world.ts';

const PUSHES = 5;
const CLONES = 3;
/** Above this number of messages, where a clone takes minutes, only one is made. */
const LARGE = 500_000;

/**
 * The cost of a transport with one commit per message as it grows: bytes, clones and pushes, with
 * git alone.
 */
export async function scale({ sizes }: Scale): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const messages of sizes) figures.push(...(await measure(messages)));
  return figures;
}

async function measure(messages: number): Promise<Figure[]> {
  const world = await World.make();
  try {
    await world.machine('first');
    await world.fill(messages, { perCommit: 1 });
    const fresh = bytesOf(join(world.hub, 'objects'));
    await world.git(world.hub, 'repack', '-a', '-d', '-f', '-q');
    const packed = bytesOf(join(world.hub, 'objects'));
    const rounds = messages > LARGE ? 1 : CLONES;
    await world.git(world.hub, 'config', 'uploadpack.allowFilter', 'true');
    const full = await clones(world, rounds, []);
    const headers = await clones(world, rounds, ['--filter=blob:none']);
    const pushed = await pushes(world);
    const many = messages.toLocaleString('en');
    const info = { goal: 'for comparison', met: true };
    return [
      {
        ...info,
        figure: `size at ${many} messages`,
        value: `${megabytes(packed)} MB`,
        note: `${(packed / messages).toFixed(0)} bytes a message when packed; ${megabytes(fresh)} MB before`,
      },
      {
        ...info,
        figure: `clone --no-checkout of ${many} messages`,
        measured: full.times,
        note: `${megabytes(full.bytes)} MB`,
      },
      {
        ...info,
        figure: `clone --no-checkout --filter=blob:none of ${many} messages`,
        measured: headers.times,
        note: `${megabytes(headers.bytes)} MB`,
      },
      {
        ...info,
        figure: `push of one message at ${many} messages`,
        measured: pushed,
        note: 'commits on the tip in a bare clone',
      },
    ];
  } finally {
    await world.end();
  }
}

/** A clone over the file protocol, for which git makes a pack as a server does. */
async function clones(
  world: World,
  rounds: number,
  filter: readonly string[],
): Promise<{ times: Spread; bytes: number }> {
  const dir = join(world.root, 'clone');
  const times: number[] = [];
  let bytes = 0;
  for (let n = 0; n < rounds; n++) {
    rmSync(dir, { recursive: true, force: true });
    const url = pathToFileURL(world.hub).href;
    times.push(
      await timed(() =>
        world.git(world.root, 'clone', '--quiet', '--no-checkout', ...filter, url, dir),
      ),
    );
    bytes = bytesOf(join(dir, '.git/objects'));
  }
  rmSync(dir, { recursive: true, force: true });
  return { times: spread(times), bytes };
}

/** Pushes of one small file in its own folder, like those of a message. */
async function pushes(world: World): Promise<Spread> {
  const clone = join(world.root, 'push');
  await world.git(world.root, 'clone', '--quiet', '--bare', world.hub, clone);
  const times: number[] = [];
  for (let n = 0; n <= PUSHES; n++) {
    writeFileSync(join(world.root, 'part'), part(n));
    await ran('sh', ['-c', `git -C ${clone} fast-import --quiet --force < part`], {
      cwd: world.root,
      env: world.env,
    });
    const ms = await timed(() => world.git(clone, 'push', '--quiet', 'origin', 'main'));
    if (n > 0) times.push(ms);
  }
  return spread(times);
}

function part(n: number): string {
  const text = `message ${String(n)}\n`;
  return `commit refs/heads/main\ncommitter b <b@b> 1800000000 +0000\ndata 0\nfrom refs/heads/main^0\nM 100644 inline data/channels/pushed/2030/01/01/${String(n)}.md\ndata ${String(text.length)}\n${text}\n`;
}

function bytesOf(dir: string): number {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(dir, name)))
    .reduce((sum, entry) => sum + (entry.isFile() ? entry.size : 0), 0);
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
