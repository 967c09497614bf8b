import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sendInput } from '../../src/cli/command/send-input.ts';
import { buildProgram, type Chosen } from '../../src/cli/program.ts';
import { camelCase, longName, optionsOf } from '../../src/cli/command/spec.ts';
import { FLAGS, readPlain, VALUES } from '../../src/cli/quick.ts';
import { COMMANDS } from '../../src/cli/tables/table.ts';

// The short way of a `send` reads its command line itself; it has to read it as the parser of commands does.

const spec = COMMANDS.find(({ name }) => name === 'send');

/** The command line as the whole program understands it; undefined where it refuses it. */
function parsed(argv: readonly string[]): Chosen | undefined {
  let chosen: Chosen | undefined;
  const io = { out: () => undefined } as unknown as Parameters<typeof buildProgram>[0];
  const program = buildProgram(io, argv[0], (found) => {
    chosen = found;
  });
  try {
    program.parse([...argv], { from: 'user' });
  } catch {
    return undefined;
  }
  return chosen;
}

const said = { to: '', login: 'me' };

const word = fc.oneof(
  fc.constantFrom(
    ...VALUES.map((name) => `--${name}`),
    ...FLAGS.map((name) => `--${name}`),
    ...['--', '-', '', '--to=a', '--no-wait', '--file', '--now', '--option', '--attach', '-t'],
    ...['--schema', '--allow-secret', '--help', '-h', '--about', '--constructor', '--__proto__'],
    ...['worker', 'two words', 'ärger\u202e', 'send', '--too', '-1', '\n', ' '],
  ),
  fc.string(),
);

it('whatever the short way of send understands, the parser of commands understands in the same way', () => {
  let understood = 0;
  fc.assert(
    fc.property(fc.array(word, { maxLength: 6 }), fc.boolean(), (words, isAddressed) => {
      const argv = ['send', ...(isAddressed ? ['--to', 'worker'] : []), ...words];
      const plain = readPlain(argv);
      if (plain === undefined) return;
      understood++;
      const chosen = parsed(argv);
      expect(chosen?.args.filter((one) => one !== undefined)).toEqual([plain.body]);
      const options = chosen?.options ?? {};
      expect(sendInput(plain, { ...said, body: '' })).toEqual(
        sendInput({ options }, { ...said, body: '' }),
      );
      for (const name of [...VALUES, ...FLAGS]) expect(plain.options[name]).toBe(options[name]);
    }),
    { numRuns: 3000 },
  );
  expect(understood).toBeGreaterThan(100);
});

it('it knows only options that send has, each with or without a value as there', () => {
  const flags = spec === undefined ? [] : optionsOf(spec).map(([one]) => one);
  const found = (names: string[]): (string | undefined)[] =>
    names.map((name) => flags.find((one) => camelCase(longName(one)) === name));
  for (const one of found(VALUES)) expect(one).toMatch(/^--[a-z]+ <[a-z]+>$/);
  for (const one of found(FLAGS)) expect(one).toMatch(/^--[a-z]+$/);
});

it.each([
  ['another command', ['ask', 'worker', 'hello']],
  ['no text', ['send', '--to', 'worker']],
  ['an empty text', ['send', '--to', 'worker', '']],
  ['two texts', ['send', '--to', 'worker', 'hello', 'world']],
  ['a text from stdin', ['send', '--to', 'worker', '-']],
  ['no addressee', ['send', 'hello']],
  ['an addressee that looks like an option', ['send', '--to', '--json', 'hello']],
  ['a value that is missing', ['send', 'hello', '--to']],
  ['an option twice', ['send', '--to', 'a', '--to', 'b', 'hello']],
  ['an option with its value in one word', ['send', '--to=a', 'hello']],
  ['the end of the options', ['send', '--to', 'a', '--', '--hello']],
  ['a file', ['send', '--to', 'a', '--file', 'hello']],
  ['help', ['send', '--to', 'a', 'hello', '--help']],
  ['words for work under way', ['send', '--to', 'a', 'hello', '--now']],
])('it leaves %s to the parser of commands', (_, argv) => {
  expect(readPlain(argv)).toBeUndefined();
});
