import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { buildProgram, type Chosen } from '../../src/cli/program.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { scratch } from '../support/bus.ts';
import { command } from '../support/command.ts';
import { exec, put } from '../support/service.ts';

/** The commands that a text for agents names: in its blocks of shell, and between backquotes. */
function commandsIn(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = '']) =>
    block.split('\n'),
  );
  const named = [...text.matchAll(/`(crosstalk [^`]+)`/g)].map(([, line = '']) => line);
  return [...blocks.filter((line) => line.startsWith('crosstalk ')), ...named];
}

/** The command that a line of a shell selects; what the shell does with the output is left out. */
function chosenBy(line: string): Chosen | undefined {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare ?? '',
  );
  const from = words.findIndex((word) => word.endsWith('crosstalk'));
  const to = words.findIndex((word) => ['>', '&', '||'].includes(word));
  const argv = words.slice(from + 1, to < 0 ? undefined : to);
  let chosen: Chosen | undefined;
  const io = { out: () => undefined } as never;
  buildProgram(io, { few: false }, (found) => {
    chosen = found;
  }).parse(
    argv.map((word) => word.replace(/\)$/, '')),
    { from: 'user' },
  );
  return chosen;
}

it.each(COMMANDS.map(({ name, example }) => [name, example]))(
  'the example of %s is a line that calls it',
  (_name, example) => {
    // An older name of a command has the example of the newer one.
    expect(chosenBy(example)?.spec.example).toBe(example);
  },
);

it.each(COMMANDS.map(({ name, example }) => [name, example]))(
  'the help of %s begins with how it is called, and its commonest line',
  async (name, example) => {
    const { out } = await command([...name.split(' '), '--help'], { cwd: scratch() });
    const [usage = '', ...rest] = out.split('\n');
    expect(usage).toMatch(new RegExp(`^Usage: crosstalk ${name} `));
    expect(rest.slice(0, 4)).toEqual(['', 'Example:', `  ${example}`, '']);
  },
);

it.each(['skills/crosstalk/SKILL.md', 'llms.txt'])(
  '%s names only commands that there are',
  (path) => {
    const commands = commandsIn(path);
    expect(commands.length).toBeGreaterThan(5);
    for (const line of commands) {
      if (line === 'crosstalk --version') continue;
      const [, first = '', second = ''] = line.split(' ');
      // A command alone may leave out what it requires.
      if (
        COMMANDS.some(({ name }) => [first, `${first} ${second}`].includes(name)) &&
        line === `crosstalk ${first} ${second}`.trim()
      )
        continue;
      expect(chosenBy(line), line).toBeDefined();
    }
  },
);

it('the package has what agents are pointed to, and each of its links leads somewhere', () => {
  const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { files: string[] };
  expect(files).toEqual(expect.arrayContaining(['skills', 'llms.txt', 'docs', 'template']));
  const links = [...readFileSync('llms.txt', 'utf8').matchAll(/\]\(([^)]+)\)/g)].map(
    ([, to = '']) => to,
  );
  expect(links.length).toBeGreaterThan(5);
  expect(links.filter((to) => !existsSync(to))).toEqual([]);
});

it('what SKILL.md says, in its order, makes a bus that answers', async () => {
  const home = scratch();
  put(home, 'crosstalk', `exec '${process.execPath}' '${resolve('bin/crosstalk.js')}' "$@"`);
  put(home, 'claude', 'cat > /dev/null; echo "I am the concierge."');
  const text = readFileSync('skills/crosstalk/SKILL.md', 'utf8');
  const [install, ...blocks] = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(
    ([, block = '']) => block,
  );
  expect(install).toBe('npm ci && npm install --global .\n');
  const script = ['set -e', ...blocks, 'kill $!', 'wait $! || true'].join('\n');
  const env = { ...process.env, HOME: home, PATH: `${home}:${process.env['PATH'] ?? ''}` };
  const ran = await exec(
    ['/bin/sh', '-c', script],
    { ...env, CROSSTALK_STATE_DIR: join(home, 'state') },
    home,
  );
  expect([ran.code, ran.out]).toEqual([0, expect.stringContaining('\nI am the concierge.\n')]);
});
