import type { Lookup } from '../../src/protocol/causality.ts';
import type { Located, Message } from '../../src/protocol/message.ts';
import { parseRecipients } from '../../src/protocol/address.ts';

/** The relPath of the n-th message of an invented channel. */
export function path(n: number): string {
  return `2026/06/09/${String(n).padStart(9, '0')}Z-${n.toString(16).padStart(8, '0')}.md`;
}

/** A message by numbers: `[n, from, to, {re, cause}]`. */
export function said(
  n: number,
  from: string,
  to: string,
  links: {
    re?: number[];
    cause?: number[];
    host?: string;
    tier?: string;
    type?: string;
    asks?: true;
  } = {},
): Located {
  const { re = [], cause = [], host, tier, type = 'text', asks } = links;
  const message: Message = {
    from,
    to: parseRecipients(to).to,
    type,
    timestamp: '2026-06-09T19:00:00.000Z',
    re: re.map(path),
    cause: cause.map(path),
    ...(host === undefined ? {} : { host }),
    ...(tier === undefined ? {} : { tier }),
    ...(asks === undefined ? {} : { asks }),
    extra: {},
    body: `message ${String(n)}\n`,
  };
  return { relPath: path(n), message };
}

export function lookupIn(messages: readonly Located[]): Lookup {
  const known = new Map(messages.map(({ relPath, message }) => [relPath, message]));
  return (relPath) => known.get(relPath);
}
