import type { WebActor, WebFile, WebMessage, WebSendRequest, WebSent } from '../../api/api.ts';
import { ApiError, wordsOf } from '../live/api.ts';
import { listed, recipientProblem } from './recipients.ts';
import type { Draft } from '../live/drafts.ts';

/** Returns all names one can write to: the actors, and, if several hosts serve an actor, the actor on each of them. */
export function namesOf(actors: readonly WebActor[]): string[] {
  const names = actors.flatMap(({ name, hosts }) => [
    name,
    ...(hosts.length > 1 ? hosts.map(({ alias }) => `${name}@${alias}`) : []),
  ]);
  return actors.length > 1 ? [...names, 'all'] : names;
}

/** Returns the tiers that at least one of the recipients has, in the order of their host files. */
export function tiersOf(actors: readonly WebActor[], to: string): string[] {
  const wanted = listed(to);
  const served = wanted.flatMap((address) => {
    const [name, host] = address.split('@');
    const actor = actors.find((one) => one.name === name);
    return actor?.hosts.filter(({ alias }) => host === undefined || alias === host) ?? [];
  });
  return [...new Set(served.flatMap(({ tiers }) => tiers))];
}

/** Returns the problem of a draft that is to be sent, in words, or undefined. */
export function draftProblem({ to, body }: Draft, limit: number): string | undefined {
  const wrong = recipientProblem(to);
  if (wrong !== undefined) return wrong;
  if (body.trim() === '') return 'Write something first.';
  const bytes = new TextEncoder().encode(body).length;
  // The header of the message needs some room too.
  return bytes > limit - 2048
    ? `The text has ${String(bytes)} bytes; a message may have ${String(limit)} with its header.`
    : undefined;
}

/** Returns the answers that a draft offers: an empty field does not count. */
export function offeredBy({ options }: Pick<Draft, 'options'>): string[] {
  return options.map((option) => option.trim()).filter((option) => option !== '');
}

/** Returns the request that sends a draft. */
export function requestOf(
  draft: Draft,
  { channel, tiers, files }: { channel: string; tiers: readonly string[]; files: WebFile[] },
): WebSendRequest {
  const { to, body, tier, schema } = draft;
  const options = offeredBy(draft);
  return {
    to: listed(to).join(','),
    body,
    channel,
    ...(tiers.includes(tier) && { tier }),
    ...(files.length > 0 && { files: files.map(({ sha256, name }) => ({ sha256, name })) }),
    ...(options.length > 0 && { options }),
    ...(schema.trim() !== '' && { schema }),
  };
}

/** Returns the messages as they will be on the bus, to show them until they are there. */
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
    options: offeredBy(draft),
    ...(draft.schema.trim() !== '' && { schema: draft.schema }),
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

/** Beginning of an error that names the option of a command, for people who filled in a form. */
const OF_A_PART = /^--(option|schema)(?=: )/;
const PARTS: Partial<Record<string, string>> = { option: 'the options', schema: 'the schema' };

/** Explains why a message was not sent, and what its writer can rely on. */
export function failureOf(error: unknown): string {
  const words = wordsOf(error).replace(OF_A_PART, (_, part: string) => PARTS[part] ?? part);
  return error instanceof ApiError && error.isUnsure
    ? `Not known whether it was sent: ${words} Your text is still here. Send it again, or let the page do so when the server answers; it is not sent twice.`
    : `Not sent: ${words} Your text is still here.`;
}
