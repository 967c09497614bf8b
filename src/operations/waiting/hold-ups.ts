import { EVERYONE } from '../../protocol/address.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';
import { withoutSequences } from '../../protocol/text/words.ts';
import { failureDelay, heldDelay } from '../tracing/held-mail.ts';
import { joiningAbout } from '../tracing/joining.ts';
import {
  letterOf,
  type Local,
  isServed,
  type Asked,
  type Owing,
  type Standing,
  type World,
} from './standing.ts';
import { ago } from '../../present/times.ts';
import {
  noDispatcher,
  remoteAway,
  personLine,
  unservedLine,
  joiningLine,
  gateLine,
  heldLine,
  failingLine,
  unheardLine,
  NOBODY_SERVES_ANY,
} from '../../present/holds.ts';

/** When another host was last heard of, by its alias: ISO 8601 in UTC, or null for never. */
export type Heard = ReadonlyMap<string, string | null>;

/** The most lines about one message: whoever can push can make any number of hosts. */
const MOST_LINES = 10;

/**
 * What holds an answer up, one line for each cause. A pure function.
 *
 * @param heard the hosts that should have been heard of by now, and were not
 */
export function holdUps(
  { ref, question }: Asked,
  { owing, isOver, cancelled }: Pick<Standing, 'owing' | 'isOver' | 'cancelled'>,
  world: World,
  heard: Heard,
  now: Date,
): string[] {
  if (isOver || question === undefined) return [];
  const lines = owing.flatMap((debtor): string[] => {
    const { actor, host } = debtor;
    if (cancelled !== undefined)
      return [`cancelled; ${host ?? ''} ends what it does for ${actor} once it has heard of that`];
    if (host === undefined) return nobody(actor, world);
    if (host !== world.alias) return elsewhere(debtor, world, heard, now);
    if (world.local === undefined || debtor.runs_since !== undefined) return [];
    return here(debtor, world.local, {
      ref,
      letter: letterOf(world.local, ref, actor),
      tier: question.tier ?? null,
      now,
    });
  });
  return [...new Set([...remote(world.local), ...lines])].slice(0, MOST_LINES);
}

function nobody(actor: string, { serving, unreadable, people }: World): string[] {
  if (people.has(actor)) return [personLine(actor)];
  if (serving.some(({ actors }) => actors.includes(actor)) || unreadable.length > 0)
    return unreadable.map(
      (path) => `${path} cannot be read, so whether its host serves ${actor} is not known`,
    );
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

/** What is owed on this machine. */
interface Mail {
  ref: MessageRef;
  letter: ReturnType<typeof letterOf>;
  tier: string | null;
  now: Date;
}

function here(
  { actor, host = '' }: Owing,
  local: Local,
  { ref, letter, tier, now }: Mail,
): string[] {
  if (!local.runs) return [noDispatcher(host)];
  const parked = local.heartbeat?.parked ?? [];
  const held = heldDelay(
    { paused: local.paused, holds: local.holds, parked },
    { actor, tier },
    now,
  );
  if (held !== undefined) return [heldLine(actor, held)];
  const gate = local.gated?.find(
    (one) =>
      one.actor === actor && one.channel === ref.channel && one.messages.includes(ref.relPath),
  );
  if (gate !== undefined) return [gateLine(actor, gate)];
  const joining = joiningAbout(local.heartbeat, ref, actor, now);
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
