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

/** Maximum bytes read from the end of a log: some thousand moves. */
const MAX_LOG = 1024 * 1024;
const MOVE = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\t]*> (\d+) [^\t]*\t(.*)$/;

function parse(text: string): RefMove[] {
  return text.split('\n').flatMap((line) => {
    const [, from, to, at, said = ''] = MOVE.exec(line) ?? [];
    if (from === undefined || to === undefined) return [];
    const why = said.endsWith(': forced-update') ? 'forced' : said === 'pushed' ? said : 'other';
    return [{ from, to, at: Number(at), why }];
  });
}

/** Reads a log from a position on, or only its end, as it grows for ever; returns the position of its end too. */
async function readFrom(log: string, at: number): Promise<{ text: string; end: number }> {
  const file = await open(log).catch(() => undefined);
  if (file === undefined) return { text: '', end: 0 };
  try {
    const { size } = await file.stat();
    const from = Math.max(at, size - MAX_LOG, 0);
    const room = Math.max(size - from, 0);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(room), 0, room, from);
    return { text: buffer.toString('latin1', 0, bytesRead), end: from + bytesRead };
  } finally {
    await file.close();
  }
}

/**
 * Returns the commits that a ref was moved away from by force: the history that ended with them was on
 * the bus, and is not in the history of what came next.
 */
export function leftBehind(moves: readonly RefMove[]): string[] {
  return [...new Set(moves.flatMap(({ from, why }) => (why === 'forced' ? [from] : [])))];
}

/** Returns the commit that a ref was last moved to by force from `commit`; undefined if it never was. */
export function replacedBy(moves: readonly RefMove[], commit: string): string | undefined {
  return moves.findLast(({ from, why }) => why === 'forced' && from === commit)?.to;
}

/** The position at which a reader of a log has stopped. */
export interface LogPlace {
  log: string;
  /** Bytes. */
  at: number;
}

/**
 * Reads the moves of a ref since a position in its log, oldest first; without a position in this log, all
 * of them.
 */
export async function movesSince(
  log: string,
  place?: LogPlace,
): Promise<{ moves: RefMove[]; place: LogPlace }> {
  const since = place?.log === log ? place.at : 0;
  // Most polls find nothing new.
  if (since > 0 && (await endAt(log)) <= since) return { moves: [], place: { log, at: since } };
  const { text, end } = await readFrom(log, since);
  return { moves: parse(text), place: { log, at: end } };
}

function endAt(log: string): Promise<number> {
  return stat(log).then(
    ({ size }) => size,
    () => 0,
  );
}

/** Returns the commits that a ref named before it first named `commit`. */
export function stoodBefore(moves: readonly RefMove[], commit: string): Set<string> {
  const first = moves.findIndex(({ to }) => to === commit);
  return new Set(moves.slice(0, Math.max(first, 0)).map(({ to }) => to));
}
