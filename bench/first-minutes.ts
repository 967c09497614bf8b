/*
 * Plays the first minutes of somebody who has heard of Crosstalk: the archive (npm run standalone -- x64), install.sh,
 * `init` in a project of theirs, a question, the answer. It happens in a namespace whose network is a loopback, and
 * where Node and npm are no programs; the agent CLI is a script. Prints keystrokes, seconds and lines of output.
 */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { loadPty, type Pty } from '../src/runner/pty.ts';

const ARCHIVE = `crosstalk-linux-${process.arch}.tar.gz`;
const ENTER = '\r';
const PATIENCE_MS = 120_000;
const PROMPT = 'ready> ';

/** A step of the story: what is typed, and how many keystrokes, seconds and lines it took. */
interface Step {
  name: string;
  keys: number;
  seconds: number;
  lines: number;
}

/** Arguments of the namespace, in which every node and npm on the PATH is an empty file that nobody may run. */
function namespace(home: string): string[] {
  const covered = (process.env['PATH'] ?? '')
    .split(':')
    .flatMap((folder) => ['node', 'npm', 'npx'].map((name) => join(folder, name)))
    .filter((path) => existsSync(path))
    .map((path) => realpathSync(path));
  return [
    ...['--unshare-net', '--unshare-pid', '--die-with-parent', '--dev-bind', '/', '/'],
    ...['--tmpfs', '/tmp', '--bind', home, home, '--proc', '/proc'],
    ...[...new Set(covered)].flatMap((path) => ['--ro-bind', '/dev/null', path]),
    ...['--clearenv', '--setenv', 'HOME', home, '--setenv', 'TERM', 'xterm-256color'],
    ...['--setenv', 'PATH', `${home}/.local/bin:${home}/bin:/usr/bin:/bin`],
    ...['--setenv', 'PS1', PROMPT, '--setenv', 'GIT_CONFIG_NOSYSTEM', '1', '--chdir', home],
  ];
}

/** Lays out the machine: what was downloaded, a project with a commit and a remote, and an agent CLI. */
function layOut(home: string): void {
  for (const name of [ARCHIVE, `${ARCHIVE}.sha256`])
    copyFileSync(join('standalone', name), join(home, name));
  copyFileSync('install.sh', join(home, 'install.sh'));
  const git = (...words: string[]): void => {
    const { status, stderr } = spawnSync('git', words, { cwd: home, encoding: 'utf8' });
    if (status !== 0) throw new Error(`git ${words.join(' ')}: ${stderr}`);
  };
  git('init', '--quiet', '--bare', 'hub.git');
  git('init', '--quiet', 'app');
  const person = ['-c', 'user.name=Zoe M', '-c', 'user.email=zoe@example.com'];
  git('-C', 'app', ...person, 'commit', '--quiet', '--allow-empty', '--message', 'some code');
  git('-C', 'app', 'remote', 'add', 'origin', join(home, 'hub.git'));
  mkdirSync(join(home, 'bin'));
  const answer = '#!/bin/sh\ncat > /dev/null\necho "I read and change this project."\n';
  writeFileSync(join(home, 'bin', 'claude'), answer, { mode: 0o755 });
}

/** Words of the questions of `init`, in the order in which they are asked; not every machine is asked all. */
const QUESTIONS = [
  ...['Your name in messages', 'Which agent CLI', 'Where does', 'in a sandbox?'],
  ...['as a service?', 'now?'],
];

/** A terminal in the namespace. */
class Terminal {
  readonly #pty: Pty;
  #text = '';
  #from = 0;
  keys = 0;
  /** Settles when the shell, and with it all in the namespace, has ended. */
  readonly ended: Promise<void>;

  constructor(pty: Pty) {
    this.#pty = pty;
    this.ended = new Promise((resolve) => {
      pty.onExit(() => {
        resolve();
      });
    });
    pty.onData((bytes) => {
      this.#text += Buffer.from(bytes).toString('utf8');
    });
  }

