import type { WebActor, WebFile, WebMessage, WebSent } from '../../api/api.ts';
import { ApiError, wordsOf } from '../live/api.ts';
import { listed } from './recipients.ts';
import type { Draft } from '../live/drafts.ts';

/**
 * All names one can write to: the actors, and, if several hosts serve an actor, the actor on each
 * of them.
 */
export function namesOf(actors: readonly WebActor[]): string[] {
  const names = actors.flatMap(({ name, hosts }) => [
    name,
    ...(hosts.length > 1 ? hosts.map(({ alias }) => `${name}@${alias}`) : []),
  ]);
  return actors.length > 1 ? [...names, 'all'] : names;
}

/** The tiers that at least one of the recipients has, in the order of their host files. */
export function tiersOf(actors: readonly WebActor[], to: string): string[] {
  const wanted = listed(to);
  const served = wanted.flatMap((address) => {
    const [name, host] = address.split('@');
    const actor = actors.find((one) => one.name === name);
    return actor?.hosts.filter(({ alias }) => host === undefined || alias === host) ?? [];
  });
  return [...new Set(served.flatMap(({ tiers }) => tiers))];
}

/** The messages as they will be on the bus, to show them until they are there. */
export function queuedMessages(
  sent: WebSent,
  draft: Draft,
  channelName: string,
  files: WebFile[] = [],
): WebMessage[] {
  return sent.messages.map(({ relPath, to, re, cause }) => ({
    channel: sent.channel,
    channel_name: channelName,
    relPath,
    from: sent.from,
    to,
    type: 'text',
    timestamp: writtenAt(relPath),
    re,
    cause,
    tier: draft.tier === '' ? null : draft.tier,
    host: null,
    body: draft.body,
    body_cut: false,
    options: [],
    queued: true,
    files,
  }));
}

/** When a message was written, according to its path. */
function writtenAt(relPath: string): string {
  const [, day = '', hour = '', minute = '', second = '', ms = ''] =
    /^(\d{4}\/\d{2}\/\d{2})\/(\d{2})(\d{2})(\d{2})(\d{3})Z/.exec(relPath) ?? [];
  return `${day.replaceAll('/', '-')}T${hour}:${minute}:${second}.${ms}Z`;
}

/** Explains why a message was not sent, and what its writer can rely on. */
export function failureOf(error: unknown): string {
  const words = wordsOf(error);
  return error instanceof ApiError && error.isUnsure
    ? `Not known whether it was sent: ${words} Your text is still here. Send it again, or let the page do so when the server answers; it is not sent twice.`
    : `Not sent: ${words} Your text is still here.`;
}
