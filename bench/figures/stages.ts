import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Figure, Scale } from '../figure.ts';
import { ran, spread, timed } from '../measure.ts';
import { BIN, World, type Machine } from '../world.ts';

/**
 * Loaded before the program: notes at which millisecond since the start of the process something happens.
 * Each mark has a name, and the last of a name counts, except for the first start of a git process.
 */
const MARKS = `
const marks = { 'node runs our first line': performance.now() };
const mark = (name) => { marks[name] = performance.now(); };
const vm = require('node:vm');
const { Script } = vm;
let compiled = 0;
vm.Script = class extends Script {
  constructor(...given) {
    const begun = performance.now();
    super(...given);
    compiled += performance.now() - begun;
  }
};
const processes = require('node:child_process');
const { spawn } = processes;
processes.spawn = function (program, words) {
  marks['first git process'] ??= performance.now();
  const name = ['push', 'read-tree'].find((one) => words.includes(one));
  const child = spawn.apply(this, arguments);
  if (name !== undefined) {
    mark(name);
    child.on('exit', () => mark(name + ' ended'));
  }
  return child;
};
const net = require('node:net');
const { createConnection } = net;
net.createConnection = function (...given) {
  const socket = createConnection.apply(this, given);
  const { write } = socket;
  socket.write = function (...bytes) { mark('asked'); return write.apply(this, bytes); };
  socket.on('data', () => mark('answered'));
  return socket;
};
const { write } = process.stdout;
process.stdout.write = function (...given) { mark('printed'); return write.apply(this, given); };
const files = require('node:fs');
const { writeSync } = files;
files.writeSync = function (fd) { if (fd === 1) mark('printed'); return writeSync.apply(this, arguments); };
process.on('exit', () => {
  mark('exit');
  require('node:fs').writeFileSync(process.env.MARKS, JSON.stringify({ ...marks, compiled }));
});
`;

/** The stages of a command, each from the mark of the one before to its own. */
const ALONE = [
  ['the program is loaded, and has found no dispatcher', 'first git process'],
  ['the message is made and recorded, the commit built', 'push'],
  ['git push', 'push ended'],
  ['what was pushed is noted, and Sent: printed', 'printed'],
  ['the move of the checkout begins', 'read-tree'],
  ['git read-tree', 'read-tree ended'],
  ['what is left', 'exit'],
] as const;
const SERVED = [
  ['the program is loaded, and the dispatcher asked', 'asked'],
  ['the dispatcher makes the message and pushes it', 'answered'],
  ['Sent: is printed', 'printed'],
  ['what is left', 'exit'],
] as const;
const START = 'node runs our first line';

/** Where the time of a `send` goes: the median of each stage. The marks themselves take some milliseconds. */
export async function stages({ rounds }: Scale): Promise<Figure[]> {
  const [lonely, served] = [await World.make(), await World.make()];
  try {
    const sender = await lonely.machine('idle');
    const host = await served.machine('served', 'true');
    await served.machine('quiet');
    const serving = await host.serve();
    const alone = await marksOf(rounds, sender, 'idle');
    const handed = await marksOf(rounds, host, 'quiet');
    await serving.stop();
    return [
      ...rows('send, no dispatcher', ALONE, alone),
      ...rows('send, dispatcher running', SERVED, handed),
    ];
  } finally {
    for (const world of [lonely, served]) await world.end();
  }
}

type Marks = Record<string, number>;

/** Sends messages, and returns the marks of each, with `all`: the milliseconds from start to end. */
async function marksOf(rounds: number, { dir, env, world }: Machine, to: string): Promise<Marks[]> {
  const [preload, file] = [join(world.root, 'marks.cjs'), join(world.root, 'marks.json')];
  writeFileSync(preload, MARKS);
  const marks: Marks[] = [];
  for (let round = 0; round <= rounds; round++) {
    const argv = ['--require', preload, BIN, 'send', '--to', to, '--from', 'me', 'hello'];
    const all = await timed(() =>
      ran(process.execPath, argv, {
        cwd: dir,
        env: { ...env, CROSSTALK_TRANSPORT: dir, MARKS: file },
      }),
    );
    if (round > 0) marks.push({ ...(JSON.parse(readFileSync(file, 'utf8')) as Marks), all });
  }
  return marks;
}

function rows(
  command: string,
  list: readonly (readonly [what: string, mark: string])[],
  marks: readonly Marks[],
): Figure[] {
  const row = (what: string, ms: (one: Marks) => number): Figure => ({
    figure: `${command}: ${what}`,
    measured: spread(marks.map(ms)),
    goal: 'for comparison',
    met: true,
  });
  const between = (from: string, to: string) => (one: Marks) =>
    (one[to] ?? Number.NaN) - (one[from] ?? Number.NaN);
  return [
    row('node starts', (one) => one[START] ?? Number.NaN),
    ...list.map(([what, mark], at) => row(what, between(list[at - 1]?.[1] ?? START, mark))),
    row('the process ends', (one) => (one['all'] ?? Number.NaN) - (one['exit'] ?? Number.NaN)),
    row('of all of it, compiling our code', (one) => one['compiled'] ?? Number.NaN),
    row('all of it', (one) => one['all'] ?? Number.NaN),
  ];
}
