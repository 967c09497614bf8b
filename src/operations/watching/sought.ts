import { CrosstalkError } from '../../errors.ts';
import { reach } from '../../protocol/address.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';
import { placeOfRef } from '../../protocol/reference.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { shown } from '../../protocol/text/result.ts';
import { Cursors } from '../../state/cursors.ts';
import type { TranscriptHead } from '../../state/transcripts/lines.ts';
import type { Context } from '../context.ts';
import { readMessage, type ReadMessage } from '../reading/read.ts';
import { knownHost } from '../setup/approvals.ts';
import { isSettled } from '../tracing/facts.ts';

/** Whose runs are watched. */
export interface Sought {
  isIt: (run: TranscriptHead) => boolean;
  /** Whether it is one message, of which a run that has ended is shown as well. */
  isMessage: boolean;
  /** What is said where there is no run: that one is waited for, or why none will come. */
  waitsFor: { next: string } | { nothing: string };
}

/** What a message may be named by; everything else is the name of an actor. */
const MESSAGE = /\/|^[0-9a-fA-F]{4,64}$/;
/** The most actors that an error names. */
const MAX_NAMED = 8;

/**
 * What somebody wants to watch: an actor of this machine, a message, or whatever runs.
 *
 * @param given the actor's name, or the message in any form in which one may be named
 * @throws CrosstalkError `not_found` for a name that is neither
 */
export async function soughtBy(context: Context, given: string | undefined): Promise<Sought> {
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

/** The runs for a message; for an answer those of its writer for what it answers. */
async function ofMessage(
  context: Context,
  { channel: { id }, relPath, message }: ReadMessage,
  { alias, actors }: { alias: string; actors: readonly string[] },
): Promise<Sought> {
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
