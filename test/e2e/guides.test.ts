import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { Bus } from '../support/bus.ts';
import { sample } from '../support/form.ts';
import { git } from '../support/git.ts';
import { standIn } from '../support/service.ts';
import { until } from '../support/wait.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const REMOTE = 'git@example.com:team/bus.git';
const PATIENCE = { timeout: 480_000 };

/** Commands that are not run here, and why. */
const NOT_HERE: Record<string, string> = {
  'npm ci && npm pack': 'run by .ci/run',
  'npm install --global ./cordfuse-crosstalk-6.0.0.tgz': 'run by .ci/run, in a folder',
  'npm ci && npm run demo': 'run by .ci/run',
  'npm ci && npm test': 'run by .ci/run',
  'npm run standalone': 'run by .ci/run',
  'sh install.sh <archive>': 'test/cli/install-sh.test.ts',
  'loginctl enable-linger': 'a setting of this machine',
  'crosstalk web --open': 'opens a browser',
  'crosstalk actor edit concierge': 'opens an editor',
  'crosstalk actor edit tester': 'opens an editor; run with --file below',
  'crosstalk key pin ben ben.pub': 'asks a person; test/e2e/signed.test.ts',
};

function textOf(guide: string): string {
  const path = guide === 'README' ? 'README.md' : `docs/guides/${guide}.md`;
  return readFileSync(join(root, path), 'utf8');
}

