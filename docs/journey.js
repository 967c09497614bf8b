// Counts the files of ours through which one real message passes, from coverage of the built program, so that the
// numbers cannot be believed without being seen:
//   node docs/journey.js            prints the counts
//   node docs/journey.js --files    prints the files, too
// A file counts if one of its functions was called. Protocol is left out. What a dispatcher does with a message is
// what it calls meanwhile and does not call while it is idle; an answer is pushed as any message, so that the files of
// the push are not counted again.
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import Module, { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const PROGRAM = join(ROOT, 'bin', 'crosstalk.js');
/** The loader puts it before each part. */
const [WRAPPER] = Module.wrapper;
const scratch = mkdtempSync(join(tmpdir(), 'journey-'));
const [hub, here, there] = ['hub.git', 'here', 'there'].map((name) => join(scratch, name));
/** Writes the coverage since the last signal, of the process that loads it first. */
const TAKE = `const { takeCoverage } = require('node:v8'); process.on('SIGUSR2', () => takeCoverage());`;

/** The parts of the program: their text, as V8 counts in it, and of which source a place in it is. */
const parts = new Map();
function partOf(url) {
  const name = basename(url);
  const map = join(ROOT, 'dist', `${name}.map`);
  if (!existsSync(map)) return undefined;
  if (!parts.has(name)) {
    const lines = readFileSync(join(ROOT, 'dist', name), 'latin1').split('\n');
    parts.set(name, { lines, map: new SourceMap(JSON.parse(readFileSync(map, 'utf8'))) });
  }
  return parts.get(name);
}

/** Returns the source of the function that begins at an offset. */
function sourceAt({ lines, map }, offset) {
  let column = offset - WRAPPER.length;
  let line = 0;
  while (column > lines[line].length) column -= lines[line++].length + 1;
  return /(?<=^\.\.\/src\/).*/.exec(map.findEntry(line, column).originalSource ?? '')?.[0];
}

/** Returns the files of ours in which a function was called, and removes the coverage that says so. */
function calledIn(coverage) {
  const files = new Set();
  for (const name of readdirSync(coverage)) {
    for (const { url, functions } of JSON.parse(readFileSync(join(coverage, name), 'utf8'))
      .result) {
      const part = partOf(url);
      if (part === undefined) continue;
      for (const one of functions.filter(isCalled))
        files.add(sourceAt(part, one.ranges[0].startOffset));
    }
    rmSync(join(coverage, name));
  }
  return [...files].filter((file) => file !== undefined && !file.startsWith('protocol/')).sort();
}

/** Whether V8 saw a call of a function of ours: one without a name is a script, `init_…` evaluates a module. */
function isCalled({ functionName, ranges }) {
  return !/^(init_|$)/.test(functionName) && ranges.some(({ count }) => count > 0);
}

/** Returns the environment of a command, on the machine of a clone. */
function environment(clone, coverage) {
  const home = `${clone}-home`;
  mkdirSync(home, { recursive: true });
  return {
    PATH: process.env.PATH,
    HOME: home,
    GIT_CONFIG_NOSYSTEM: '1',
    CROSSTALK_STATE_DIR: join(home, 'state'),
    NODE_V8_COVERAGE: coverage,
  };
}

/** Runs a command to its end; returns the files in which it called a function. */
function called(clone, ...args) {
  const coverage = mkdtempSync(join(scratch, 'coverage-'));
  run(process.execPath, [PROGRAM, ...args], environment(clone, coverage));
  return calledIn(coverage);
}

function run(program, args, env = process.env) {
  const ran = spawnSync(program, args, { cwd: scratch, env, encoding: 'utf8' });
  if (ran.status !== 0) throw new Error(`${program} ${args.join(' ')}: ${ran.stdout}${ran.stderr}`);
  return ran.stdout;
}

async function until(what, isSo) {
  for (let waited = 0; !isSo(); waited += 100) {
    if (waited > 120_000) throw new Error(`no ${what} within two minutes`);
    await sleep(100);
  }
}

/** Starts the dispatcher; returns how one gets the files in which it called a function since one last asked. */
async function startDispatcher() {
  const [coverage, take] = [join(scratch, 'dispatcher'), join(scratch, 'take.cjs')];
  writeFileSync(take, TAKE);
  const command = ['--require', take, PROGRAM, 'dispatch', '--interval', '1', '--transport', here];
  const env = environment(here, coverage);
  const child = spawn(process.execPath, command, { cwd: scratch, env, stdio: 'ignore' });
  const since = async () => {
    await sleep(3000);
    child.kill('SIGUSR2');
    await until('coverage', () => existsSync(coverage) && readdirSync(coverage).length > 0);
    await sleep(1000);
    return calledIn(coverage);
  };
  return { since, end: () => child.kill('SIGKILL') };
}

/** Returns how many commits the remote has. */
function pushed() {
  return Number(run('git', ['--git-dir', hub, 'rev-list', '--count', '--all']));
}

/** Sends a message on its way, and returns the files of each part of that. */
async function journeys(dispatcher) {
  await dispatcher.since();
  await sleep(5000);
  const idle = await dispatcher.since();
  const send = ['send', '--transport', here];
  called(here, ...send, '--to', 'nobody', '--anyway', 'one that fills the caches');
  await dispatcher.since();
  const sent = called(here, ...send, '--to', 'nobody', '--anyway', 'hello');
  const push = without(await dispatcher.since(), idle);
  called(there, 'send', '--transport', there, '--to', 'worker', 'hello');
  await until('run', () => existsSync(join(scratch, 'started')));
  const started = without(await dispatcher.since(), idle);
  const before = pushed();
  writeFileSync(join(scratch, 'go'), '');
  await until('answer', () => pushed() > before);
  const answered = without(await dispatcher.since(), [...idle, ...push]);
  return {
    'a command to "Sent:"': sent,
    'the dispatcher to the push': push,
    'a tick to the run': started,
    'the run to the answer': answered,
    'the dispatcher while it is idle': idle,
  };
}

function without(files, others) {
  return files.filter((file) => !others.includes(file));
}

if (!existsSync(join(ROOT, 'dist', 'main.cjs.map')))
  run(process.execPath, [join(ROOT, 'build.js'), '--maps']);
let dispatcher;
try {
  const agent = join(scratch, 'agent');
  writeFileSync(
    agent,
    `#!/bin/sh\ncat >/dev/null\ntouch '${scratch}/started'\nwhile [ ! -e '${scratch}/go' ]; do sleep 0.1; done\necho done\n`,
  );
  chmodSync(agent, 0o755);
  run('git', ['init', '--quiet', '--bare', hub]);
  called(
    here,
    'init',
    here,
    '--remote',
    hub,
    '--alias',
    'here',
    '--from',
    'me',
    '--actor',
    'worker',
    '--cli',
    agent,
    '--no-service',
  );
  run('git', ['clone', '--quiet', hub, there]);
  dispatcher = await startDispatcher();
  for (const [journey, files] of Object.entries(await journeys(dispatcher))) {
    console.log(`${String(files.length).padStart(4)} files: ${journey}`);
    if (process.argv.includes('--files')) for (const file of files) console.log(`       ${file}`);
  }
} finally {
  dispatcher?.end();
  rmSync(scratch, { recursive: true, force: true });
}
