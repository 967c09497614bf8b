// @module-tag long
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { formatMessage } from '../../src/protocol/message.ts';
import { messageFile, relPathAt } from '../../src/protocol/layout.ts';
import { Bus, type Event, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';

const MESSAGES = 20_000;

/** Fills the bus with answered conversations, a thousand to a commit, without leaving anything to do. */
function fill(host: Host): void {
  const stream: string[] = [];
  const channel = host.channel();
  const data = (text: string): string => `data ${String(Buffer.byteLength(text))}\n${text}\n`;
  const tip = git(host.bus.hub, 'rev-parse', 'main').trim();
  for (let n = 0; n < MESSAGES; n++) {
    if (n % 1000 === 0) {
      const parent = n === 0 ? tip : `:${String(n / 1000)}`;
      stream.push(
        `commit refs/heads/main\nmark :${String(n / 1000 + 1)}\ncommitter x <x@x> 1700000000 +0000\n${data('fill')}from ${parent}\n`,
      );
    }
    const at = new Date(1_700_000_000_000 + n * 60_000);
    const content = formatMessage({
      from: 'somebody',
      to: [{ name: 'nobody' }],
      type: 'text',
      timestamp: at.toISOString(),
      re: [],
      cause: [],
      extra: {},
      body: `message ${String(n)}\n`,
    });
    const path = messageFile(channel, relPathAt(at, n.toString(16).padStart(8, '0')));
    stream.push(`M 100644 inline ${path}\n${data(content)}`);
  }
  execFileSync('git', ['-C', host.bus.hub, 'fast-import', '--quiet', '--force'], {
    input: stream.join(''),
  });
}

interface Cost {
  git_processes: unknown;
  objects_read: unknown;
}

const price = ({ git_processes, objects_read }: Event): Cost => ({ git_processes, objects_read });

/** What a whole pass costs from start to stop: git processes started, objects read. */
async function pass(host: Host): Promise<Cost> {
  const log = await host.once();
  return price(log.find(({ event }) => event === 'dispatcher_stopped')!);
}

/** What an idle tick of a running dispatcher costs. */
async function idleTick(host: Host): Promise<Cost> {
  const running = host.start();
  const ticks = (): Event[] => running.events.filter(({ event }) => event === 'tick');
  // By then the checkout was looked at, which takes processes of its own a moment after the first tick.
  await running.saw('tick', (tick) => ticks().indexOf(tick) > 5);
  await running.stop();
  return price(ticks()[6]!);
}

async function cost(host: Host): Promise<Record<string, Cost>> {
  const other = await host.bus.host(`${host.alias}-other`, { other: 'true' });
  await host.once();
  const idle = await pass(host);
  await other.send('worker', 'one new message');
  return { idle, withOne: await pass(host), tick: await idleTick(host) };
}

it('an idle tick and a tick with one new message cost the same at 20,000 messages as at none', async () => {
  const small = await new Bus().host('small', { worker: 'echo done' });
  const large = await new Bus().host('large', { worker: 'echo done' });
  await large.once('--from-now');
  fill(large);
  await large.run('sync');

  const atNone = await cost(small);
  const atMany = await cost(large);

  expect(atMany).toEqual(atNone);
  expect(atNone['tick']).toMatchObject({ git_processes: 1 });
});
