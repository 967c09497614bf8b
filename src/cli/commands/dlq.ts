import { countOf } from '../../protocol/text/words.ts';
import { CrosstalkError } from '../../errors.ts';
import {
  dropDeadLetters,
  findDeadLetter,
  listDeadLetters,
  retryDeadLetters,
  type DeadLetter,
} from '../../actions/upkeep/dlq.ts';
import { printedFor } from '../../actions/watching/printed.ts';
import type { Context } from '../../actions/context.ts';
import { EXIT } from '../command/io.ts';
import { flag, inTransport, isYes, note, print, text, type Call } from '../command/command.ts';
import type { CommandSpec } from '../command/spec.ts';
import { colourless, indent, table } from '../view/render.ts';
import { NOT_TRIED_YET } from '../../present/holds.ts';

const MOST_NAMED = 5;
const ACTIONS = ['list', 'show', 'retry', 'drop', 'clear'];

const DECIDES =
  'what becomes of mail that failed is decided by an operator, in a terminal of their own';

export const commands: readonly CommandSpec[] = [
  {
    name: 'dlq',
    summary: 'the dead letters of this machine',
    options: [
      ['--list', 'one line each (default)'],
      ['--show <id>', 'everything about one: its id, the beginning of it, or a message in it'],
      ['--retry <id>', 'try one again, or all'],
      ['--drop <id>', 'forget one, or all; the messages stay on record'],
      ['--clear', 'forget all'],
      ['--yes', 'do not ask'],
    ],
    inRun: { retry: DECIDES, drop: DECIDES, clear: DECIDES, yes: DECIDES },
    example: 'crosstalk dlq',
    paged: true,
    run,
  },
];

function run(call: Call): Promise<number> {
  const asked = ACTIONS.filter((action) => call.options[action] !== undefined);
  if (asked.length > 1) {
    throw new CrosstalkError(
      'usage',
      `${asked.map((action) => `--${action}`).join(' and ')} were given; give one of them`,
    );
  }
  return inTransport(call, async (context) => {
    switch (asked[0]) {
      case 'show':
        return show(call, context, text(call, 'show') ?? '');
      case 'retry':
        return retry(call, context, text(call, 'retry') ?? '');
      case 'drop':
        return drop(call, context, text(call, 'drop') ?? '');
      case 'clear':
        return drop(call, context, 'all');
      default:
        return list(call, context);
    }
  });
}

async function list(call: Call, context: Context): Promise<number> {
  const letters = await listDeadLetters(context);
  sayNone(call, letters);
  return print(call, letters, () => table(letters.map(row)));
}

function sayNone(call: Call, letters: readonly DeadLetter[]): void {
  if (letters.length === 0) note(call, 'no dead letters');
}

function row({ id, state, actor, reason, attempts, messages, detail }: DeadLetter): string[] {
  return [id, state, actor, reason, countOf(attempts, 'attempt'), messages.join(','), detail];
}

async function show(call: Call, context: Context, id: string): Promise<number> {
  const letter = await findDeadLetter(context, id);
  const { stderr_tail: stderr, messages, ...facts } = letter;
  const stdout = await printedFor(context, letter);
  return print(call, { ...letter, stdout_tail: stdout ?? null }, () =>
    [
      table(
        Object.entries(facts).map(([key, value]) => [
          key,
          typeof value === 'object' ? JSON.stringify(value) : String(value),
        ]),
      ),
      ...messages.map((relPath) => `message  ${relPath}`),
      ...(stdout === undefined ? [] : [`stdout\n${indent(colourless(stdout))}`]),
      `stderr\n${indent(colourless(stderr))}`,
      ...(stdout === undefined ? [] : messages.slice(0, 1)).map(
        (one) => `all that its last run printed: crosstalk watch ${one}`,
      ),
    ].join('\n'),
  );
}

async function retry(call: Call, context: Context, id: string): Promise<number> {
  const { released, woken } = await retryDeadLetters(context, id);
  sayNone(call, released);
  if (!woken && released.length > 0) note(call, NOT_TRIED_YET);
  return print(call, released, () => released.map((letter) => `Retrying: ${letter.id}`).join('\n'));
}

/** Forgets one, or all: shows them, and asks on a terminal. */
async function drop(call: Call, context: Context, id: string): Promise<number> {
  const letters =
    id === 'all' ? await listDeadLetters(context) : [await findDeadLetter(context, id)];
  sayNone(call, letters);
  const isExact = letters.length === 1 && letters[0]?.id === id.trim().toUpperCase();
  if (letters.length > 0 && !(await mayDrop(call, letters, isExact))) return EXIT.failed;
  await dropDeadLetters(context, letters);
  return print(call, letters, () => letters.map((letter) => `Dropped: ${letter.id}`).join('\n'));
}

async function mayDrop(
  call: Call,
  letters: readonly DeadLetter[],
  isExact: boolean,
): Promise<boolean> {
  const { io } = call;
  if (flag(call, 'yes') || (isExact && io.ask === undefined)) return true;
  const many = letters.length === 1 ? 'this dead letter' : `${String(letters.length)} dead letters`;
  if (io.ask === undefined) {
    const ids = letters.map((letter) => letter.id).slice(0, MOST_NAMED);
    throw new CrosstalkError(
      'usage',
      `${many} would be forgotten: ${ids.join(', ')}${letters.length > MOST_NAMED ? ', …' : ''}; say so with --yes`,
    );
  }
  io.err(`${table(letters.map(row))}\n`);
  return isYes(await io.ask(`Forget ${many}? The messages stay on record. [y/N] `));
}
