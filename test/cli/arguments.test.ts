import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { Bus, scratch } from '../support/bus.ts';
import { command } from '../support/command.ts';

const specs = COMMANDS.filter(({ hidden }) => hidden !== true);

/** How many arguments a command needs and takes at most. */
function bounds(args = ''): { least: number; most: number } {
  const words = args.split(' ').filter((word) => word !== '');
  return {
    least: words.filter((word) => word.startsWith('<')).length,
    most: args.includes('...') ? Infinity : words.length,
  };
}

const given = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `a${String(at)}`);

/** What a command line that is wrong says, which has to be one line with what to do next. */
async function said(argv: readonly string[]): Promise<string> {
  const { code, out, err } = await command(argv, { cwd: scratch() });
  expect([code, out], err).toEqual([2, '']);
  expect(err).toMatch(/^crosstalk [^\n]+\n$/);
  return err;
}

const commands = specs.map(({ name, args }) => ({ name, ...bounds(args) }));
const helpOf = (name: string): string => `; see: crosstalk ${name} --help\n`;

describe('a wrong command line is answered in one line that says what to do next', () => {
  it.each(commands)('$name names an option that it does not know', async ({ name, least }) => {
    const line = await said([...name.split(' '), ...given(least), '--frobnicate']);
    expect(line).toBe(`crosstalk ${name}: unknown option '--frobnicate'${helpOf(name)}`);
  });

  const needy = commands.filter(({ least }) => least > 0);
  it.each(needy)('$name names an argument that is missing', async ({ name, least }) => {
    expect(await said([...name.split(' '), ...given(least - 1)])).toMatch(
      new RegExp(`^crosstalk ${name}: missing required argument '[\\w|]+'${helpOf(name)}$`),
    );
  });

  const limited = commands.filter(({ most }) => most < Infinity);
  it.each(limited)('$name takes no more than it has a use for', async ({ name, most }) => {
    const line = await said([...name.split(' '), ...given(most + 1)]);
    const counts = `expected ${String(most)}, got ${String(most + 1)}`;
    expect(line).toBe(`crosstalk ${name}: too many arguments: ${counts}${helpOf(name)}`);
  });

  it('a text that begins with - is told where it belongs', async () => {
    for (const text of ['-5 degrees', '-nice'])
      expect(await said(['send', '--to', 'x', text])).toBe(
        `crosstalk send: unknown option '${text}'; a text that begins with - comes after --, as in: -- "-1"${helpOf('send')}`,
      );
  });
});

it('an item of a list is a text, as an argument and as the value of an option', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const sent = await host.run('send', '--to', 'worker', '--option', '- yes', '- first\n- second');
  expect(sent.code, sent.err).toBe(0);
  expect(bus.from('operator')[0]?.message).toMatchObject({
    body: '- first\n- second',
    options: ['- yes'],
  });
});
