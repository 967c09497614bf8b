import { open, stat } from 'node:fs/promises';

/** One move of a ref, as its log records it. */
export interface RefMove {
  /** Zeros where there was no ref before. */
  from: string;
  to: string;
  /** Seconds since 1970. */
  at: number;
  why: 'forced' | 'pushed' | 'other';
}

/** So much of the end of a log is read: some thousand moves. */
const MAX_LOG = 1024 * 1024;
const MOVE = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\t]*> (\d+) [^\t]*\t(.*)$/;

/** The moves of a ref, oldest first; none without a log. */
export async function movesOf(log: string): Promise<RefMove[]> {
  return parse(await endOf(log, MAX_LOG));
}

function parse(text: string): RefMove[] {
  return text.split('\n').flatMap((line) => {
    const [, from, to, at, said = ''] = MOVE.exec(line) ?? [];
    if (from === undefined || to === undefined) return [];
    const why = said.endsWith(': forced-update') ? 'forced' : said === 'pushed' ? said : 'other';
    return [{ from, to, at: Number(at), why }];
  });
}

/** The end of a log, which grows for ever; empty without one. @param most bytes */
export async function endOf(log: string, most: number): Promise<string> {
  return (await readFrom(log, 0, most)).text;
}

/**
 * A log from some position on, or only a number of bytes at its end; with the position where it
 * ends.
 */
async function readFrom(
  log: string,
  at: number,
  most: number,
): Promise<{ text: string; end: number }> {
  const file = await open(log).catch(() => undefined);
  if (file === undefined) return { text: '', end: 0 };
  try {
    const { size } = await file.stat();
    const from = Math.max(at, size - most, 0);
    const room = Math.max(size - from, 0);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(room), 0, room, from);
    return { text: buffer.toString('latin1', 0, bytesRead), end: from + bytesRead };
  } finally {
    await file.close();
  }
}

/**
 * The commits that a ref was moved away from by force since it was first at `commit`, and by the
 * move to it: the history that ended with them was on the bus, and is not in the history of what
 * came next. The ref may have come to one commit several times, and been somewhere else each time.
 *
 * @param commit undefined for everything that the log records
 */
export function leftBehind(moves: readonly RefMove[], commit: string | undefined): string[] {
  const isAsked = ({ from, to }: RefMove): boolean =>
    commit === undefined || from === commit || to === commit;
  const first = moves.findIndex(isAsked);
  const since = first < 0 ? [] : moves.slice(first);
  return [...new Set(since.flatMap(({ from, why }) => (why === 'forced' ? [from] : [])))];
}

/** What a ref was moved to by force from `commit`, the last time; undefined if it never was. */
export function replacedBy(moves: readonly RefMove[], commit: string): string | undefined {
  return moves.findLast(({ from, why }) => why === 'forced' && from === commit)?.to;
}

/** Where in a log somebody has stopped reading. */
export interface LogPlace {
  log: string;
  /** Bytes. */
  at: number;
}

/**
 * What a ref was moved away from by force since a position in its log; without a position, only
 * where the log ends.
 */
export async function leftSince(
  log: string,
  place: LogPlace | undefined,
): Promise<{ commits: string[]; place: LogPlace }> {
  const at = await endAt(log);
  // Most polls find nothing new.
  if (place?.log !== log || at <= place.at) return { commits: [], place: { log, at } };
  const { text, end } = await readFrom(log, place.at, MAX_LOG);
  return { commits: leftBehind(parse(text), undefined), place: { log, at: end } };
}

function endAt(log: string): Promise<number> {
  return stat(log).then(
    ({ size }) => size,
    () => 0,
  );
}

/** The commits that a ref was at before it was first at `commit`. */
export function stoodBefore(moves: readonly RefMove[], commit: string): Set<string> {
  const first = moves.findIndex(({ to }) => to === commit);
  return new Set(moves.slice(0, Math.max(first, 0)).map(({ to }) => to));
}
