import type { HostEntry } from '../../bus/host.ts';
import { readHostReports } from '../../bus/host-reports.ts';
import type { HostReport } from '../../protocol/files/host-report.ts';
import type { WebActorNow, WebHost, WebNow, WebWaiting } from '../../api/api.ts';
import { knownActors } from '../setup/actors.ts';
import { tipOf, type Context } from '../context.ts';
import { hostsOf, viewedAt } from '../view.ts';
import { channelNames, lettersOf, ownIn } from './own-state.ts';
import type { Recent, Trace } from './recent.ts';
import { status } from '../health/status.ts';
import type { Status } from '../health/report.ts';
import { CANCELLED } from '../../protocol/cancel.ts';
import { namedPeople, peopleHere } from '../lookup/people.ts';
import { isSettled, permissionFact } from '../tracing/facts.ts';
import { errandsOf } from './errands.ts';
import { takenAt } from '../lookup/taken.ts';
import { deliveryOf, gateOf, isElsewhere, stateOf } from '../state/delivery.ts';
import { readLocal, type Local } from '../state/local.ts';

/** Milliseconds that a first look spends on the index, whose counts are not worth more time here. */
const PATIENCE_MS = 500;
/** The most items of each list; the totals are exact. */
const SHOWN = 100;
const SHOWN_MALFORMED = 20;
/** Limits, in seconds, of the groups of waiting messages by age. */
const AGES = [60, 600, 3600, 86_400, null] as const;

/** Returns the whole bus at a glance, as far as this machine knows it. */
export async function overview(
  machine: Context,
  recent: Recent,
): Promise<Omit<WebNow, 'event_id'>> {
  const { tip, traces, complete } = await recent.traces();
  const context = viewedAt(machine, tip);
  const [facts, local, actors, hosts, nameOf] = await Promise.all([
    status(context, undefined, { patience: PATIENCE_MS }),
    readLocal(context),
    knownActors(context),
    hostsOf(context),
    channelNames(context),
  ]);
  const own = ownIn(context, local, nameOf);
  const now = context.now();
  const said = await readHostReports(context.transport, tip, hosts, now);
  const lastWrote = lastOf(traces, ({ from }) => from);
  const waiting = await waitingMail(context, { traces, local, hosts, nameOf });
  const people = new Set([...(await peopleHere(context, tip)), ...(await namedPeople(context))]);
  return {
    at: now.toISOString(),
    tip: facts.tip,
    ...verdict(facts),
    hosts: seenHosts(hosts, traces, facts, said),
    actors: actors.map(({ name, description, hosts: serving }): WebActorNow => ({
      name,
      description,
      hosts: serving,
      tools: facts.host?.actors.find((actor) => actor.name === name)?.tools ?? [],
      running: own.running.filter(({ actor }) => actor === name),
      ...counted(waiting.filter(({ actor }) => actor === name)),
      last_wrote: lastWrote.get(name) ?? null,
    })),
    people: [...people].filter((name) => !actors.some((actor) => actor.name === name)),
    waiting: {
      total: waiting.length,
      oldest_s: waiting[0]?.age_s ?? null,
      ages: byAge(waiting.map(({ age_s: age }) => age)),
      messages: waiting.slice(0, SHOWN),
      complete,
    },
    dead_letters: lettersOf(own).slice(-SHOWN).reverse(),
    dead_letters_total: lettersOf(own).length,
    outbox: own.outbox.slice(0, SHOWN),
    outbox_total: own.outbox.length,
    malformed: facts.malformed.slice(0, SHOWN_MALFORMED),
    malformed_total: facts.malformed_total,
  };
}

/** Returns the part of `status` that changes from one moment to the next. */
export function verdict(
  facts: Status,
): Pick<
  WebNow,
  'health' | 'findings' | 'paused' | 'dispatcher' | 'parked' | 'push_budget' | 'machines'
> {
  const { health, findings, paused, parked, dispatcher, push_budget, machines } = facts;
  return {
    ...(machines && { machines }),
    health,
    findings,
    paused,
    push_budget,
    parked,
    dispatcher: dispatcher && {
      pid: dispatcher.pid,
      version: dispatcher.version,
      started_at: dispatcher.started_at,
      age_s: dispatcher.age_s,
      interval: dispatcher.interval,
      pending: dispatcher.pending,
    },
  };
}

