import { setTimeout as sleep } from 'node:timers/promises';
import { CrosstalkError } from '../../errors.ts';
import { holderOf } from '../../state/lock.ts';
import type { TranscriptHead, TranscriptLine } from '../../state/transcripts/lines.ts';
import { Transcripts } from '../../state/transcripts/transcripts.ts';
import type { TranscriptReader } from '../../state/transcripts/transcript-reader.ts';
import type { Context } from '../context.ts';
import { soughtBy, type Sought } from './sought.ts';
import { isUnderWay } from './under-way.ts';

/** What is seen of the runs of this machine. */
export type Seen =
  /** A run that goes on, or one that has ended and is shown from its beginning. */
  | { kind: 'run'; run: TranscriptHead; live: boolean }
  | { kind: 'line'; run: TranscriptHead; line: TranscriptLine }
  /** It ended, and its transcript does not say how: its dispatcher died. */
  | { kind: 'cut'; run: TranscriptHead }
  /** Nothing is there yet. */
  | { kind: 'waits'; next: string; dispatcher: boolean };

export interface WatchInput {
  /** An actor, or a message. */
  what?: string;
  /** Whether to go on with the next runs. */
  follow: boolean;
  signal: AbortSignal;
}

/** Milliseconds between two looks. */
const LOOK_MS = 100;
/** Milliseconds after which a run that has no transcript will have none. */
const BEGUN_MS = 5000;
/** Looks without news after which it is asked whether a run still goes on. */
const PATIENCE = 5;

/**
 * What the runs of this machine print, as they print it (work.md, "Watching"): those under way, or the
 * next one; it ends with them, unless it follows. It only reads files, so it costs nothing where nobody
 * watches, and shows what was printed also when the dispatcher was killed.
 *
 * @throws CrosstalkError `not_found` for what is no actor of this machine and no message, or for a message
 *   of which no run is on record and none will come
 */
export async function* watch(context: Context, input: WatchInput): AsyncGenerator<Seen> {
  const { signal, follow } = input;
  const sought = await soughtBy(context, input.what);
  const transcripts = new Transcripts(context.paths.transcripts);
  const known = new Set(await transcripts.ids());
  const open = await first(context, transcripts, sought, [...known]);
  try {
    if (open.length === 0) {
      if ('nothing' in sought.waitsFor)
        throw new CrosstalkError('not_found', sought.waitsFor.nothing);
      const { next } = sought.waitsFor;
      const dispatcher = (await holderOf(context.paths.root, 'dispatcher')) !== undefined;
      yield { kind: 'waits', next, dispatcher };
    }
    let isBegun = false;
    while (!signal.aborted) {
      for (const one of open) yield* look(context, one);
      isBegun ||= open.length > 0;
      for (const one of open.filter(({ isOver }) => isOver)) {
        await one.reader.close();
        open.splice(open.indexOf(one), 1);
      }
      if (isBegun && open.length === 0 && !follow) return;
      if (!isBegun || follow) open.push(...(await arrived(transcripts, sought, known)));
      if (open.every(({ quiet }) => quiet > 0))
        await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    for (const { reader } of open) await reader.close();
  }
}

/** A run that is watched. */
interface Open {
  id: string;
  reader: TranscriptReader;
  isTold: boolean;
  /** Looks since the last news. */
  quiet: number;
  isOver: boolean;
}

function opened(transcripts: Transcripts, id: string): Open {
  return { id, reader: transcripts.reader(id), isTold: false, quiet: 0, isOver: false };
}

/** The runs under way; of a message with none the last run of each actor. */
async function first(
  context: Context,
  transcripts: Transcripts,
  { isIt, isMessage }: Sought,
  ids: readonly string[],
): Promise<Open[]> {
  const isServed = (await holderOf(context.paths.root, 'dispatcher')) !== undefined;
  const records = isServed ? await context.runs.leftovers() : [];
  const under = records.map(({ id }) => id);
  const live: string[] = [];
  const ended = new Map<string, string>();
  for (const id of isMessage ? ids : ids.filter((one) => under.includes(one))) {
    const head = await transcripts.head(id);
    if (head === undefined || !isIt(head)) continue;
    if (under.includes(id)) live.push(id);
    else ended.set(head.actor, id);
  }
  // A transcript is begun a moment after the record.
  const edge = new Date(context.now().getTime() - BEGUN_MS).toISOString();
  const untold = records.filter(({ id, since = '' }) => since < edge && !ids.includes(id)).length;
  if (untold > 0)
    context.note(
      `of ${String(untold)} under way nothing is taken down: the disk is full, or ${context.paths.transcripts} may not be written to`,
    );
  return (live.length > 0 ? live : [...ended.values()]).map((id) => opened(transcripts, id));
}

/** The runs that have begun since. */
async function arrived(
  transcripts: Transcripts,
  { isIt }: Sought,
  known: Set<string>,
): Promise<Open[]> {
  const found: Open[] = [];
  for (const id of await transcripts.ids()) {
    if (known.has(id)) continue;
    const head = await transcripts.head(id);
    // Its first line may not be written yet.
    if (head === undefined) continue;
    known.add(id);
    if (isIt(head)) found.push(opened(transcripts, id));
  }
  return found;
}

async function* look(context: Context, one: Open): AsyncGenerator<Seen> {
  // Asked before the look: what is written until it is over is seen by it.
  const isAsked = !one.isTold || one.quiet >= PATIENCE;
  const isLive = !isAsked || (await isUnderWay(context, one.id));
  const lines = await one.reader.look();
  const { head } = one.reader;
  if (head === undefined) {
    one.isOver = !isLive;
    one.quiet++;
    return;
  }
  if (!one.isTold) yield { kind: 'run', run: head, live: isLive };
  one.isTold = true;
  for (const line of lines) yield { kind: 'line', run: head, line };
  one.quiet = lines.length > 0 ? 0 : isAsked ? 1 : one.quiet + 1;
  one.isOver = lines.some(({ kind }) => kind === 'end');
  if (one.isOver || isLive) return;
  one.isOver = true;
  yield { kind: 'cut', run: head };
}
