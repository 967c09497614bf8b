import { CrosstalkError } from '../../errors.ts';
import { optionLines } from '../../protocol/choice.ts';
import { repliedJson } from '../../operations/shapes/as-json.ts';
import type { Ending, Replied } from '../../operations/reading/replies.ts';
import { failureLines, reasonsOf } from '../../operations/waiting/words.ts';
import { markOf } from '../../protocol/owed.ts';
import { markedLines } from '../../protocol/text/structure.ts';
import { note, print, text, type Call } from '../command/command.ts';
import { durationOf } from '../command/duration.ts';
import { EXIT } from '../command/exit.ts';
import { branchInWords } from '../../protocol/text/branch.ts';
import { forceIn } from '../../operations/lookup/taken-back.ts';
import { filesMark } from './files.ts';
import { markWords } from './talk-rows.ts';
import { localTimes } from './message.ts';
import { colourless, indent, painter } from './render.ts';
import { verifiedMark } from './verified.ts';

const DEFAULT_TIMEOUT_S = '600';
/** A year. */
const LONGEST_MS = 365 * 86_400_000;

/**
 * The messages that a command is about, from its arguments and `--re`, separated by blanks or
 * commas.
 */
export function messagesOf(call: Call): string[] {
  const words = [...call.args, text(call, 're')].flatMap((word) => (word ?? '').split(','));
  const messages = words.map((word) => word.trim()).filter((word) => word !== '');
  if (messages.length > 0) return messages;
  throw new CrosstalkError(
    'usage',
    `no message was named; give the path that send printed: crosstalk ${call.name} <relPath>`,
  );
}

/** The value of `--timeout` in milliseconds. */
export function timeoutOf(call: Call): number {
  return durationOf(call, 'timeout', { fallback: DEFAULT_TIMEOUT_S, least: 0, most: LONGEST_MS });
}

/** Prints the answers to some messages (cli.md). */
export function printReplied(call: Call, found: readonly Replied[]): void {
  print(call, found.map(repliedJson), () => found.map((one) => render(call, one)).join('\n'));
}

/**
 * Says on stderr why the waiting ended without the answers, and returns the exit code of a command that
 * has waited.
 */
export function ended(call: Call, ending: Ending, found: readonly Replied[]): number {
  if (ending === 'complete') return EXIT.ok;
  for (const one of found)
    for (const line of reasonsOf(one)) note(call, `${one.ref.relPath}: ${localTimes(line)}`);
  if (ending === 'timed_out') return EXIT.timedOut;
  // Who chose to say nothing beside others who have answered has not failed.
  return found.some(({ state, failures }) => state !== 'REPLIED' || failures.length > 0)
    ? EXIT.failed
    : EXIT.ok;
}

/** A function that prints on stderr what holds an answer up. */
export function heldUpTo(call: Call): (line: string) => void {
  return (line) => {
    note(call, localTimes(line));
  };
}

/** The beginning of a line that this program prints itself, after blanks and invisible characters. */
const OURS = /^[\p{Z}\p{C}>]*(?:REPLIED|PENDING|FAILED|from\s+\S+)\s+\d{4}\//u;

const COLOURS = { PENDING: 'yellow', REPLIED: 'green', FAILED: 'red' } as const;

function render({ io }: Call, { ref, state, replies: list, ...rest }: Replied): string {
  const { cancellations } = rest;
  const paint = painter(io);
  return [
    `${paint(COLOURS[state], state)} ${ref.relPath}`,
    ...failureLines(rest, ({ dead_letter: id }) => `; dead letter ${id}`).map((one) => `  ${one}`),
    ...list.map(({ relPath, message, verified }) => {
      // If the text were indented only as much as the line above it, it could pass for another
      // reply.
      const said = [message.body, ...optionLines(message.options ?? [])].join('\n');
      const body = markedLines(colourless(said), (line) => OURS.test(line));
      const mark = markOf(message);
      const notes = [
        ...verifiedMark(paint, verified),
        ...(mark === null ? [] : [markWords(mark, forceIn(cancellations ?? [], relPath))]),
        ...filesMark(message.files),
        ...(message.branch === undefined ? [] : [`branch ${branchInWords(message.branch)}`]),
      ].map((words) => ` (${words})`);
      return `  from ${message.from} ${relPath}${notes.join('')}\n${indent(body)}`;
    }),
  ].join('\n');
}
