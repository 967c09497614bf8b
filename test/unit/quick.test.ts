import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sendInput } from '../../src/cli/command/send-input.ts';
import { buildProgram, type Chosen } from '../../src/cli/program.ts';
import { camelCase, longName, optionsOf } from '../../src/cli/command/spec.ts';
import { readPlain, UNDERSTOOD } from '../../src/cli/quick.ts';
import { COMMANDS } from '../../src/cli/commands.ts';

// The short way of a `send` reads its command line itself; it has to read it as the parser of commands does.

const NAMES = Object.keys(UNDERSTOOD) as (keyof typeof UNDERSTOOD)[];
const OPTIONS = Object.values(UNDERSTOOD).flatMap(({ values, flags }) => [...values, ...flags]);

/** The command line as the whole program understands it; undefined where it refuses it. */
function parsed(argv: readonly string[]): Chosen | undefined {
  let chosen: Chosen | undefined;
  const io = { out: () => undefined } as unknown as Parameters<typeof buildProgram>[0];
  const program = buildProgram(io, { first: argv[0], few: false }, (found) => {
    chosen = found;
  });
  try {
    program.parse([...argv], { from: 'user' });
  } catch {
    return undefined;
  }
  return chosen;
}

const said = { to: '', body: '', login: 'me' };

const word = fc.oneof(
  fc.constantFrom(
    ...OPTIONS.map((name) => `--${name}`),
    ...['--', '-', '', '--to=a', '--no-wait', '--file', '--now', '--option', '--attach', '-t'],
    ...['--schema', '--allow-secret', '--help', '-h', '--about', '--constructor', '--__proto__'],
    ...['worker', 'two words', 'ärger\u202e', 'send', '--too', '-1', '\n', ' '],
  ),
  fc.string(),
);

it.each(NAMES)(
  'whatever the short way of %s understands, the parser of commands understands in the same way',
  (name) => {
    let understood = 0;
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), fc.boolean(), (words, isAddressed) => {
        const addressed = name === 'ask' ? ['worker'] : ['--to', 'worker'];
        const argv = [name, ...(isAddressed ? addressed : []), ...words];
        const plain = readPlain(argv);
        if (plain === undefined) return;
        understood++;
        const chosen = parsed(argv);
        const options = chosen?.options ?? {};
        const args = chosen?.args.filter((one) => one !== undefined);
        expect(args).toEqual(name === 'ask' ? [plain.to, plain.body] : [plain.body]);
        if (name === 'send') expect(options['to']).toBe(plain.to);
        expect(sendInput(plain, said)).toEqual(sendInput({ options }, said));
        for (const one of OPTIONS) expect(plain.options[one]).toBe(options[one]);
      }),
      { numRuns: 3000 },
    );
    expect(understood).toBeGreaterThan(100);
  },
);

it.each(NAMES)(
  'it knows only options that %s has, each with or without a value as there',
  (name) => {
    const spec = COMMANDS.find((one) => one.name === name);
    const flags = spec === undefined ? [] : optionsOf(spec).map(([one]) => one);
    const found = (names: string[]): (string | undefined)[] =>
      names.map((one) => flags.find((flag) => camelCase(longName(flag)) === one));
    for (const one of found(UNDERSTOOD[name].values)) expect(one).toMatch(/^--[a-z]+ <[a-z]+>$/);
    for (const one of found(UNDERSTOOD[name].flags)) expect(one).toMatch(/^--[a-z]+$/);
  },
);

it.each([
  ['another command', ['reply', '1f2e3d4c', 'hello']],
  ['a question that is asked of nobody', ['ask', 'hello']],
  ['a limit to the wait', ['ask', 'worker', 'hello', '--timeout', '5s']],
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
