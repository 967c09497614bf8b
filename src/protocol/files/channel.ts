import { formatDocument, parseDocumentText } from '../text/frontmatter.ts';
import { isChannelId } from '../layout.ts';
import { parsed, shown, unreadable, type Parsed } from '../text/result.ts';

/**
 * A channel (protocol.md §9). A folder without `CHANNEL.md` is also a channel, whose name is its
 * id.
 */
export interface Channel {
  id: string;
  name: string;
  createdBy?: string;
  createdAt?: string;
  /** Id of the parent channel. */
  parent?: string;
  /** Set if lists leave it out, and no thread may start in it. */
  archived?: true;
  /** A small system prompt for this channel. */
  body: string;
}

const MAX_NAME = 100;

/** Returns the problem of a channel's name, or undefined. */
export function channelNameProblem(name: unknown): string | undefined {
  if (name === undefined) return 'name is missing';
  const valid = typeof name === 'string' && name.trim() === name && /^[^\p{C}]+$/u.test(name);
  return valid && name.length <= MAX_NAME
    ? undefined
    : `name is ${shown(name)}, expected 1 to ${String(MAX_NAME)} printable characters on one line`;
}

/** Parses `CHANNEL.md` of the channel `id`, or returns every problem found in it. */
export function parseChannel(text: string, id: string): Parsed<Channel> {
  const document = parseDocumentText(text);
  if (!document.ok) return document;
  const {
    name,
    created_by: createdBy,
    created_at: createdAt,
    parent,
    archived,
  } = document.value.fields;
  const problems: string[] = [];
  const nameProblem = channelNameProblem(name);
  if (nameProblem !== undefined) problems.push(nameProblem);
  if (parent !== undefined && !isChannelId(parent)) {
    problems.push(`parent is ${shown(parent)}, expected a channel id`);
  }
  if (problems.length > 0) return unreadable(...problems);
  return parsed({
    id,
    name: name as string,
    ...(typeof createdBy === 'string' ? { createdBy } : {}),
    ...(typeof createdAt === 'string' ? { createdAt } : {}),
    ...(typeof parent === 'string' ? { parent } : {}),
    ...(archived === 'true' ? { archived: true } : {}),
    body: document.value.body,
  });
}

export function formatChannel(channel: Channel): string {
  const fields: Record<string, unknown> = { name: channel.name };
  if (channel.createdBy !== undefined) fields['created_by'] = channel.createdBy;
  if (channel.createdAt !== undefined) fields['created_at'] = channel.createdAt;
  if (channel.parent !== undefined) fields['parent'] = channel.parent;
  return formatDocument(fields, channel.body);
}
