import { CrosstalkError } from '../../errors.ts';
import { repliedJson } from '../../operations/shapes/as-json.ts';
import type { Replied } from '../../operations/reading/replies.ts';
import { markedLines } from '../../protocol/text/structure.ts';
import { print, text, type Call } from '../command/command.ts';
import { durationOf } from '../command/duration.ts';
import { indent, painter } from './render.ts';

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

/** The beginning of a line that this program prints itself, after blanks and invisible characters. */
const OURS = /^[\p{Z}\p{C}>]*(?:REPLIED|PENDING|from\s+\S+)\s+\d{4}\//u;

function render({ io }: Call, { ref, replies: list }: Replied): string {
  const paint = painter(io);
  if (list.length === 0) return `${paint('yellow', 'PENDING')} ${ref.relPath}`;
  return [
    `${paint('green', 'REPLIED')} ${ref.relPath}`,
    ...list.map(({ relPath, message }) => {
      // If the text were indented only as much as the line above it, it could pass for another
      // reply.
      const body = markedLines(message.body, (line) => OURS.test(line));
      return `  from ${message.from} ${relPath}\n${indent(body)}`;
    }),
  ].join('\n');
}
