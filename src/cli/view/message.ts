import { suffixOf } from '../../protocol/names.ts';
import { colourless, type painter } from './render.ts';
import type { PutFile } from '../../operations/reading/message-files.ts';
import { sizeInWords, type AttachedFile } from '../../protocol/attached.ts';
import { shown } from '../../protocol/text/result.ts';
import { branchInWords } from '../../protocol/text/branch.ts';
import { optionLines, type Failure, type TalkFields } from '../../protocol/talk.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { reasonInWords } from '../../protocol/text/words.ts';
import type { Mark } from '../../protocol/owed.ts';
import type { Cancellation, Force } from '../../operations/lookup/taken-back.ts';
import type { Call } from '../command/command.ts';

export type Paint = ReturnType<typeof painter>;

const COLOURS = ['cyan', 'green', 'yellow', 'magenta', 'blue', 'red'] as const;
const SHORT_SUFFIX = 8;

/** A name in its colour, which is the same everywhere. */
export function actor(paint: Paint, name: string): string {
  let hash = 0;
  for (const letter of name) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 0xffffff;
  return paint(COLOURS[hash % COLOURS.length] ?? 'cyan', name);
}

/** The first digits of a message's suffix, by which it may be named in a command. */
export function shortName(relPath: string): string {
  return suffixOf(relPath).slice(0, SHORT_SUFFIX);
}

const FENCE = /^\s*(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6}(\s|$)/;

/**
 * A message's text for a terminal: headings bold, code dim, everything else unchanged. Nothing in
 * it can control the terminal. Blank lines at its end are removed.
 */
export function body(paint: Paint, text: string): string {
  let fence = '';
  const lines = colourless(text).trimEnd().split('\n');
  const painted = lines.map((line) => {
    const [opening = '', mark = ''] = FENCE.exec(line) ?? [];
    if (fence !== '') {
      if (mark.startsWith(fence) && line.slice(opening.length).trim() === '') fence = '';
      return paint('dim', line);
    }
    fence = mark;
    if (mark !== '') return paint('dim', line);
    return HEADING.test(line) ? paint('bold', line) : line;
  });
  return painted.join('\n');
}

/** How many files a message brings along, in words; nothing for none. */
export function filesMark(files: readonly AttachedFile[] = []): string[] {
  const count = files.length;
  return count === 0 ? [] : [count === 1 ? '1 file' : `${String(count)} files`];
}

/** An attached file in one line; what it is called is what its sender wrote. */
export function fileLine({ name, bytes, type }: AttachedFile): string {
  return `${shown(name)} (${type}, ${sizeInWords(bytes)})`;
}

/** What became of an attached file that was to be put into a folder. */
export function putLine({ file, path, problem }: PutFile): string {
  return path === undefined ? `${fileLine(file)} ${problem ?? ''}` : `${fileLine(file)}: ${path}`;
}

/**
 * The mark of a message whose writer's name has a pinned key here, to be shown after that name; none
 * for any other message.
 */
export function verifiedMark(
  paint: ReturnType<typeof painter>,
  verified: boolean | undefined,
): string[] {
  if (verified === undefined) return [];
  return [verified ? paint('green', 'verified') : paint('red', 'unverified')];
}

const MARKS = { interim: 'interim', failure: 'notice of a failure' } as const;
const CANCELS: Record<Force, string> = {
  cancels: 'cancels it',
  late: 'cancels it after the answer, which stays',
  none: 'would cancel it, but has no force',
};

/** The words for the mark of a message. @param force of a cancellation */
export function markWords(mark: Exclude<Mark, null>, force: Force = 'cancels'): string {
  return mark === 'cancel' ? CANCELS[force] : MARKS[mark];
}

/** Words for a message that was taken back. @param shortened how its path is shown */
export function cancelledWords(
  { relPath, force, queued }: Cancellation,
  shortened: (relPath: string) => string = (whole) => whole,
): string {
  const late = force === 'late' ? ', after the answer, which stays' : '';
  return `by ${shortened(relPath)}${late}${queued === true ? ', which is not on the remote yet' : ''}`;
}

/** What a message says of its part in an exchange (talk.md), as rows of a name and a text. */
export function talkRows(fields: TalkFields, force?: Force): [string, string | undefined][] {
  const { asks, options = [], interim, final, failed, cancels, schema, json, branch } = fields;
  const { proposal, permission, decision } = fields;
  return [
    ['asks', asks && 'anew, in an old thread'],
    ...optionLines(options).map((line): [string, string] => ['option', line]),
    ['schema', schema && escapeInvisible(schema)],
    ['json', json && 'fits the schema of what it answers'],
    ['interim', interim && 'the answer is still to come'],
    ['final', final],
    ['failed', failed && whyFailed(failed)],
    [
      'cancels',
      cancels && [cancels, ...(force === 'none' ? ['which has no force'] : [])].join(', '),
    ],
    ['branch', branch && branchInWords(branch)],
    ['proposal', proposal && 'waits for a decision: crosstalk approve, or crosstalk deny'],
    ['tool', permission && escapeInvisible(permission.tool)],
    ['input', permission && escapeInvisible(permission.input)],
    ['marks', permission?.marks?.join(', ')],
    ['decision', decision],
  ];
}

function whyFailed({ reason, attempts, host, dead_letter: id }: Failure): string {
  return `${reasonInWords(reason)} after ${String(attempts)} ${attempts === 1 ? 'attempt' : 'attempts'} on ${host}, dead letter ${id}`;
}

/** The same call, in which no line is said twice on stderr: sending and waiting find the same things. */
export function withoutRepeats(call: Call): Call {
  const said = new Set<string>();
  const err = (text: string): void => {
    if (!said.has(text)) call.io.err(text);
    said.add(text);
  };
  return { ...call, io: { ...call.io, err } };
}
