// Counts the files of ours through which one real message passes, from coverage, so that the number cannot be
// believed without being seen:
//   node docs/journey.js            prints the counts
//   node docs/journey.js --files    prints the files, too
// Protocol is left out, as are files of which only the top level runs. What a dispatcher does with a message is
// what one pass with it runs and a pass without one does not.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const scratch = mkdtempSync(join(tmpdir(), 'journey-'));
const SOURCES = `file://${join(ROOT, 'src')}/`;

/** Runs a command from the sources; returns the files of ours in which it called a function. */
function called(...args) {
  const coverage = mkdtempSync(join(scratch, 'coverage-'));
  const home = join(scratch, 'home');
  mkdirSync(home, { recursive: true });
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    CROSSTALK_STATE_DIR: join(scratch, 'state'),
    CROSSTALK_SOURCE: '1',
    NODE_V8_COVERAGE: coverage,
  };
  const command = [join(ROOT, 'bin', 'crosstalk.js'), ...args];
  const ran = spawnSync(process.execPath, command, { cwd: scratch, env, encoding: 'utf8' });
  if (ran.status !== 0) throw new Error(`${args.join(' ')}: ${ran.stdout}${ran.stderr}`);
  const files = new Set();
  for (const name of readdirSync(coverage))
    for (const { url, functions } of JSON.parse(readFileSync(join(coverage, name), 'utf8')).result)
      if (url.startsWith(SOURCES) && functions.some(isCalled))
        files.add(url.slice(SOURCES.length).replace(/\?.*$/, ''));
  rmSync(coverage, { recursive: true });
  return [...files].filter((file) => !file.startsWith('protocol/')).sort();
}

/** Whether V8 saw a call of a function of ours: without a name it is a module, and `__name` is of the compiler. */
function isCalled({ functionName, ranges }) {
  return !['', '__name'].includes(functionName) && ranges.some(({ count }) => count > 0);
}

try {
  const bus = join(scratch, 'bus');
  called('init', bus, '--actor', 'worker', '--cli', 'cat', '--no-service');
  const at = ['--transport', bus];
  called('dispatch', '--once', ...at);
  const idle = new Set(called('dispatch', '--once', ...at));
  const journeys = {
    'a command to "Sent:"': called('send', '--to', 'worker', 'hello', ...at),
    'the dispatcher, tick to answer': called('dispatch', '--once', ...at).filter(
      (file) => !idle.has(file),
    ),
    'the dispatcher, a pass without mail': [...idle],
  };
  for (const [journey, files] of Object.entries(journeys)) {
    console.log(`${String(files.length).padStart(4)} files: ${journey}`);
    if (process.argv.includes('--files')) for (const file of files) console.log(`       ${file}`);
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
