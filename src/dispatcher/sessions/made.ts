import { createHash } from 'node:crypto';
import type { MessageReader } from '../../bus/message-reader.ts';
import { profileInForce, type ProfilePlace } from '../../bus/profiles.ts';
import { canonical, wholeOf } from '../../protocol/approval/record.ts';
import type { Tier } from '../../protocol/files/host-file.ts';
import { PROTOCOL_FILE } from '../../protocol/layout.ts';
import type { ServersOfRun } from '../laying/mcp-servers.ts';

/** The folders of skills, of which a session may have been told any. */
const SKILLS = ['upstream/skills', 'local/skills'];

/** From what is read on what the runs of a session depend. */
export interface MadeParts extends ProfilePlace {
  reader: MessageReader;
}

/** A run, as far as its session goes. */
export interface RunOfSession {
  /** The dispatch id. */
  id: string;
  actor: string;
  channel: string;
  tier: Tier;
  /** The commit at which its batch is read. */
  tip: string;
}

/**
 * A digest of all that ends a session when it changes (warm.md): the tier as it is approved, with its command;
 * the tools that are approved, and the secrets in them, since what a tool once printed is taken out of what later
 * runs say by its value now; the profile, the channel's text, the protocol and the skills; and the folder in
 * which the CLI works, by which some keep their sessions.
 *
 * @param dir the folder
 */
export async function madeOf(
  parts: MadeParts,
  { tier, tip, actor, channel }: RunOfSession,
  { dir, tools }: { dir: string; tools: ServersOfRun },
): Promise<string> {
  const { reader, transport } = parts;
  const [protocol, { profile }, about, folders] = await Promise.all([
    reader.text(tip, PROTOCOL_FILE),
    profileInForce(parts, tip, actor),
    reader.channel(tip, channel),
    transport.list(tip, ['upstream', 'local']),
  ]);
  const skills = folders
    .filter(({ path }) => SKILLS.includes(path))
    .map(({ path, oid }) => [path, oid]);
  const whole = [
    ...[tier.name, wholeOf(tier), dir, protocol ?? null, profile ?? null],
    ...[
      about.id,
      about.name,
      about.body,
      skills.sort(),
      tools.servers.map(({ named }) => named),
      [...tools.secrets],
    ],
  ];
  return digestOf(whole);
}

/** A digest of a value that JSON can represent. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex').slice(0, 32);
}
