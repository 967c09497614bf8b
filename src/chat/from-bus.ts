import { fileInWords } from '../protocol/attached.ts';
import { knownActors } from '../actions/setup/actors.ts';
import { noteSeen } from '../actions/lookup/seen.ts';
import type { Arrival } from '../actions/lookup/arrivals.ts';
import type { Context } from '../actions/context.ts';
import { formatAddress, parseAddress } from '../protocol/address.ts';
import type { Located, Message } from '../protocol/message.ts';
import { messageKey } from '../protocol/layout.ts';
import { isAnswer } from '../protocol/owed.ts';
import type { WebForce } from '../api/api.ts';
import { branchMark } from '../present/marks.ts';
import { oneLine } from './clean.ts';
import type { ChannelRow, Entry } from './port.ts';

/** The default addressee when hosts serve several actors and one has this name. */
const USUAL = 'concierge';

/** Returns the channel that was read last; undefined if none was. */
export function lastSeen<C extends ChannelRow>(
  channels: readonly C[],
  seen: Readonly<Record<string, string>>,
): C | undefined {
  const at = ({ id }: C): string => seen[id] ?? '';
  const read = channels.filter((channel) => at(channel) !== '');
  return read.sort((a, b) => (at(a) < at(b) ? 1 : at(a) > at(b) ? -1 : 0))[0];
}

export function rowOf({ id, name, depth }: ChannelRow): ChannelRow {
  return { id, name: oneLine(name), depth };
}

export function entryOf({
  channel,
  relPath,
  message,
  verified,
  force,
}: Arrival & { force?: WebForce }): Entry {
  const { from, to, timestamp, re, cause, cancels, options } = message;
  const { interim, failed, host } = message;
  const marks = { ...(interim && { interim }), ...(failed && { failed }), ...(host && { host }) };
  return {
    channel,
    relPath,
    from,
    to: to.map(formatAddress),
    at: Date.parse(timestamp),
    re,
    cause,
    body: bodyShown(message),
    ...(cancels !== undefined && { cancels }),
    ...(force && { force }),
    ...(options && { options }),
    ...(verified !== undefined && { verified }),
    ...(isAnswer(message) ? {} : { notYet: marks }),
  };
}

/** Returns a text above its files, and the branch on which it was worked out. */
export function bodyShown(message: Shown): string {
  const { body, files = [] } = message;
  const lines = [...files.map(fileInWords), ...branchMark(message)];
  return lines.length === 0 ? body : `${body.trimEnd()}\n\n${lines.join('\n')}\n`;
}

type Shown = Pick<Message, 'body' | 'files' | 'branch'>;

/** Returns the only actor that hosts serve, or the one that usually answers; empty if there is none. */
export async function usualAddressee(context: Context): Promise<string> {
  const served = (await knownActors(context)).filter(({ hosts }) => hosts.length > 0);
  const [only, ...others] = served;
  if (only !== undefined && others.length === 0) return only.name;
  return served.some(({ name }) => name === USUAL) ? USUAL : '';
}

/** Returns the message of an entry. */
export function messageOf({ relPath, from, to, at, re, cause, body, notYet }: Entry): Located {
  const addresses = to.flatMap((text) => {
    const address = parseAddress(text);
    return address.ok ? [address.value] : [];
  });
  const timestamp = new Date(at).toISOString();
  const message = { from, to: addresses, type: 'text', timestamp, re, cause, extra: {}, body };
  return { relPath, message: { ...message, ...notYet } };
}

/** Records the messages that a person has seen on the screen, each once. */
export class OnScreen {
  readonly #context: Context;
  readonly #me: string;
  readonly #noted = new Set<string>();
  #noting: Promise<void> = Promise.resolve();

  constructor(context: Context, me: string) {
    this.#context = context;
    this.#me = me;
  }

  note(entries: readonly Entry[]): void {
    const fresh = entries.filter((one) => !this.#noted.has(messageKey(one)));
    if (fresh.length === 0) return;
    for (const one of fresh) this.#noted.add(messageKey(one));
    const shown = fresh.map((one) => ({ ...messageOf(one), channel: one.channel }));
    this.#noting = this.#noting.then(() => noteSeen(this.#context, this.#me, shown));
  }

  /** Resolves when everything is on record. */
  end(): Promise<void> {
    return this.#noting;
  }
}