/** Returns the hosts: this machine by its heartbeat, the others by their newest message. */
function seenHosts(
  hosts: readonly HostEntry[],
  traces: readonly Trace[],
  { host, dispatcher }: Pick<Status, 'host' | 'dispatcher'>,
  said: ReadonlyMap<string, HostReport>,
): WebHost[] {
  const lastWrote = lastOf(traces, (trace) => trace.host);
  return hosts.map(({ path, result }) => {
    const alias = result.ok ? result.value.alias : path.replace(/^hosts\/|\.md$/g, '');
    const isHere = alias === host?.alias;
    const word = said.get(alias);
    return {
      alias,
      this_machine: isHere,
      heartbeat_age_s: isHere && dispatcher !== null ? dispatcher.age_s : null,
      last_wrote: lastWrote.get(alias) ?? null,
      ...(word && { said: word }),
      actors: result.ok ? [...result.value.actors.keys()] : [],
      problem: result.ok ? null : `${path}: ${result.problems.join('; ')}`,
    };
  });
}

/** When each name last appeared in messages. */
function lastOf(
  traces: readonly Trace[],
  nameOf: (trace: Trace) => string | null,
): Map<string, string> {
  const last = new Map<string, string>();
  for (const trace of traces) {
    const name = nameOf(trace);
    if (name !== null && (last.get(name) ?? '') < trace.timestamp) last.set(name, trace.timestamp);
  }
  return last;
}

function counted(waiting: readonly WebWaiting[]): Pick<WebActorNow, 'waiting' | 'by_state'> {
  const count = (wanted: WebWaiting['state']): number =>
    waiting.filter(({ state }) => state === wanted).length;
  return {
    waiting: waiting.length,
    by_state: {
      waiting: count('waiting'),
      held: count('held'),
      running: count('running'),
      failing: count('failing'),
      failed: count('failed'),
      parked: count('parked'),
    },
  };
}

/** @param ages in seconds */
export function byAge(ages: readonly number[]): WebNow['waiting']['ages'] {
  return AGES.map((under, at) => {
    const least = AGES[at - 1] ?? 0;
    const within = ages.filter((age) => age >= least && (under === null || age < under));
    return { under_s: under, messages: within.length };
  });
}

interface WaitingParts {
  traces: readonly Trace[];
  local: Local;
  hosts: readonly HostEntry[];
  nameOf: (id: string) => string;
}

/** Returns the messages that wait for an answer, oldest first, with the standing of each on this machine. */
async function waitingMail(context: Context, parts: WaitingParts): Promise<WebWaiting[]> {
  const { traces, local, hosts, nameOf } = parts;
  const served = new Set(
    hosts.flatMap(({ result }) => (result.ok ? [...result.value.actors.keys()] : [])),
  );
  const now = context.now();
  const tip = await tipOf(context);
  const described = await Promise.all(
    errandsOf(traces, served).map(async (errand): Promise<WebWaiting[]> => {
      const { message, actor, outcome } = errand;
      const { channel, relPath, from, timestamp, excerpt, tier } = message;
      const taken =
        outcome === 'REPLIED'
          ? undefined
          : await takenAt(context.transport, tip, { channel, relPath, actor });
      const delivery = deliveryOf(local, message, { actor, tier, taken }, now);
      if (outcome === 'REPLIED' || delivery.letter?.state === CANCELLED) return [];
      const known = stateOf(delivery, now);
      const isHere = local.actors.has(actor) && !isElsewhere(taken, local.alias);
      // Another host has given it up; of this machine's own the dead letter would be here.
      if (known.state === 'waiting' && !isHere && outcome === 'FAILED') known.state = 'failed';
      // An actor of this machine chose silence; the silence of other machines is not known here.
      const mayBeSettled = known.state === 'waiting' || known.state === 'held';
      if (mayBeSettled && isHere && (await isSettled(context, local.cursors, actor, message)))
        return [];
      const age = Math.max(0, Math.round((now.getTime() - Date.parse(timestamp)) / 1000));
      const channel_name = nameOf(channel);
      const place = { channel, channel_name, relPath, from, actor, timestamp };
      const gate = delivery.gate ?? (isHere ? undefined : errand.gate);
      const { asks } = delivery;
      const more = {
        ...(taken && { taken }),
        ...(mayBeSettled && gate && { gate: gateOf(gate) }),
        ...(known.state === 'running' && asks && { permission: permissionFact(asks) }),
      };
      return [{ ...place, age_s: age, ...known, ...more, excerpt }];
    }),
  );
  return described.flat();
}
