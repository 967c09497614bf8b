import { optionLines } from '../protocol/talk.ts';
import { clean, oneLine } from './clean.ts';
import { cut, widthOf, wrap } from './columns.ts';
import { roomOf, type ChatState, type Room } from './model.ts';
import type { Entry } from './port.ts';
import { shortTime } from '../present/times.ts';
import { markWords, verifiedWords } from '../present/marks.ts';
import {
  inWords as stateInWords,
  presentAll,
  type Addressee,
  type Tone,
} from '../present/state.ts';
import { answersIn, threadsOf, type ChatThread } from './threads.ts';

/** A piece of a line, which takes as many columns as its text. */
export interface Segment {
  text: string;
  style?: Tone | 'dim' | 'bold' | 'name';
  /** For the style `name`: the name that determines the colour. */
  of?: string;
}

export type Line = readonly Segment[];

/** The prefix of the selected thread's first line. */
export const SELECTED = '» ';

/** The columns of a message's text in a line that names it. */
const EXCERPT_COLUMNS = 24;
/** Lines shown of one message; `crosstalk read` shows the rest. */
const MAX_LINES = 200;
const MAX_CHARACTERS = 50_000;
const wrapped = new WeakMap<Entry, { width: number; lines: string[] }>();

/** Returns the threads of the channel on the screen, and whether each is folded. */
export function foldedThreads(state: ChatState): { thread: ChatThread; folded: boolean }[] {
  const room = roomOf(state, state.current);
  const threads = threadsOf(room.entries);
  return threads.map((thread, at) => ({
    thread,
    folded: isFolded(room, thread, at === threads.length - 1),
  }));
}

/**
 * Whether a thread is folded: one that was there before is; the newest thread, and one that received messages while
 * the chat was open, are not.
 */
function isFolded({ folds, live }: Room, { root, others }: ChatThread, isLast: boolean): boolean {
  const chosen = folds[root.relPath];
  if (chosen !== undefined) return chosen;
  const isLive = [root, ...others.map(({ entry }) => entry)].some(({ relPath }) => live[relPath]);
  return others.length > 0 && !isLast && !isLive;
}

/** Returns the conversation on the screen: everything that is loaded, as lines. */
export function conversationLines(state: ChatState, width: number): Line[] {
  const { older, entries } = roomOf(state, state.current);
  const lines: Line[] = [];
  if (older === 'loading') lines.push([{ text: cut('loading…', width), style: 'dim' }]);
  if (older === 'none' && entries.length === 0)
    lines.push([{ text: cut('no messages yet', width), style: 'dim' }]);
  for (const { thread, folded } of foldedThreads(state)) {
    if (folded) lines.push(foldedLine(state, thread, width));
    else lines.push(...unfolded(state, thread, width), []);
  }
  return lines;
}

function foldedLine(state: ChatState, thread: ChatThread, width: number): Line {
  const { root } = thread;
  const answers = answersIn(thread);
  const count = answers === 1 ? '1 answer' : `${String(answers)} answers`;
  const left: Segment[] = [
    { text: gutter(state, root, '▸') },
    { text: `${shortTime(root.at, state.now)} `, style: 'dim' },
    { text: root.from, style: 'name', of: root.from },
    ...verifiedSegments(root),
    { text: `: ${oneLine(root.body.slice(0, 500))}` },
  ];
  const right: Segment[] = [{ text: `  ${count}`, style: 'dim' }, ...stateSegments(state, root)];
  return beside(left, right, width);
}

function unfolded(state: ChatState, { root, others }: ChatThread, width: number): Line[] {
  const mark = others.length > 0 ? '▾' : ' ';
  return [
    ...message(state, root, 0, width, mark),
    ...others.flatMap(({ entry, depth }) => message(state, entry, depth, width, ' ')),
  ];
}

