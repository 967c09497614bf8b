import type { WebTaken } from '../../api/api.ts';
import { EVERYONE } from '../../protocol/address.ts';
import {
  endingLine,
  failingLine,
  gateLine,
  heldLine,
  joiningLine,
  NOBODY_SERVES_ANY,
  noDispatcherFor,
  personLine,
  remoteAway,
  unheardLine,
  unreadableLine,
  unservedLine,
} from '../../present/holds.ts';
import { takenWords } from '../../present/claims.ts';
import { ago } from '../../present/times.ts';
import { withoutSequences } from '../../protocol/text/words.ts';
import { failureDelay } from '../state/delivery.ts';
import type { Local } from '../state/local.ts';
import { isServed, type Asked, type Owing, type Standing, type World } from './standing.ts';

/** When another host was last heard of, by its alias: ISO 8601 in UTC, or null for never. */
export type Heard = ReadonlyMap<string, string | null>;

/** Most lines about one message: anybody who can push can make any number of hosts. */
const MOST_LINES = 10;

/**
 * Returns the causes that hold an answer up, one line each. A pure function.
 *
 * @param heard the hosts that should have been heard of by now, and were not
 */
export function holdUps(
  { question }: Asked,
  { owing, isOver, cancelled }: Pick<Standing, 'owing' | 'isOver' | 'cancelled'>,
  world: World,
  heard: Heard,
  now: Date,
): string[] {
  if (isOver || question === undefined) return [];
  const lines = owing.flatMap((debtor): string[] => {
    const { actor, host } = debtor;
    if (cancelled !== undefined) return [endingLine(host ?? '', actor)];
    const had = takenLines(debtor, world, now);
    if (host === undefined) return [...had, ...nobody(actor, world)];
    const found =
      host !== world.alias
        ? had.length > 0
          ? []
          : elsewhere(debtor, world, heard, now)
        : world.local === undefined
          ? []
          : here(debtor, world.local);
    return found.length > 0 || debtor.here?.run !== undefined ? found : had;
  });
  return [...new Set([...remote(world.local), ...lines])].slice(0, MOST_LINES);
}

/** Words which host has taken a message, or why one of several cannot. */
function takenLines({ actor, host = '', taken }: Owing, world: World, now: Date): string[] {
  const away = world.away?.get(`${actor}@${host}`);
  if (taken === undefined) return away === undefined ? [] : [away];
  const words = takenWords(actor, taken, world.seen?.get(claimKey(actor, taken)) ?? now.getTime());
  if (words === '') return [];
  // Whoever has it may not be able to go on with it now.
  return taken.host === host && away !== undefined ? [words, away] : [words];
}

/** Names a claim in a state of it. */
export function claimKey(actor: string, taken: WebTaken): string {
  return JSON.stringify([actor, taken]);
}

function nobody(actor: string, { serving, unreadable, people }: World): string[] {
  if (people.has(actor)) return [personLine(actor)];
  if (serving.some(({ actors }) => actors.includes(actor)) || unreadable.length > 0)
    return unreadable.length === 0 ? [] : [unreadableLine(unreadable, actor)];
  if (actor === EVERYONE) return [NOBODY_SERVES_ANY];
  return [unservedLine({ name: actor }, serving)];
}

function elsewhere(
  { actor, host = '' }: Owing,
  { serving }: World,
  heard: Heard,
  now: Date,
): string[] {
  if (!isServed({ actor, host }, { serving }))
    return [unservedLine({ name: actor, host }, serving)];
  const last = heard.get(host);
  if (last === undefined) return [];
  const since = last === null ? 'lately' : `for ${ago(last, now)}`;
  return [unheardLine(host, actor, since)];
}

/** Returns the reason why an actor of this machine does not answer; nothing while it runs. */
function here({ actor, host = '', here: delivery }: Owing, { runs }: Local): string[] {
  const { run, held, gate, joining, letter } = delivery ?? {};
  if (run !== undefined) return [];
  if (!runs) return [noDispatcherFor(host)];
  if (held !== undefined) return [heldLine(actor, held)];
  if (gate !== undefined) return [gateLine(actor, gate)];
  if (letter === undefined && joining !== undefined) return [joiningLine(joining)];
  if (letter?.state !== 'retrying') return [];
  return [failingLine(actor, failureDelay(letter))];
}

/** Whether the dispatcher of this machine reaches the remote, by which all answers come. */
function remote(local: Local | undefined): string[] {
  const { fetch_failing_since: since, fetch_error: error = '' } = local?.heartbeat ?? {};
  return since === undefined
    ? []
    : [remoteAway('the remote cannot be reached', since, withoutSequences(error))];
}
