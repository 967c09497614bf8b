import { CrosstalkError } from '../../errors.ts';
import {
  dropDeadLetters,
  findDeadLetter,
  listDeadLetters,
  retryDeadLetters,
} from '../../operations/upkeep/dlq.ts';
import type { Context } from '../../operations/context.ts';
import { flag, inTransport, note, print, text, type Call } from '../command/command.ts';
import { indent, table } from '../view/render.ts';

const ACTIONS = ['list', 'show', 'retry', 'drop', 'clear'];

export function run(call: Call): Promise<number> {
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
        return clear(call, context);
      default:
        return list(call, context);
    }
  });
}

async function list(call: Call, context: Context): Promise<number> {
  const letters = await listDeadLetters(context);
  if (letters.length === 0) note(call, 'no dead letters');
  return print(call, letters, () =>
    table(
      letters.map(({ id, state, actor, reason, attempts, messages, detail }) => [
        id,
        state,
        actor,
        reason,
        `${String(attempts)} attempts`,
        messages.join(','),
        detail,
      ]),
    ),
  );
}

async function show(call: Call, context: Context, id: string): Promise<number> {
  const letter = await findDeadLetter(context, id);
  const { stderr_tail: stderr, messages, ...facts } = letter;
  return print(call, letter, () =>
    [
      table(Object.entries(facts).map(([key, value]) => [key, String(value)])),
      ...messages.map((relPath) => `message  ${relPath}`),
      `stderr\n${indent(stderr)}`,
    ].join('\n'),
  );
}

async function retry(call: Call, context: Context, id: string): Promise<number> {
  const { released, woken } = await retryDeadLetters(context, id);
  if (!woken && released.length > 0)
    note(call, 'no dispatcher is running here; they are tried when one starts: crosstalk dispatch');
  return print(call, released, () => released.map((letter) => `Retrying: ${letter.id}`).join('\n'));
}

async function drop(call: Call, context: Context, id: string): Promise<number> {
  const dropped = await dropDeadLetters(context, id);
  return print(call, dropped, () => dropped.map((letter) => `Dropped: ${letter.id}`).join('\n'));
}

async function clear(call: Call, context: Context): Promise<number> {
  const count = (await listDeadLetters(context)).length;
  if (count > 0 && !flag(call, 'yes')) {
    if (call.io.ask === undefined) {
      throw new CrosstalkError(
        'usage',
        `${String(count)} dead letters would be forgotten; say so with: crosstalk dlq --clear --yes`,
      );
    }
    const answer = await call.io.ask(`Forget ${String(count)} dead letters? [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) return 1;
  }
  return drop(call, context, 'all');
}