/** The shell blocks of a guide, in order. */
function blocks(guide: string): string[] {
  return [...textOf(guide).matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
}

/**
 * The commands in the sentences of a guide that are more than the name of one and in none of its blocks, each as it
 * is first.
 */
function commandsInText(guide: string): string[] {
  const text = textOf(guide).replace(/^```.*?^```$/gms, '');
  const inBlocks = blocks(guide).join('');
  const spans = [...text.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span.replace(/\s+/g, ' '));
  const isName = (span: string): boolean =>
    COMMANDS.some(({ name }) => `crosstalk ${name}` === span);
  return [...new Set(spans)].filter(
    (span) =>
      /^(?:crosstalk|npm|npx|sh|loginctl|sudo) /.test(span) &&
      span !== 'crosstalk --help' &&
      !isName(span) &&
      !inBlocks.includes(span),
  );
}

/** A machine of a newcomer: an empty home, and the programs that the guides take for granted. */
class Newcomer {
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;

  constructor(bus: Bus, name: string, cli: Record<string, string>, identity: string) {
    this.home = join(bus.root, name);
    const bin = join(this.home, 'bin');
    mkdirSync(bin, { recursive: true });
    symlinkSync(join(root, 'bin/crosstalk.js'), join(bin, 'crosstalk'));
    for (const [program, script] of Object.entries(cli)) {
      writeFileSync(join(bin, program), `#!/bin/sh\n${script}\n`);
      chmodSync(join(bin, program), 0o755);
    }
    if (identity !== '') writeFileSync(join(this.home, '.gitconfig'), identity);
    this.env = { PATH: `${bin}:${process.env['PATH'] ?? ''}`, HOME: this.home };
  }

  /** Runs lines of shell in a new shell; returns what they print on stdout. */
  async shell(lines: string, cwd = this.home): Promise<string> {
    const ran = await promisify(execFile)('/bin/sh', ['-ec', lines], { cwd, env: this.env });
    return ran.stdout;
  }

  /** Leaves a command running until the test is over. */
  leave(line: string, cwd: string): void {
    const child = spawn('/bin/sh', ['-c', `exec ${line}`], { cwd, env: this.env, stdio: 'ignore' });
    const gone = once(child, 'exit');
    onTestFinished(async () => {
      child.kill('SIGTERM');
      await gone;
    });
  }
}

const CLAUDE = [
  'prompt=$(cat)',
  'case "$*" in *"mode plan"*) echo "First this, then that."; exit ;; esac',
  'case $prompt in',
  '  *"Fix the typo"*) echo fixed > readme; git commit --quiet --all --message fix; echo "Fixed." ;;',
  `  *"What was the cause"*) echo '{"cause": "the disk"}' ;;`,
  '  *"(you) to tester"*) echo "All of them pass, says the tester." ;;',
  '  *"run the tests"*) crosstalk actor list >&2 && crosstalk send --to tester "run them" >&2 ;;',
  '  *) echo "That it can serve a real request: its database, its disk, its certificate." ;;',
  'esac',
].join('\n');
const CODEX = 'cat > /dev/null; echo "All tests pass."';

const LOG = '"$HOME/dispatch.log"';
const ANNA = '[user]\n\tname = Anna\n\temail = anna@example.com\n';

describe.each([
  ['with a git identity', ANNA],
  ['without one', ''],
])('the guide for two machines, to the letter, %s', (_, identity) => {
  it('works', PATIENCE, async () => {
    const bus = new Bus();
    const laptop = new Newcomer(bus, 'laptop', { claude: CLAUDE }, identity);
    const server = new Newcomer(bus, 'server', { codex: CODEX }, identity);
    const [make, serve, ask, join_, ...more] = blocks('two-machines').map((block) =>
      block.replaceAll(REMOTE, bus.hub),
    ) as [string, string, string, string, ...string[]];
    expect(more).toEqual([]);

    const team = (await laptop.shell(`{ ${make} } >&2; pwd`)).trim();
    expect(serve).toBe('crosstalk dispatch\n');
    laptop.leave(serve, team);

    const lines = ask.trimEnd().split('\n');
    const commands = lines.filter((line) => !line.startsWith('#'));
    const told = lines.filter((line) => line.startsWith('# ')).map((line) => line.slice(2));
    expect((await laptop.shell(commands.join('\n'))).trimEnd()).toBe(told.join('\n'));

    const [leave = '', ...setUp] = join_.trimEnd().split('\n').reverse();
    expect(leave).toBe('crosstalk dispatch');
    const there = (await server.shell(`{ ${setUp.reverse().join('\n')}\n} >&2; pwd`)).trim();
    server.leave(leave, there);

    writeFileSync(
      join(server.home, 'tester.md'),
      '---\nname: tester\ndescription: Runs the tests.\n---\n\nRun the tests.\n',
    );
    await server.shell('crosstalk actor edit tester --file ~/tester.md', there);
    const answer = await laptop.shell('crosstalk ask concierge "please run the tests"', team);
    expect(answer).toContain('All of them pass, says the tester.');
    expect(await laptop.shell('crosstalk actor list', team)).toContain('Runs the tests.');

    // A verdict right after an answer may still see its run.
    await until('a healthy verdict', async () =>
      (await laptop.shell('crosstalk status', team)).startsWith('healthy'),
    );
    expect(await laptop.shell('crosstalk dlq', team)).toBe('');
    expect(await laptop.shell('crosstalk dlq --retry all', team)).toBe('');
  });
});

/** A guide that is followed on one machine: what is there before, and a shell that reads it block by block. */
class Reader {
  readonly machine: Newcomer;
  #cwd: string;

  private constructor(machine: Newcomer) {
    this.machine = machine;
    this.#cwd = machine.home;
  }

  /** A home with a project in `~/src/app`, and, unless the guide makes one, a bus with a dispatcher. */
  static async of(guide: string): Promise<Reader> {
    const reader = new Reader(
      new Newcomer(new Bus(), 'anna', { claude: CLAUDE, codex: CODEX }, ANNA),
    );
    const { machine } = reader;
    if (guide === 'service') {
      // A fake service manager, and no systemd of this machine.
      const { PATH = '', XDG_RUNTIME_DIR, XDG_CONFIG_HOME } = standIn().env;
      const path = `${join(machine.home, 'bin')}:${PATH}`;
      Object.assign(machine.env, { PATH: path, XDG_RUNTIME_DIR, XDG_CONFIG_HOME });
    }
    const app = join(machine.home, 'src/app');
    git(machine.home, 'init', '--quiet', '--bare', '--initial-branch=main', 'app.git');
    git(machine.home, 'clone', '--quiet', 'app.git', app);
    writeFileSync(join(app, 'readme'), 'helo\n');
    await machine.shell('git add . && git commit -qm first && git push -q origin HEAD:main', app);
    if (['ask-one-agent', 'README'].includes(guide)) return reader;
    await machine.shell(
      'crosstalk init team --from anna --alias laptop --cli claude --no-sandbox >&2',
    );
    reader.#cwd = join(machine.home, 'team');
    if (guide !== 'service') machine.leave(`crosstalk dispatch --log ${LOG}`, reader.#cwd);
    return reader;
  }

  /** Runs a block as somebody would who types it, and leaves a dispatcher running. */
  async run(block: string): Promise<void> {
    if (block === 'crosstalk dispatch\n') {
      this.machine.leave(`crosstalk dispatch --log ${LOG}`, this.#cwd);
      return;
    }
    // That of a service is found without a name.
    const isOfService = 'XDG_RUNTIME_DIR' in this.machine.env;
    const logs = isOfService ? 'crosstalk logs' : `crosstalk logs --file ${LOG}`;
    const text = block.replaceAll('crosstalk logs', logs);
    const lines = text.trimEnd().split('\n');
    const told = lines.filter((line) => line.startsWith('# ')).map((line) => line.slice(2));
    let out = '';
    for (const line of lines)
      if (!line.startsWith('# ') && !(line in NOT_HERE))
        out += await this.#line(await this.#named(line));
    for (const words of told) expect(out).toContain(words);
  }

  async #line(line: string): Promise<string> {
    const said = await this.machine.shell(`${line}\npwd >"$HOME/cwd"`, this.#cwd);
    this.#cwd = readFileSync(join(this.machine.home, 'cwd'), 'utf8').trim();
    return said;
  }

  /** Puts what a reader would copy from the screen, or has at hand, into the places of a line that stand for it. */
  async #named(line: string): Promise<string> {
    let named = line;
    for (const [place] of line.matchAll(/<[a-z]+>|\[payload\]/g))
      named = named.replace(place, await this.#valueOf(place, line));
    return named;
  }

  async #valueOf(place: string, line: string): Promise<string> {
    if (place === '<actor>') return 'concierge';
    if (place === '<dir>') return '"$HOME/files"';
    if (place === '<source>') return 'deploy';
    if (place === '[payload]') return '"version 1.3 is out"';
    if (place === '<question>')
      return until('a question', async () => (await this.#json('inbox --questions'))[0]?.relPath);
    if (place === '<id>') {
      await this.#line(
        'crosstalk actor add broken --cli false && crosstalk actor set broken attempts=1',
      );
      await this.#line('crosstalk send --to broken "do it"');
      return until('a dead letter', async () => (await this.#json('dlq'))[0]?.id);
    }
    if (place === '<digest>') {
      const command = `echo changed for ${line.replaceAll(/\W+/g, ' ')}`;
      await this.#line(`sed -i 's/cli: .*/cli: ${command}/' hosts/laptop.md`);
      await this.#line('git add . && git commit --quiet --message "another command"');
      return until('a change', async () => (await this.#json('host show'))[0]?.held?.[0]?.digest);
    }
    if (place === '<worktree>') {
      if ((await this.#json('worktree list')).length === 0)
        await this.#line('crosstalk ask coder "Fix the typo in the readme, and commit it."');
      return (await this.#json('worktree list'))[0]?.branch ?? '';
    }
    if (line.startsWith('crosstalk reply ') && place === '<message>') {
      const ask = 'crosstalk send --from concierge --to anna --option yes --option no "Shall I?"';
      return sentIn(await this.#line(`${ask} --anyway`));
    }
    const written = (await this.#json('log')).filter(
      ({ from, files }) =>
        (from === 'anna') === (place === '<message>') &&
        (!line.includes('--files') || (files?.length ?? 0) > 0),
    );
    const last = written.at(-1)?.relPath;
    return last ?? sentIn(await this.#line('crosstalk send --to concierge "hello"'));
  }

  async #json(command: string): Promise<Row[]> {
    const out = await this.machine.shell(`crosstalk ${command} --json`, this.#cwd);
    // Some print a value a line, some one value.
    const texts = /^[[{]$/m.test(out) ? [out] : out.split('\n').filter(Boolean);
    return texts.flatMap((text) => JSON.parse(text) as Row | Row[]);
  }
}

/** What is read of what commands print with `--json`. */
interface Row {
  relPath: string;
  from: string;
  files?: unknown[];
  id?: string;
  branch?: string;
  held?: { digest: string }[];
}

/** The path of the message that `send` has said it sent. */
function sentIn(said: string): string {
  return /^(?:Sent|Queued|Written): (\S+)/m.exec(said)?.[1] ?? said;
}

const guides = ['README', ...readdirSync(join(root, 'docs/guides')).sort()].map((name) =>
  name.replace('.md', ''),
);

describe('each command of a guide works, in its order', () => {
  const onOne = guides.filter((guide) => guide !== 'two-machines');
  it.each(sample(onOne))('%s', { tags: 'sampled', timeout: 600_000 }, async (guide) => {
    const reader = await Reader.of(guide);
    expect(blocks(guide).length).toBeGreaterThan(2);
    for (const block of blocks(guide)) await reader.run(block);
    for (const line of commandsInText(guide)) await reader.run(`${line}\n`);
  });

  it('no page has one that is not run, but for those with a reason', () => {
    const seen = guides.flatMap((guide) => [
      ...blocks(guide).flatMap((block) => block.trimEnd().split('\n')),
      ...commandsInText(guide),
    ]);
    expect(Object.keys(NOT_HERE).filter((line) => !seen.includes(line))).toEqual([]);
    // The guide for two machines is read above.
    expect(commandsInText('two-machines').filter((line) => !(line in NOT_HERE))).toEqual([]);
    for (const guide of guides) {
      // What `npm run demo` has printed begins with a prompt.
      const lines = [...textOf(guide).matchAll(/^```(\S*)\n(.*?)^```$/gms)].flatMap(
        ([, kind, block = '']) => (kind === 'sh' ? [] : block.split('\n')),
      );
      const commands = lines.filter((line) => /^(?:crosstalk|npm|npx|sh|git) /.test(line));
      expect(commands, guide).toEqual([]);
    }
  });
});

it('each guide is short, and the map names it', () => {
  const map = readFileSync(join(root, 'docs/README.md'), 'utf8');
  for (const name of readdirSync(join(root, 'docs/guides'))) {
    const lines = readFileSync(join(root, 'docs/guides', name), 'utf8').split('\n').length - 1;
    expect(lines, name).toBeLessThanOrEqual(150);
    expect(map).toContain(`(guides/${name})`);
  }
});
