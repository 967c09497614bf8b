import { messageKey, type MessageRef } from '../../protocol/layout.ts';
import { LOCKED } from './api.ts';
import type {
  WebChannel,
  WebEvents,
  WebMessage,
  WebNow,
  WebSession,
  WebFact,
  WebWaiting,
} from '../../api/api.ts';
import type { Addressee } from '../../present/state.ts';

/** The state of a message, from the events since the page was opened. */
interface Known {
  /** The state of the message itself. */
  self: 'queued' | 'sent';
  /** The latest state for each addressee that it wakes. */
  actors: Readonly<Record<string, Pick<WebFact, 'state' | 'detail' | 'at'>>>;
}

export type KnownMessages = ReadonlyMap<string, Known>;

const NOTHING: Known = { self: 'sent', actors: {} };

/** Adds facts about messages; the newest fact about each counts, in any order of arrival. */
export function withFacts(known: KnownMessages, { facts }: WebEvents['facts']): KnownMessages {
  const next = new Map(known);
  for (const fact of facts) next.set(messageKey(fact), withFact(next.get(messageKey(fact)), fact));
  return next;
}

function withFact(before: Known | undefined, fact: WebFact): Known {
  const { state, actor, detail, at } = fact;
  // A message cannot be queued after it was sent, so this event is out of order.
  if (state === 'queued') return before ?? { ...NOTHING, self: 'queued' };
  if (actor === null) return { ...(before ?? NOTHING), self: 'sent' };
  const { actors } = before ?? NOTHING;
  if ((actors[actor]?.at ?? '') > at) return before ?? NOTHING;
  return { self: 'sent', actors: { ...actors, [actor]: { state, detail, at } } };
}

/** Returns the word for messages that were sent from here: they are queued until all of them are on the remote. */
export function sentWord({ known }: Pick<Model, 'known'>, refs: readonly MessageRef[]): string {
  const isSent = refs.every((ref) => known.get(messageKey(ref))?.self === 'sent');
  return isSent ? 'Sent.' : 'Queued.';
}

/** The page's knowledge of the bus, which does not depend on the view. */
export interface Model {
  connection: Connection;
  /** The words of the server that refuses the connection. */
  refusal: string;
  session: WebSession | undefined;
  /** Its `at` is by the clock of this browser. */
  now: WebNow | undefined;
  channels: readonly WebChannel[] | undefined;
  known: KnownMessages;
  /** Sent from this page and not yet seen on the bus, oldest first. */
  pending: readonly WebMessage[];
  /** Milliseconds by which the clock of this browser is ahead of the server's. */
  skew: number;
  /** Reason why loading failed. */
  problem: string | undefined;
}

export const NOTHING_KNOWN: Model = {
  connection: 'connecting',
  refusal: '',
  session: undefined,
  now: undefined,
  channels: undefined,
  known: new Map(),
  pending: [],
  skew: 0,
  problem: undefined,
};

/** Returns the model after an event. */
export function after<Name extends keyof WebEvents>(
  model: Model,
  name: Name,
  data: WebEvents[Name],
): Model {
  const patch = patchOf(model, { name, data } as Named);
  return patch === undefined ? model : { ...model, ...patch };
}

/** Returns the state after a new answer of the server, which contains its time. @param here in milliseconds */
export function arrived(now: WebNow, here: number): Pick<Model, 'now' | 'skew'> {
  const skew = here - Date.parse(now.at);
  return { now: { ...now, at: hereAt(now.at, skew) }, skew };
}

/** Returns a time of the server by the clock of this browser. */
function hereAt(at: string, skew: number): string {
  return new Date(Date.parse(at) + skew).toISOString();
}

type Named = { [Name in keyof WebEvents]: { name: Name; data: WebEvents[Name] } }[keyof WebEvents];

function patchOf(model: Model, { name, data }: Named): Partial<Model> | undefined {
  const { now, skew } = model;
  switch (name) {
    case 'facts':
      return { known: withFacts(model.known, data) };
    case 'messages':
      return {
        pending: model.pending.filter(
          (one) => !data.messages.some((arrived) => messageKey(arrived) === messageKey(one)),
        ),
        channels: model.channels?.map((channel) =>
          channel.id === data.channel ? grown(channel, data.messages) : channel,
        ),
      };
    case 'status':
      return now && { now: withStatus(agedTo(now, hereAt(data.at, skew)), data) };
    case 'outbox': {
      const { at, ...outbox } = data;
      return now && { now: { ...agedTo(now, hereAt(at, skew)), ...outbox } };
    }
    case 'dead_letters':
      return now && { now: { ...now, ...data } };
    default:
      return undefined;
  }
}

function grown(channel: WebChannel, messages: readonly WebMessage[]): WebChannel {
  return {
    ...channel,
    messages: channel.messages + messages.length,
    last: messages.at(-1)?.timestamp ?? channel.last,
  };
}

/**
 * Returns the same at a later time. All ages are those of one moment, `at`, so news of one part must not make the
 * others younger, and an age in it must not be counted from an earlier moment.
 */
