import { messageKey } from '../../protocol/message-ref.ts';
import type { WebChannel, WebEvents, WebMessage, WebNow, WebSession } from '../../api/api.ts';
import { withFacts, type KnownMessages } from './facts.ts';
import type { Connection } from './stream.ts';

/** The page's knowledge of the bus, which does not depend on the view. */
export interface Model {
  connection: Connection;
  session: WebSession | undefined;
  now: WebNow | undefined;
  channels: readonly WebChannel[] | undefined;
  known: KnownMessages;
  /** Sent from this page and not yet seen on the bus, oldest first. */
  pending: readonly WebMessage[];
  /** Why loading failed. */
  problem: string | undefined;
}

export const NOTHING_KNOWN: Model = {
  connection: 'connecting',
  session: undefined,
  now: undefined,
  channels: undefined,
  known: new Map(),
  pending: [],
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

type Named = { [Name in keyof WebEvents]: { name: Name; data: WebEvents[Name] } }[keyof WebEvents];

function patchOf(model: Model, { name, data }: Named): Partial<Model> | undefined {
  const { now } = model;
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
    case 'outbox':
    case 'dead_letters':
      return now === undefined ? undefined : { now: { ...now, ...data } };
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
