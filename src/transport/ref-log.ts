import { open } from 'node:fs/promises';

/** One move of a ref, as its log tells of it. */
export interface Move {
  /** Zeros where there was no ref before. */
  from: string;
  to: string;
  why: 'forced' | 'pushed' | 'other';
}

/** So much of the end of a log is read: some thousand moves. */
const MAX_LOG = 1024 * 1024;
const MOVE = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\t]*\t(.*)$/;

/** The moves of a ref, oldest first; none without a log. */
export async function movesOf(log: string): Promise<Move[]> {
  return (await endOf(log, MAX_LOG)).split('\n').flatMap((line) => {
    const [, from, to, said = ''] = MOVE.exec(line) ?? [];
    if (from === undefined || to === undefined) return [];
    const why = said.endsWith(': forced-update') ? 'forced' : said === 'pushed' ? said : 'other';
    return [{ from, to, why }];
  });
}

/** The end of a log, which grows for ever; empty without one. @param most bytes */
export async function endOf(log: string, most: number): Promise<string> {
  const file = await open(log).catch(() => undefined);
  if (file === undefined) return '';
  try {
    const from = Math.max(0, (await file.stat()).size - most);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(most), 0, most, from);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/**
 * The commits that a ref was moved away from by force since it first stood at `commit`, and by the move
 * to it: what they ended was on the bus, and is not in the history of what came next. It may have come
 * to stand at one commit several times, and been somewhere else each time.
 */
export function leftBehind(moves: readonly Move[], commit: string): string[] {
  const first = moves.findIndex(({ from, to }) => from === commit || to === commit);
  const since = first < 0 ? [] : moves.slice(first);
  return [...new Set(since.flatMap(({ from, why }) => (why === 'forced' ? [from] : [])))];
}

/** The commits that a ref stood at before it first stood at `commit`. */
export function stoodBefore(moves: readonly Move[], commit: string): Set<string> {
  const first = moves.findIndex(({ to }) => to === commit);
  return new Set(moves.slice(0, Math.max(first, 0)).map(({ to }) => to));
}
