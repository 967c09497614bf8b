import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Bus } from '../support/bus.ts';
import { until } from '../support/wait.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const REMOTE = 'git@example.com:team/bus.git';
const PATIENCE = { timeout: 240_000 };

/** The shell blocks of the README's tour, in order. */
function blocks(): string[] {
  const text = readFileSync(join(root, 'README.md'), 'utf8');
  const tour = text.slice(text.indexOf('## Ten minutes'), text.indexOf('## Concepts'));
  return [...tour.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
}

/** A machine of a newcomer: an empty home, and the programs that the README takes for granted. */
class Newcomer {
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;

  constructor(bus: Bus, name: string, cli: { name: string; script: string }, identity: string) {
    this.home = join(bus.root, name);
    const bin = join(this.home, 'bin');
    mkdirSync(bin, { recursive: true });
    symlinkSync(join(root, 'bin/crosstalk.js'), join(bin, 'crosstalk'));
    writeFileSync(join(bin, cli.name), `#!/bin/sh\n${cli.script}\n`);
    chmodSync(join(bin, cli.name), 0o755);
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
  'case $prompt in',
  '  *"(you) to tester"*) echo "All of them pass, says the tester." ;;',
  '  *"run the tests"*) crosstalk actor list >&2 && crosstalk send --to tester "run them" >&2 ;;',
  '  *) echo "That it can serve a real request: its database, its disk, its certificate." ;;',
  'esac',
].join('\n');
const CODEX = 'cat > /dev/null; echo "All tests pass."';

describe.each([
  ['with a git identity', '[user]\n\tname = Anna\n\temail = anna@example.com\n'],
  ['without one', ''],
])('the tour of the README, to the letter, on two machines %s', (_, identity) => {
  it('works', PATIENCE, async () => {
    const bus = new Bus();
    const laptop = new Newcomer(bus, 'laptop', { name: 'claude', script: CLAUDE }, identity);
    const server = new Newcomer(bus, 'server', { name: 'codex', script: CODEX }, identity);
    const [make, serve, ask, join_, ...more] = blocks().map((block) =>
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
