import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Commit } from '../../src/protocol/outgoing.ts';
import { Screen } from '../../src/secrets/screen.ts';
import { drawn, SECRETS } from '../../test/support/secrets.ts';
import type { Figure, Scale } from '../figure.ts';
import { spread, timed, type Spread } from '../measure.ts';

const LIMIT_MS = 5;
const RULES = fileURLToPath(new URL('../../dist/rule-packages.cjs', import.meta.url));
const PROSE = 'Please look at https://example.org/a?b=c, commit 3f2a9c1, and tell me what broke.\n';

/** What the search for secrets costs a message, compared to one pass over its bytes. */
export async function secrets({ rounds }: Scale): Promise<Figure[]> {
  // Every round has another text, as what was found is remembered by content.
  const ordinary = (size: number, round: number): string =>
    `${String(round)} ${PROSE.repeat(Math.ceil(size / PROSE.length))}`;
  const near = (size: number, round: number): string =>
    `${ordinary(size, round)}SG.x and ${SECRETS['GitHub token']?.(round) ?? ''}${drawn(3, round)}\n`;
  const cases: readonly (readonly [figure: string, text: (round: number) => string])[] = [
    ['a message of 2 KiB', (round) => ordinary(2 << 10, round)],
    ['a message of 100 KiB', (round) => ordinary(100 << 10, round)],
    ['a message of 2 KiB that the rules are asked about', (round) => near(2 << 10, round)],
    ['a message of 100 KiB that the rules are asked about', (round) => near(100 << 10, round)],
  ];
  const figures: Figure[] = [];
  for (const [figure, text] of cases) {
    const screen = newScreen();
    await screen.look(entryOf(near(100, -1)));
    const [floor, measured]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      const one = text(round);
      floor.push(await timed(() => createHash('sha256').update(one).digest('hex')));
      measured.push(await timed(() => screen.look(entryOf(one))));
    }
    figures.push(within(`search for secrets, ${figure}`, spread(floor), spread(measured)));
  }
  const file = Buffer.from(ordinary(10 << 20, 0));
  const [hash, look]: [number[], number[]] = [[], []];
  for (let round = 0; round < Math.min(rounds, 8); round++) {
    const screen = newScreen(() => Promise.resolve(file));
    hash.push(await timed(() => createHash('sha256').update(file).digest('hex')));
    look.push(await timed(() => screen.look(entryOf('see the file', { hasFile: true }))));
  }
  const whole = against10(spread(hash), spread(look));
  return [...figures, whole, loading(rounds)];
}

function against10(floor: Spread, measured: Spread): Figure {
  return {
    figure: 'search for secrets, an attached file of 10 MiB',
    floor: { what: 'its SHA-256', ...floor },
    ...{ measured, ratio: measured.median / floor.median, goal: 'for comparison', met: true },
  };
}

function within(figure: string, floor: Spread, measured: Spread): Figure {
  return {
    figure,
    floor: { what: 'its SHA-256', ...floor },
    measured,
    ratio: measured.median / floor.median,
    goal: `≤ ${String(LIMIT_MS)} ms`,
    met: measured.median <= LIMIT_MS,
  };
}

/** The bundle of the rules, which a process loads once, and only for what it has to ask them. */
function loading(rounds: number): Figure {
  const load = createRequire(import.meta.url);
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    Reflect.deleteProperty(load.cache, RULES);
    const from = performance.now();
    load(RULES);
    times.push(performance.now() - from);
  }
  return {
    figure: 'the rules, loaded',
    ...{ measured: spread(times), goal: 'for comparison', met: true },
  };
}

function newScreen(
  bytesOf = (): Promise<Buffer | undefined> => Promise.resolve(undefined),
): Screen {
  return new Screen({ bytesOf, mode: () => Promise.resolve('on') });
}

function entryOf(content: string, { hasFile = false } = {}): { commits: Commit[] } {
  const sha256 = '0'.repeat(64);
  const blob = { path: `data/files/00/${sha256}`, sha256, bytes: 1, kept: 'x' };
  const commit: Commit = {
    author: { name: 'anna', email: 'anna@laptop.crosstalk.local' },
    at: '2026-06-09T10:11:12.131Z',
    subject: 'crosstalk: message from anna',
    files: [{ path: 'data/channels/x/y.md', content }],
  };
  return { commits: [hasFile ? { ...commit, blobs: [blob] } : commit] };
}
