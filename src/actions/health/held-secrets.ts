import { formatAddress } from '../../protocol/address.ts';
import { saidSecrets, type FoundSecret } from '../../protocol/text/secrets.ts';
import { placeOf } from '../../protocol/layout.ts';
import { parseMessage } from '../../protocol/message.ts';
import { isSuspicious } from '../../secrets/suspicious.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import type { Context } from '../context.ts';
import { act, type Finding } from '../../present/finding.ts';

/** Entry that this machine has yet to push, described without showing it. */
export interface HeldSecret {
  id: string;
  /** Since when; ISO 8601 UTC. */
  at: string;
  /** Description of it, such as `the answer of worker to anna`. */
  what: string;
  /** Whether it is the answer of a run. */
  answer: boolean;
  /** The first paths that it would write. */
  files: string[];
  /** Reasons why it is held: texts in it that look like a secret; empty for an entry that only waits. */
  found: FoundSecret[];
}

const MOST_FILES = 10;

/** Lists the entries held on this machine, oldest first. */
export async function listHeld({ outbox }: Pick<Context, 'outbox'>): Promise<HeldSecret[]> {
  return (await outbox.held()).map((entry) => described(entry, entry.at, entry.held));
}

function described(entry: OutboxEntry, at: string, found: FoundSecret[]): HeldSecret {
  return {
    id: entry.id,
    at,
    what: whatOf(entry),
    answer: entry.delivery !== undefined,
    files: filesOf(entry)
      .slice(0, MOST_FILES)
      .map(({ path }) => harmless(path)),
    found,
  };
}

/** Lists the entries that wait to be pushed on this machine, oldest first, in the same form. */
export async function listWaiting({ outbox }: Pick<Context, 'outbox'>): Promise<HeldSecret[]> {
  return (await outbox.all()).map((entry) => described(entry, entry.commits[0]?.at ?? '', []));
}

/** The most of them that are named among the problems. */
const NAMED = 5;

/** Mail that is held is stuck until somebody decides. */
export function secretProblems(held: readonly HeldSecret[]): Finding[] {
  const lines = held
    .slice(0, NAMED)
    .map(({ id, at, what, found }) =>
      act(
        `held since ${at} and not sent, as it looks like a secret: ${what}: ${saidSecrets(found)}; let it go with: crosstalk outbox --allow-secret ${id}, or forget it with: crosstalk outbox --drop ${id}`,
        'crosstalk outbox',
      ),
    );
  const more = held.length - lines.length;
  const rest = `and ${String(more)} more that look like secrets; list them with: crosstalk outbox`;
  return more > 0 ? [...lines, act(rest, 'crosstalk outbox')] : lines;
}

function filesOf({ commits }: OutboxEntry): { path: string; content: string }[] {
  return commits.flatMap(({ files }) => files);
}

function whatOf(entry: OutboxEntry): string {
  const [first, ...more] = filesOf(entry);
  if (first === undefined) return 'nothing';
  const others = more.length > 0 ? ` and ${String(more.length)} more` : '';
  const { kind } = placeOf(first.path);
  const read = kind === 'message' ? parseMessage(Buffer.from(first.content)) : undefined;
  if (read?.ok !== true) return `${harmless(first.path)}${others}`;
  const { from, to } = read.value;
  const word = entry.delivery === undefined ? 'message' : 'answer';
  const whom = to.slice(0, 3).map(formatAddress).join(', ');
  return `the ${word} of ${harmless(from)} to ${harmless(whom)}${others}`;
}

/** Returns a name or path, unless it looks like a secret itself: then it is not shown either. */
function harmless(text: string): string {
  return isSuspicious(text) ? '(not shown)' : text;
}
