import { setTimeout as sleep } from 'node:timers/promises';
import { CrosstalkError } from '../../errors.ts';
import { holderOf } from '../../state/lock.ts';
import type {
  TranscriptHead,
  TranscriptLine,
  TranscriptReader,
} from '../../state/transcripts/transcript-reader.ts';
import { Transcripts } from '../../state/transcripts/transcripts.ts';
import type { Context } from '../context.ts';
import { reach } from '../../protocol/address.ts';
import { type MessageRef, placeOfRef } from '../../protocol/layout.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { shown } from '../../protocol/text/result.ts';
import { Cursors } from '../../state/cursors.ts';
import { readMessage, type ReadMessage } from '../reading/read.ts';
import { knownHost } from '../setup/approvals.ts';
import { isSettled } from '../tracing/facts.ts';

/** An observation of the runs of this machine. */
export type Seen =
  /** A run in progress, or one that has ended and is shown from its beginning. */
  | { kind: 'run'; run: TranscriptHead; live: boolean }
  | { kind: 'line'; run: TranscriptHead; line: TranscriptLine }
  /** The run ended, and its transcript does not say how: its dispatcher died. */
  | { kind: 'cut'; run: TranscriptHead }
  /** Nothing is there yet. */
  | { kind: 'waits'; next: string; dispatcher: boolean };

export interface WatchInput {
  /** An actor, or a message. */
  what?: string;
  /** Whether to continue with the next runs. */
  follow: boolean;
  signal: AbortSignal;
}

/** Milliseconds between two looks. */
const LOOK_MS = 100;
/** Milliseconds after which a run that has no transcript will not get one. */
const BEGUN_MS = 5000;
/** Number of looks without news after which to check whether a run is still in progress. */
const PATIENCE = 5;

/**
 * Yields the output of the runs of this machine, as it is printed (work.md, "Watching"): those in progress, or the
 * next one; it ends with them, unless it follows. It only reads files, so it costs nothing when nobody watches, and
 * also shows output printed after the dispatcher was killed.
 *
 * @throws CrosstalkError `not_found` when the input is neither an actor of this machine nor a message, or for a
 * message of which no run is on record and none will come
 */
export async function* watch(context: Context, input: WatchInput): AsyncGenerator<Seen> {
  const { signal, follow } = input;
  const sought = await targetsOf(context, input.what);
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
  /** Number of looks since the last news. */
  quiet: number;
  isOver: boolean;
}

function opened(transcripts: Transcripts, id: string): Open {
  return { id, reader: transcripts.reader(id), isTold: false, quiet: 0, isOver: false };
}

/** Returns the runs in progress; for a message without one, the last run of each actor. */
async function first(
  context: Context,
  transcripts: Transcripts,
  { isIt, isMessage }: Target,
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
  // A transcript starts a moment after the record.
  const edge = new Date(context.now().getTime() - BEGUN_MS).toISOString();
  const untold = records.filter(({ id, since = '' }) => since < edge && !ids.includes(id)).length;
  if (untold > 0)
    context.note(
      `of ${String(untold)} under way nothing is taken down: the disk is full, or ${context.paths.transcripts} may not be written to`,
    );
  return (live.length > 0 ? live : [...ended.values()]).map((id) => opened(transcripts, id));
}

/** Returns the runs that have started since. */
async function arrived(
  transcripts: Transcripts,
  { isIt }: Target,
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
  // Checked before the look: the look sees everything that is written until the run is over.
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

/** The runs that the user wants to watch. */
interface Target {
  isIt: (run: TranscriptHead) => boolean;
  /** Whether they are the runs of one message, of which a run that has ended is shown as well. */
  isMessage: boolean;
  /** The text to show when there is no run: the run that is waited for, or why none will come. */
  waitsFor: { next: string } | { nothing: string };
}

/** The forms in which a message may be named; everything else is the name of an actor. */
const MESSAGE = /\/|^[0-9a-fA-F]{4,64}$/;
/** Maximum number of actors that an error names. */
const MAX_NAMED = 8;

/**
 * Determines what the user wants to watch: an actor of this machine, a message, or any run.
 *
 * @param given the actor's name, or the message in any form in which one may be named
 * @throws CrosstalkError `not_found` for a name that is neither
 */
async function targetsOf(context: Context, given: string | undefined): Promise<Target> {
  if (given === undefined)
    return { isIt: () => true, isMessage: false, waitsFor: { next: 'the next run' } };
  const { host } = await knownHost(context, undefined);
  const actors = [...(host?.inForce.keys() ?? [])];
  if (actors.includes(given))
    return {
      isIt: ({ actor }) => actor === given,
      isMessage: false,
      waitsFor: { next: `the next run of ${given}` },
    };
  if (!MESSAGE.test(given)) throw unknown(given, actors);
  const message = await readMessage(context, given);
  return ofMessage(context, message, { alias: host?.alias ?? '', actors });
}

/** Returns the runs for a message; for an answer, also those of its writer for the messages that it answers. */
async function ofMessage(
  context: Context,
  { channel: { id }, relPath, message }: ReadMessage,
  { alias, actors }: { alias: string; actors: readonly string[] },
): Promise<Target> {
  const own = { channel: id, relPath };
  const asked = message.re.map((ref) => placeOfRef(id, ref));
  const isIn = ({ channel, messages }: TranscriptHead, ref: MessageRef): boolean =>
    channel === ref.channel && messages.includes(ref.relPath);
  const cursors = await new Cursors(context.paths.root).load();
  const served = actors.filter(
    (actor) => reach(message.to, message.from, actor, alias) === 'addressed',
  );
  const open = await Promise.all(
    served.map(async (actor) => !(await isSettled(context, cursors, actor, own))),
  );
  return {
    isIt: (run) =>
      isIn(run, own) || (run.actor === message.from && asked.some((ref) => isIn(run, ref))),
    isMessage: true,
    waitsFor: open.includes(true)
      ? { next: `a run for ${relPath}` }
      : {
          nothing: `no run of this machine for ${relPath} is on record: each machine keeps its own, for 7 days unless git config crosstalk.keepTranscripts says otherwise; see who has it with: crosstalk thread ${relPath}`,
        },
  };
}

function unknown(given: string, actors: readonly string[]): CrosstalkError {
  const named = actors.slice(0, MAX_NAMED).join(', ');
  const more = actors.length > MAX_NAMED ? ` and ${String(actors.length - MAX_NAMED)} more` : '';
  return new CrosstalkError(
    'not_found',
    `${shown(given)} is neither a message nor an actor of this machine, which serves ${named === '' ? 'none' : named}${more}${didYouMean(given, actors)}; what other machines run is watched there`,
  );
}

/**
 * Whether a run is in progress: it is on record, and there is a dispatcher that handles it. Its record is
 * removed after the last line of its transcript was written.
 */
export async function isUnderWay(
  { paths, runs }: Pick<Context, 'paths' | 'runs'>,
  id: string,
): Promise<boolean> {
  return (await runs.has(id)) && (await holderOf(paths.root, 'dispatcher')) !== undefined;
}
