import { readHosts } from '../../bus/host.ts';
import { isFor } from '../../protocol/cancel.ts';
import { placeOf } from '../../protocol/layout.ts';
import { parseMessage, type Message } from '../../protocol/message.ts';
import type { OutboxEntry } from '../../state/outbox-entry.ts';
import type { Transport } from '../../transport/transport.ts';

/** The most messages of a push that are looked at; with more, everybody is told. */
const MOST_MESSAGES = 500;

/**
 * The hosts that serve somebody to whom one of some entries is addressed: those that may have to start
 * a run, end one, or go on with one.
 *
 * @param tip where the entries are on the bus
 * @param self the host that pushed them, which knows of them
 */
export async function namedHosts(
  transport: Transport,
  tip: string,
  entries: readonly OutboxEntry[],
  self: string | undefined,
): Promise<string[]> {
  const files = entries
    .flatMap(({ commits }) => commits)
    .flatMap((commit) => commit.files)
    .filter(({ path }) => placeOf(path).kind === 'message');
  const messages = new Map<string, Message>();
  for (const { content } of files.slice(0, MOST_MESSAGES)) {
    const message = parseMessage(Buffer.from(content));
    if (!message.ok) continue;
    const { type, from, to } = message.value;
    messages.set(JSON.stringify([type, from, to]), message.value);
  }
  if (messages.size === 0) return [];
  const isMore = files.length > MOST_MESSAGES;
  const differing = [...messages.values()];
  const named = new Set<string>();
  for (const { result } of await readHosts(transport, tip)) {
    if (!result.ok || result.value.alias === self) continue;
    const { alias, actors } = result.value;
    const isNamed = [...actors.keys()].some((actor) =>
      differing.some((message) => isFor(message, actor, alias)),
    );
    if (isMore || isNamed) named.add(alias);
  }
  return [...named];
}