function message(
  state: ChatState,
  entry: Entry,
  depth: number,
  width: number,
  mark: string,
): Line[] {
  // A narrow terminal has no room to indent answers further.
  const indent = ' '.repeat(width < 40 ? Math.min(depth, 1) : 2 * depth);
  const head: Segment[] = [
    { text: depth === 0 ? gutter(state, entry, mark) : `  ${indent}` },
    { text: `${shortTime(entry.at, state.now)} `, style: 'dim' },
    { text: entry.from, style: 'name', of: entry.from },
    ...verifiedSegments(entry),
    ...(entry.cancels === undefined
      ? []
      : [{ text: ` ${markWords('cancel', entry.force)}`, style: 'busy' as const }]),
    { text: ' → ', style: 'dim' },
    ...entry.to.flatMap((name, at): Segment[] => [
      { text: at === 0 ? '' : ', ' },
      { text: name, style: 'name', of: name },
    ]),
  ];
  const inner = `  ${indent}`;
  const body = bodyLines(entry, Math.max(1, width - inner.length));
  return [
    beside(head, stateSegments(state, entry), width),
    ...body.map((text): Line => [{ text: inner }, { text }]),
  ];
}

/** Returns the mark behind the name of a writer with a key that is pinned here. */
function verifiedSegments({ verified }: Entry): Segment[] {
  return verifiedWords(verified).map((word) => ({
    text: ` ${word}`,
    style: verified === true ? 'good' : 'bad',
  }));
}

function bodyLines(entry: Entry, width: number): string[] {
  const known = wrapped.get(entry);
  if (known?.width === width) return known.lines;
  const all = wrap(clean(entry.body.slice(0, MAX_CHARACTERS)).trimEnd(), width);
  const lines = all.slice(0, MAX_LINES);
  const isCut = all.length > MAX_LINES || entry.body.length > MAX_CHARACTERS;
  if (isCut) lines.push(cut(`… more with: /read ${shortName(entry.relPath)}`, width));
  for (const line of optionLines(entry.options ?? [])) lines.push(...wrap(clean(line), width));
  wrapped.set(entry, { width, lines });
  return lines;
}

/** Words a message by its name and the beginning of its text. */
export function inWords({ relPath, body }: Pick<Entry, 'relPath' | 'body'>): string {
  return `${shortName(relPath)} "${cut(oneLine(body), EXCERPT_COLUMNS)}"`;
}

/** Returns the beginning of a message's random suffix, by which it can be named. */
export function shortName(relPath: string): string {
  return /-([0-9a-fA-F]{8})/.exec(relPath)?.[1] ?? relPath;
}

function stateSegments(state: ChatState, entry: Entry): Segment[] {
  const { relPath } = entry;
  const since = new Date(entry.at).toISOString();
  const known = state.standings[relPath] ?? [];
  const states: Addressee[] =
    state.queued[relPath] === true ? [{ actor: null, state: 'queued', detail: null }] : known;
  const shown = presentAll(
    states.map((one) => ({ since, ...one })),
    { me: state.me, now: state.now, brief: true },
  );
  const short = (time: string): string => shortTime(Date.parse(time), state.now);
  return shown.map((one) => ({
    text: `  ${stateInWords(one, state.now, short)}`,
    style: one.tone,
  }));
}

function gutter({ selected }: ChatState, { relPath }: Entry, mark: string): string {
  return selected === relPath ? SELECTED : `${mark} `;
}

/**
 * Puts two parts on one line: the first is shortened to make room for the second, which is
 * shortened only if the first would get less than a third.
 */
function beside(left: readonly Segment[], right: readonly Segment[], width: number): Line {
  const room = Math.floor((width * 2) / 3);
  const end = fitted(right, room);
  const taken = end.reduce((sum, { text }) => sum + widthOf(text), 0);
  return [...fitted(left, width - taken), ...end];
}

/** Returns the segments that fit, the last of them cut. */
export function fitted(segments: readonly Segment[], width: number): Segment[] {
  const shown: Segment[] = [];
  let left = width;
  for (const segment of segments) {
    const text = cut(segment.text, left);
    if (text !== '') shown.push({ ...segment, text });
    left -= widthOf(text);
    if (text !== segment.text) break;
  }
  return shown;
}
