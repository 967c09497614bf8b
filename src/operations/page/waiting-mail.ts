import type { HostEntry } from '../../bus/host.ts';
import type { WebDelay, WebWaiting } from '../../api/api.ts';
import { CANCELLED } from '../../protocol/cancel.ts';
import { Cursors } from '../../state/cursors.ts';
import type { Context } from '../context.ts';
import type { Status } from '../health/report.ts';
import { isSettled } from '../tracing/facts.ts';
import { failureDelay, heldDelay, runDelay, type Holding } from '../tracing/held-mail.ts';
import { errandsOf, type Errand } from './errands.ts';
import type { OwnState } from './own-state.ts';
import type { Trace } from './recent.ts';

export interface WaitingParts {
  traces: readonly Trace[];
  own: OwnState;
  hosts: readonly HostEntry[];
  nameOf: (id: string) => string;
  facts: Pick<Status, 'host' | 'paused' | 'holds' | 'dispatcher'>;
}

/** The messages that wait for an answer, oldest first, and how far each is on this machine. */
export async function waitingMail(context: Context, parts: WaitingParts): Promise<WebWaiting[]> {
  const { traces, own, hosts, nameOf, facts } = parts;
  const served = new Set(
    hosts.flatMap(({ result }) => (result.ok ? [...result.value.actors.keys()] : [])),
  );
  const open = errandsOf(traces, served).filter(
    ({ answer, ...errand }) => answer === undefined && letterOf(errand, own)?.state !== CANCELLED,
  );
  const cursors = await new Cursors(context.paths.root).load();
  const here = new Set(facts.host?.actors.map(({ name }) => name));
  const { paused, holds, dispatcher } = facts;
  const holding = { paused, holds, parked: dispatcher?.parked ?? [] };
  const now = context.now();
  const described = await Promise.all(
    open.map(async (errand): Promise<WebWaiting[]> => {
      const { message, actor } = errand;
      const isHere = here.has(actor);
      const known = standing(errand, own, isHere ? holding : undefined, now);
      // An actor of this machine chose silence; the silence of other machines is not known here.
      const mayBeSettled = known.state === 'waiting' || known.state === 'held';
      const settled = mayBeSettled && isHere && (await isSettled(context, cursors, actor, message));
      if (settled) return [];
      const { channel, relPath, from, timestamp, excerpt } = message;
      const age = Math.max(0, Math.round((now.getTime() - Date.parse(timestamp)) / 1000));
      const channel_name = nameOf(channel);
      const place = { channel, channel_name, relPath, from, actor, timestamp };
      return [{ ...place, age_s: age, ...known, excerpt }];
    }),
  );
  return described.flat();
}

interface Delivery {
  actor: string;
  channel: string;
  messages: string[];
}

function isAbout({ message, actor }: Pick<Errand, 'message' | 'actor'>) {
  const { channel, relPath } = message;
  return (other: Delivery): boolean =>
    other.actor === actor && other.channel === channel && other.messages.includes(relPath);
}

function letterOf(
  errand: Pick<Errand, 'message' | 'actor'>,
  { dead_letters: letters }: Pick<OwnState, 'dead_letters'>,
): OwnState['dead_letters'][number] | undefined {
  return letters.find(isAbout(errand));
}

/**
 * How far an actor is with a message. A pure function.
 *
 * @param holding what keeps actors from running; undefined for an actor of another machine
 */
export function standing(
  errand: Pick<Errand, 'message' | 'actor' | 'failure'>,
  own: Pick<OwnState, 'running' | 'dead_letters'>,
  holding: Holding | undefined,
  now: Date,
): { state: WebWaiting['state']; delay: WebDelay | null } {
  const { actor, failure } = errand;
  const { tier } = errand.message;
  const run = own.running.find(isAbout(errand));
  if (run !== undefined) return { state: 'running', delay: runDelay(run.since) };
  const held = holding && heldDelay(holding, { actor, tier }, now);
  const letter = letterOf(errand, own);
  if (letter?.state === 'parked') return { state: 'parked', delay: failureDelay(letter) };
  if (letter?.state === 'quarantined') return { state: 'failed', delay: failureDelay(letter) };
  // A retry that is due and does not begin is held like everything else.
  const isDue = Date.parse(letter?.next_retry_at ?? '1970-01-01') <= now.getTime();
  if (letter !== undefined && !(isDue && held !== undefined))
    return { state: 'failing', delay: failureDelay(letter) };
  // Another host has given it up; of this machine's own the dead letter would be here.
  if (holding === undefined && failure !== undefined) return { state: 'failed', delay: null };
  return held === undefined ? { state: 'waiting', delay: null } : { state: 'held', delay: held };
}
