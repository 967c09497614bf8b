import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { Bus, type Host } from '../support/bus.ts';
import { Persuaded, type Given } from '../support/run-commands.ts';

const backend = await findBackend(process.env);
const UNLESS = backend.ok ? '' : ` (skipped: ${backend.problem})`;
const can = it.skipIf(!backend.ok);

/** What runs are asked to do with the bus; each needs nothing but the transport. */
const REQUESTS = [
  ...['send', 'reply', 'channel', 'channel create', '__permission'],
  ...['memory add', 'memory forget', 'memory alias', 'memory restore'],
];

const BROKEN = 'cat > /dev/null; exit 1';

/** The machines and what is on their bus: a message with a file, a note, a dead letter. */
async function world(): Promise<{ bus: Bus; host: Host; first: string; note: string }> {
  const bus = new Bus();
  const host = await bus.host('front', { broken: BROKEN });
  writeFileSync(join(bus.root, 'report.txt'), 'the bytes of the report\n');
  const first = await host.send('anna', 'words to find', '--attach', join(bus.root, 'report.txt'));
  const added = await host.run('memory', 'add', '--subject', 'Tuesdays', '--json', 'releases');
  const { file } = JSON.parse(added.out) as { file: string };
  return { bus, host, first, note: file };
}

/** The results of some commands in a run in a sandbox. */
async function inSandbox(
  { bus, host }: { bus: Bus; host: Host },
  commands: readonly string[],
): Promise<Given[]> {
  const cli = new Persuaded(bus, ...commands);
  const sandbox = { net: ['none'], write: [cli.folder] };
  host.declare({ dev: { default: { cli: cli.cli, sandbox } }, broken: BROKEN });
  await host.approve();
  await host.send('dev', 'go on');
  const log = await host.once();
  expect(log.filter(({ event }) => /failed|error/.test(event))).toEqual([]);
  return cli.given;
}

/** The same in a run that has none. */
async function outsideOfOne(
  { bus, host }: { bus: Bus; host: Host },
  commands: readonly string[],
): Promise<Given[]> {
  const cli = new Persuaded(bus, ...commands);
  host.declare({ dev: cli.cli, broken: BROKEN });
  await host.approve();
  await host.send('dev', 'go on');
  await host.once();
  return cli.given;
}

can(
  `what a run may read it reads in a sandbox too, with the same result${UNLESS}`,
  { tags: 'long' },
  async () => {
    const { bus, host, first, note } = await world();
    const commands: Record<string, string[]> = {
      replies: [`replies --json --re ${first}`],
      log: ['log general --limit 2 --json --to anna', 'log nowhere'],
      read: [`read ${first}`, `read --raw ${first}`, `read ${first} --raw --json`],
      status: [`status --json | grep -c '"alias"'`, 'status --host nowhere | head -n 1'],
      explain: [`explain ${first} broken`],
      dlq: ['dlq --list --json', 'dlq --retry all'],
      'channel list': ['channel list --for anna'],
      'actor list': ['actor list'],
      'actor show': ['actor show concierge'],
      'memory list': ['memory list --all'],
      'memory search': ['memory search tuesdays', 'memory search -- --transport /etc'],
      'memory log': ['memory log', `memory log ${note} --json --limit 3`],
      'memory show': [`memory show ${note}`, 'memory show ../../../etc/passwd'],
      'skill list': ['skill list'],
      'skill show': ['skill show review', 'skill show ../../etc/passwd'],
      guide: ['guide', 'guide files', 'guide ../../README', 'guide --json'],
      thread: [`thread ${first} --json`],
      search: ['search "words to" find*', `search --limit 1 --channel general -- words`],
    };
    // A command that a run may use must be tried here.
    const may = COMMANDS.filter(({ inRun, name }) => inRun && !REQUESTS.includes(name));
    expect(Object.keys(commands)).toEqual(expect.arrayContaining(may.map(({ name }) => name)));
    const lines = Object.values(commands)
      .flat()
      .map((line) => `crosstalk ${line}`);
    const outside = await outsideOfOne({ bus, host }, lines);
    const inside = await inSandbox({ bus, host }, lines);
    // The question to the other one, and its answer, came between.
    const moving = /^crosstalk (channel list|dlq|actor list|search)/;
    for (const [at, line] of lines.entries()) {
      const [boxed, free] = [inside[at], outside[at]];
      if (boxed === undefined || free === undefined) throw new Error(line);
      expect({ line, ...boxed }).toMatchObject({ code: free.code, err: free.err });
      if (!moving.test(line)) expect({ line, ...boxed }).toEqual({ line, ...free });
      else expect(boxed.out === '', line).toBe(free.out === '');
    }
    const out = (line: string): string => inside[lines.indexOf(`crosstalk ${line}`)]?.out ?? '';
    expect(out('search "words to" find*')).toContain('words to find');
    expect(out(`read ${first}`)).toContain('words to find');
    expect(out('memory search tuesdays')).toContain('Tuesdays');
  },
);

can(`a run in a sandbox takes the files of a message itself${UNLESS}`, async () => {
  const { bus, host, first } = await world();
  // HOME is in memory there.
  const outside = '/usr/local';
  const inside = await inSandbox({ bus, host }, [
    `crosstalk read ${first} --files got && cat got/report.txt`,
    `crosstalk read ${first} --files ${outside}`,
    `crosstalk read ${first} --files got --json`,
    'ls "$CROSSTALK_RUN_DIR/drop"',
    `echo other > got/report.txt; crosstalk read ${first} --files got`,
    'crosstalk read ffffffff --files got',
  ]);
  expect(inside[0]).toMatchObject({ code: 0, err: '' });
  expect(inside[0]?.out).toContain('the bytes of the report');
  expect(inside[1]?.code).toBe(2);
  expect(inside[1]?.err).toContain('is not for a run: it lies elsewhere');
  expect(existsSync(join(outside, 'report.txt'))).toBe(false);
  expect(JSON.parse(inside[2]?.out ?? '')).toMatchObject([{ name: 'report.txt', problem: null }]);
  expect(inside[3]?.out).toBe('');
  expect(inside[4]).toMatchObject({ code: 1 });
  expect(inside[4]?.err).toContain('is another file');
  expect(inside[5]?.code).toBe(1);
  expect(inside[5]?.err).toContain('ffffffff');
});