function agedTo(now: WebNow, at: string): WebNow {
  const passed = Math.max(0, Date.parse(at) - Date.parse(now.at)) / 1000;
  const older = <T extends number | null>(age: T): T => (age === null ? age : age + passed) as T;
  const { dispatcher, waiting, machines } = now;
  return {
    ...now,
    at: passed > 0 ? at : now.at,
    dispatcher: dispatcher && { ...dispatcher, age_s: older(dispatcher.age_s) },
    hosts: now.hosts.map((host) => ({ ...host, heartbeat_age_s: older(host.heartbeat_age_s) })),
    ...(machines && {
      machines: machines.map((one) => ({ ...one, heard_s: older(one.heard_s) })),
    }),
    waiting: {
      ...waiting,
      oldest_s: older(waiting.oldest_s),
      messages: waiting.messages.map((one) => ({ ...one, age_s: older(one.age_s) })),
    },
    outbox: now.outbox.map((entry) => ({ ...entry, age_s: older(entry.age_s) })),
  };
}

/** This machine's host has the heartbeat of its dispatcher, and none when that is gone. */
function withStatus(now: WebNow, status: WebEvents['status']): WebNow {
  const age = status.dispatcher?.age_s ?? null;
  const hosts = now.hosts.map((host) =>
    host.this_machine ? { ...host, heartbeat_age_s: age } : host,
  );
  return { ...now, ...status, at: now.at, hosts };
}

/**
 * State of the page's connection to the live updates of the server: `lost` when the connection broke, `silent` when
 * nothing comes through it, `locked` when the server does not know this window's cookie, `refused` for any other
 * refusal, `resting` while the page is hidden.
 */
export type Connection =
  'connecting' | 'open' | 'lost' | 'silent' | 'locked' | 'refused' | 'resting';

/**
 * Returns the notice above the page; undefined while all is well.
 *
 * @param refusal the words of the server
 */
export function connectionWords(connection: Connection, refusal: string): string | undefined {
  switch (connection) {
    case 'lost':
      return 'The connection to the server is lost. What is shown may be old; trying again…';
    case 'silent':
      return 'The server does not answer: it may be stopped, or the tunnel to it stalled. What is shown may be old; the page continues automatically when it answers.';
    case 'locked':
      return LOCKED;
    case 'refused':
      return `The server refuses this page: ${refusal}`;
    default:
      return undefined;
  }
}

/**
 * Returns the states to show for a message in a conversation, from everything known: the events, the waiting mail of
 * the bus, and the loaded answers.
 *
 * @param answers loaded messages that name it in `re`
 */
export function shownStatesOf(
  message: WebMessage,
  known: KnownMessages,
  waiting: readonly WebWaiting[],
  answers: readonly WebMessage[],
): Addressee[] {
  const since = message.timestamp;
  const facts = known.get(messageKey(message));
  const states = new Map<string, Addressee>();
  for (const one of message.states ?? []) states.set(one.actor, { ...one, since });
  for (const one of waiting) {
    if (one.channel !== message.channel || one.relPath !== message.relPath) continue;
    const loaded = states.get(one.actor);
    const same = loaded?.state === one.state ? loaded : { detail: null };
    states.set(one.actor, { ...same, ...one, since });
  }
  for (const [actor, { state, detail, at }] of Object.entries(facts?.actors ?? {})) {
    const heard = named(state);
    const loaded = states.get(actor);
    // The loaded state has more details than the event that reports the same.
    const same = loaded !== undefined && agree(loaded.state, heard) ? loaded : undefined;
    states.set(actor, {
      ...same,
      state: same?.state ?? heard,
      actor,
      // The id of a run names no host.
      detail: state === 'taken' ? null : detail,
      since: state === 'taken' ? at : since,
    });
  }
  for (const { from, relPath, mark, timestamp } of answers) {
    const took_s = Math.max(0, Date.parse(timestamp) - Date.parse(since)) / 1000;
    if (mark === undefined)
      states.set(from, { state: 'answered', actor: from, detail: relPath, since, took_s });
  }
  if (states.size > 0) return [...states.values()];
  if (answers.some(({ mark, force }) => mark === 'cancel' && force === 'cancels'))
    return message.to.map((actor) => ({ state: 'cancelled', actor, detail: null, since }));
  const self = { actor: null, detail: null, since };
  if (message.queued && facts?.self !== 'sent') return [{ state: 'queued', ...self }];
  return facts === undefined ? [] : [{ state: facts.self === 'sent' ? 'sent' : 'queued', ...self }];
}

/** Whether a loaded state is a finer form of an event's state. */
function agree(loaded: Addressee['state'], heard: Addressee['state']): boolean {
  if (heard === 'failed') return loaded === 'failed' || loaded === 'failing' || loaded === 'held';
  return loaded === heard || (heard === 'waiting' && loaded === 'held');
}

function named(state: WebFact['state']): Addressee['state'] {
  return state === 'taken' ? 'running' : state;
}
