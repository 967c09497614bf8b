import { messageKey } from '../../protocol/message-ref.ts';
import type { WebChannel, WebEvents, WebMessage, WebNow, WebSession } from '../../api/api.ts';
import type { Connection } from './connection.ts';
import { withFacts, type KnownMessages } from './facts.ts';

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
  /** Why loading failed. */
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

/** The model after an event. */
export function after<Name extends keyof WebEvents>(
  model: Model,
  name: Name,
  data: WebEvents[Name],
): Model {
  const patch = patchOf(model, { name, data } as Named);
  return patch === undefined ? model : { ...model, ...patch };
}

/** What is known from a new answer of the server, which told its time. @param here in milliseconds */
export function arrived(now: WebNow, here: number): Pick<Model, 'now' | 'skew'> {
  const skew = here - Date.parse(now.at);
  return { now: { ...now, at: hereAt(now.at, skew) }, skew };
}

/** A time of the server by the clock of this browser. */
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
 * The same at a later time. All ages are those of one moment, `at`, so news of one part must not
 * make the others younger, and an age in it must not be counted from an earlier moment.
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
