import { statSync } from 'node:fs';
import { join } from 'node:path';
import { searchIndex } from '../../src/index/search.ts';
import type { Index } from '../../src/index/index.ts';
import { withContext } from '../../src/actions/context.ts';
import { withIndex } from '../../src/actions/index/indexing.ts';
import { parseFields, parsePlainHeader } from '../../src/protocol/text/frontmatter.ts';
import { against, type Figure, type Scale } from '../figure.ts';
import { inTurn, ran, spread, timed } from '../measure.ts';
import { Texts } from '../texts.ts';
import { BIN, World, type Machine } from '../world.ts';

const WORDS = 70;
const QUERIES = 300;
const NEW = 1000;

/** The cost of searching as the transport grows. */
export async function searches({ sizes, rounds }: Scale): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const messages of sizes) figures.push(...(await measure(messages, rounds)));
  figures.push(await followed(rounds, true), await followed(rounds, false));
  return figures;
}

/**
 * The time from the moment at which a message of this machine is on the remote (the `Sent:` of its
 * command) until `log --follow` has printed it; negative if it is printed before.
 */
async function followed(rounds: number, dispatching: boolean): Promise<Figure> {
  const world = await World.make();
  try {
    const host = await world.machine('front');
    if (dispatching) await host.serve();
    const log = host.start('log', '--follow', '--json');
    const samples: number[] = [];
    for (let n = 0; n <= rounds; n++) {
      const words = `message ${String(n)} of the log`;
      const printed = log.printed(words);
      const send = host.start('send', '--to', 'nobody', '--from', 'me', words);
      const sent = await send.printed('Sent: ');
      const ms = (await printed) - sent;
      // The first one also waits for the log to start.
      if (n > 0) samples.push(ms);
      await send.ended;
    }
    const measured = spread(samples);
    return {
      figure: `log -f after Sent:, ${dispatching ? 'dispatcher running' : 'no dispatcher'}`,
      measured,
      goal: '< 100 ms',
      met: measured.p95 < 100,
    };
  } finally {
    await world.end();
  }
}

async function measure(messages: number, rounds: number): Promise<Figure[]> {
  const world = await World.make();
  try {
    const host = await world.machine('front');
    const texts = new Texts(1);
    const bytes = await world.fill(messages, { body: () => texts.body(WORDS) });
    await refreshed(host);
    const many = messages.toLocaleString('en');
    const build = await timed(() => inIndex(host, () => undefined));
    const rate = (messages / build) * 1000;
    const files = ['index.db', 'index.db-wal'].map((name) => join(host.state, name));
    const size = files.reduce((sum, file) => sum + sizeOf(file), 0) / bytes;
    const query = await queries(host);
    await world.append(NEW);
    await refreshed(host);
    const added = (await timed(() => inIndex(host, () => undefined))) / NEW;
    return [
      {
        figure: `search in the process, ${many} messages`,
        measured: query,
        goal: messages > 100_000 ? 'p99 ≤ 200 ms' : 'p99 ≤ 50 ms',
        met: query.p99 <= (messages > 100_000 ? 200 : 50),
        note: `p99 ${query.p99.toFixed(1)} ms`,
      },
      {
        figure: `building the index of ${many}`,
        value: `${rate.toFixed(0)} messages/s`,
        goal: '≥ 20,000/s',
        met: rate >= 20_000,
      },
      headersOf(messages, build),
      {
        figure: `index of ${many}`,
        value: `${size.toFixed(2)}×`,
        goal: '≤ 1.5× the message bytes',
        met: size <= 1.5,
        note: `${(bytes / messages).toFixed(0)} bytes a message`,
      },
      {
        figure: `indexing a new message at ${many}`,
        value: `${added.toFixed(2)} ms`,
        goal: '≤ 1 ms',
        met: added <= 1,
      },
      ...(await commands(host, rounds, many)),
    ];
  } finally {
    await world.end();
  }
}

/**
 * The headers of so many messages, read as plain words and by YAML alone. An index would take longer by the
 * difference, and the reader of plain words stays while that is more than half of it (docs/decisions/02-headers-and-sizes.md).
 *
 * @param build milliseconds that the index took
 */
function headersOf(messages: number, build: number): Figure {
  const took = (read: (header: string) => unknown): number => {
    const begun = performance.now();
    for (let n = 0; n < messages; n++)
      read(
        `from: writer${String(n % 7)}\nto: nobody\ntype: text\ntimestamp: 2024-01-01T00:00:00.000Z\n`,
      );
    return performance.now() - begun;
  };
  const [plain, yaml] = [took(parsePlainHeader), took(parseFields)];
  const ratio = (build + yaml - plain) / build;
  return {
    figure: `headers of ${messages.toLocaleString('en')}, as plain words`,
    value: `${plain.toFixed(0)} ms`,
    goal: 'the index > 1.5× without',
    met: ratio > 1.5,
    note: `${yaml.toFixed(0)} ms by YAML alone: the index ${ratio.toFixed(2)}×`,
  };
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Queries of one to three words of any frequency, some of them beginnings or phrases. */
async function queries(host: Machine): Promise<ReturnType<typeof spread> & { p99: number }> {
  const texts = new Texts(2);
  const term = (): string => texts.word(texts.rank());
  const kinds = [
    term,
    () => `${term()} ${term()}`,
    () => `${term()} ${term()} ${term()}`,
    () => `${term().slice(0, 4)}*`,
    () => `"${term()} ${term()}"`,
  ];
  const samples: number[] = [];
  await inIndex(host, (index) => {
    for (let n = 0; n < QUERIES; n++) {
      const words = kinds[n % kinds.length]?.() ?? '';
      const begun = performance.now();
      searchIndex(index.database, { words, limit: 20 });
      samples.push(performance.now() - begun);
    }
  });
  const sorted = [...samples].sort((a, b) => a - b);
  return { ...spread(samples), p99: sorted[Math.floor(0.99 * sorted.length)] ?? Number.NaN };
}

async function commands(host: Machine, rounds: number, many: string): Promise<Figure[]> {
  await host.run('sync');
  const sent = await host.run('send', '--to', 'nobody', '--from', 'me', 'a question');
  const relPath = sent.out.replace('Sent: ', '').trim();
  const env = { ...host.env, CROSSTALK_TRANSPORT: host.dir };
  const node = (...args: string[]): Promise<unknown> =>
    ran(process.execPath, args, { cwd: host.dir, env });
  const spreads = await inTurn(rounds, {
    floor: () => node('-e', '0'),
    replies: () => node(BIN, 'replies', relPath),
    thread: () => node(BIN, 'thread', relPath),
  });
  const floor = {
    ...spreads.floor,
    median: spreads.floor.median * 1.5 + 30,
    what: '1.5 × node -e 0 + 30 ms',
  };
  return (['replies', 'thread'] as const).map((name) =>
    against(`${name}, ${many} messages`, floor, spreads[name], 1),
  );
}

/** Fetches what was put on the bus, and nothing more. */
function refreshed(host: Machine): Promise<unknown> {
  return withContext(
    { env: host.env, cwd: host.dir },
    { transport: host.dir, note: () => undefined },
    (context) => context.transport.refresh(),
  );
}

function inIndex(host: Machine, use: (index: Index) => void): Promise<void> {
  return withContext(
    { env: host.env, cwd: host.dir },
    { transport: host.dir, note: () => undefined },
    (context) => withIndex(context, {}, use),
  );
}
