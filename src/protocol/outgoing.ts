import type { Message } from './message.ts';
import { formatMessage } from './message.ts';
import { messageFile } from './layout.ts';
import { relPathAt } from './names.ts';

/** A message as it will stand in a commit of its own. */
export interface OutgoingCommit {
  at: string;
  author: { name: string; email: string };
  subject: string;
  files: { path: string; content: string }[];
}

/** The commit author of a logical name writing on a host (or from an operator's machine). */
export function authorOf(name: string, host: string): { name: string; email: string } {
  return { name, email: `${name}@${host}.crosstalk.local` };
}

/**
 * Final path and bytes of a message, and the commit that carries it.
 *
 * @param origin what the commit's author address names the machine
 * @param suffix at least 8 hex digits from a CSPRNG
 */
export function outgoing(
  message: Message,
  channel: string,
  origin: string,
  suffix: string,
): { relPath: string; commit: OutgoingCommit } {
  const relPath = relPathAt(new Date(message.timestamp), suffix);
  const kind = message.re.length === 0 ? 'message' : 'reply';
  return {
    relPath,
    commit: {
      at: message.timestamp,
      author: authorOf(message.from, message.host ?? origin),
      subject: `crosstalk: ${kind} from ${message.from} in ${channel.slice(0, 8)}`,
      files: [{ path: messageFile(channel, relPath), content: formatMessage(message) }],
    },
  };
}
