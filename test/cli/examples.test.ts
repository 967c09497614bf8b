import { expect, it } from 'vitest';
import { buildProgram, type Chosen } from '../../src/cli/program.ts';
import { COMMANDS } from '../../src/cli/tables/table.ts';
import { scratch } from '../support/bus.ts';
import { command } from '../support/command.ts';

/** The command that a line of a shell selects; what the shell does with the output is left out. */
function chosenBy(line: string): Chosen | undefined {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare ?? '',
  );
  const from = words.findIndex((word) => word.endsWith('crosstalk'));
  const to = words.indexOf('>');
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