  type(text: string): void {
    this.keys += text.length;
    this.#from = this.#text.length;
    this.#pty.write(Buffer.from(text));
  }

  /** Waits for one of some texts after what was typed last, and returns the one that came. */
  async sees(...texts: string[]): Promise<string> {
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      const shown = stripVTControlCharacters(this.#text.slice(this.#from));
      const found = texts.find((text) => shown.includes(text));
      if (found !== undefined) return found;
      if (performance.now() > until)
        throw new Error(`${texts.join(' or ')} did not come; it shows:\n${shown.slice(-2000)}`);
      await sleep(20);
    }
  }

  get lines(): number {
    return stripVTControlCharacters(this.#text).split('\n').length - 1;
  }
}

async function play(home: string): Promise<Step[]> {
  const open = await loadPty();
  if ('problem' in open) throw new Error(open.problem);
  const options = { cols: 100, rows: 40, cwd: home, env: process.env };
  const terminal = new Terminal(open('bwrap', [...namespace(home), '/bin/sh', '-i'], options));
  await terminal.sees(PROMPT);
  const steps: Step[] = [];
  const step = async (name: string, work: () => Promise<void>): Promise<void> => {
    const [keys, lines, begun] = [terminal.keys, terminal.lines, performance.now()];
    await work();
    const seconds = (performance.now() - begun) / 1000;
    steps.push({ name, keys: terminal.keys - keys, seconds, lines: terminal.lines - lines });
  };
  const say = async (line: string, ...signs: string[]): Promise<string> => {
    terminal.type(`${line}${ENTER}`);
    return terminal.sees(...signs);
  };
  await say('node --version; echo $?x', '126x', '127x');
  terminal.keys = 0;
  await step('install.sh', async () => {
    await say(`sh install.sh ${ARCHIVE}`, 'Crosstalk ');
    await terminal.sees(PROMPT);
  });
  await step('init in a project', async () => {
    await say('cd app', PROMPT);
    let shown = await say('crosstalk init', ...QUESTIONS);
    // Enter is the answer to every question, up to the last one. One that was answered is shown again.
    for (let at = QUESTIONS.indexOf(shown); shown !== 'now?'; at = QUESTIONS.indexOf(shown)) {
      await sleep(300);
      terminal.type(ENTER);
      shown = await terminal.sees(...QUESTIONS.slice(at + 1));
    }
  });
  await step('a first question', async () => {
    await sleep(300);
    terminal.type(ENTER);
    await terminal.sees('I read and change this project.');
    await terminal.sees(PROMPT);
  });
  // What was said is found again, which takes the index.
  await say('crosstalk search "change this project"', 'concierge');
  await terminal.sees(PROMPT);
  terminal.type(`exit${ENTER}`);
  await terminal.ended;
  return steps;
}

if (spawnSync('bwrap', ['--unshare-net', '--dev-bind', '/', '/', 'true']).status !== 0) {
  process.stdout.write('skipped: bwrap makes no namespace here\n');
} else if (!existsSync(join('standalone', ARCHIVE))) {
  process.stderr.write(
    `there is no standalone/${ARCHIVE}; first: npm run standalone -- ${process.arch}\n`,
  );
  process.exitCode = 1;
} else {
  const home = mkdtempSync(join(resolve(tmpdir()), 'first-minutes-'));
  try {
    layOut(home);
    const steps = await play(home);
    const sum = (of: (one: Step) => number): number => steps.reduce((all, one) => all + of(one), 0);
    const total = { name: 'in all', keys: sum((s) => s.keys), seconds: sum((s) => s.seconds) };
    process.stdout.write('keystrokes  seconds  lines\n');
    for (const { name, keys, seconds, lines } of [
      ...steps,
      { ...total, lines: sum((s) => s.lines) },
    ])
      process.stdout.write(
        `${String(keys).padStart(10)}  ${seconds.toFixed(1).padStart(7)}  ${String(lines).padStart(5)}  ${name}\n`,
      );
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
