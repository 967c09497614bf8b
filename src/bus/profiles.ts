import { basename, dirname, join } from 'node:path';
import { makeFolder } from '../folder.ts';
import { parseProfile, type Profile } from '../protocol/files/actor.ts';
import { parseMcpServers } from '../protocol/files/mcp-servers.ts';
import { isSkillName } from '../protocol/text/skill-call.ts';
import { profileFiles } from '../protocol/layout.ts';
import { isRecord, readSealed, writeSealed } from '../state/files.ts';
import { Seal } from '../store/seal.ts';
import type { Transport } from '../transport/transport.ts';

/** A profile and the path from which it was read. */
interface ReadProfile extends Omit<Profile, 'name'> {
  path: string;
}

/** The profile of an actor that is in force, and the problem of the one on the bus. */
export interface ProfileInForce {
  /** Undefined for an actor without one. */
  profile?: ReadProfile;
  /** One line about a profile that cannot be read: its path, the reason, and the profile in force instead. */
  problem?: string;
  /**
   * Whether this machine takes turns with the others that serve it: `serve: one` was in its profile, and the
   * operator has not approved anything else since.
   */
  pool?: true;
  /** First time it was seen on this machine, if that had seen another one, or none, before. */
  seen?: ProfileSeen;
}

/** A profile that arrived when this machine knew the actor already; `at` is ISO 8601 in UTC. */
export interface ProfileSeen {
  what: 'new' | 'changed';
  at: string;
}

/** The source of profiles, and the place of their copies. */
export interface ProfilePlace {
  transport: Transport;
  /** The state directory, which keeps the last profile that could be read. */
  paths: { readonly root: string };
  now: () => Date;
}

/** Returns the folder in which a machine with this state directory keeps profiles. */
export function profilesIn(stateDir: string): string {
  return join(stateDir, 'profiles');
}

/** Returns the file with the last readable profile of an actor. */
function keptAt(stateDir: string, actor: string): string {
  return join(profilesIn(stateDir), `${actor}.json`);
}

/**
 * Returns the profile of an actor at a commit, the operator's before the default one. A profile that
 * exists but cannot be read is not a reason to run the actor as somebody else: the last profile that
 * could be read on this machine stays in force, and the problem is reported (talk.md, "What plain 6.0
 * writes is readable").
 */
export async function profileInForce(
  { transport, paths, now }: ProfilePlace,
  tip: string,
  actor: string,
): Promise<ProfileInForce> {
  const file = keptAt(paths.root, actor);
  const before = await keptIn(file);
  const last = before?.profile;
  const mend = `correct it with: crosstalk actor edit ${actor}`;
  const wasPool = before?.pool === true && { pool: true as const };
  let problem: string | undefined;
  for (const path of profileFiles(actor)) {
    const read = await readAt(transport, tip, path, last?.path === path);
    if (read === undefined) continue;
    const parsed = 'reason' in read ? undefined : parseProfile(read.text, actor);
    if (parsed?.ok === true) {
      const profile = readFrom(path, parsed.value);
      const pool = poolBy(profile) ?? wasPool;
      if (problem !== undefined)
        return { profile, ...pool, problem: `${problem}; ${path} is in force meanwhile; ${mend}` };
      if (JSON.stringify(last) === JSON.stringify(profile))
        return { profile, ...pool, ...(before?.seen && { seen: before.seen }) };
      const what = last === undefined ? 'new' : 'changed';
      const seen = before === undefined ? undefined : ({ what, at: now().toISOString() } as const);
      const found = { profile, ...pool, ...(seen && { seen }) };
      await keep(file, found);
      return found;
    }
    const reason =
      'reason' in read ? read.reason : parsed?.ok === false ? parsed.problems.join('; ') : '';
    problem = `${path} cannot be read: ${reason}`;
    if (last !== undefined)
      return {
        profile: last,
        ...wasPool,
        problem: `${problem}; the last readable one stays in force; ${mend}`,
      };
  }
  if (problem !== undefined)
    return { ...wasPool, problem: `${problem}; ${actor} is run without a profile; ${mend}` };
  // A profile that was removed from the bus must not come back in place of a later unreadable one.
  if (before === undefined || last !== undefined) await keep(file, { ...wasPool });
  return { ...wasPool };
}

function poolBy(profile: Pick<Profile, 'serve'> | undefined): { pool: true } | undefined {
  return profile?.serve === 'one' ? { pool: true } : undefined;
}

/**
 * Returns a profile in the form of its copy: the same values in the same order, whatever the order in its
 * file.
 */
export function readFrom(
  path: string,
  {
    description,
    body,
    wake,
    joinTimeout,
    peers,
    skills,
    mcps,
    memories,
    serve,
    history,
  }: Omit<Profile, 'name'>,
): ReadProfile {
  return {
    path,
    description,
    body,
    ...(wake !== undefined && { wake }),
    ...(joinTimeout !== undefined && { joinTimeout }),
    ...(peers !== undefined && { peers }),
    ...(skills !== undefined && { skills }),
    ...(mcps !== undefined && { mcps }),
    ...(memories !== undefined && { memories }),
    ...(serve !== undefined && { serve }),
    ...(history !== undefined && { history }),
  };
}

/**
 * Records that the operator of this machine has written, approved or removed a profile, so that it is not
 * reported as new here, and nothing of it is held.
 */
export async function knowProfile(
  { paths }: Pick<ProfilePlace, 'paths'>,
  actor: string,
  profile: ReadProfile | undefined,
): Promise<void> {
  await keep(keptAt(paths.root, actor), { ...(profile && { profile }), ...poolBy(profile) });
}

/**
 * @param isDue whether the profile was there the last time, so that it is searched for when it seems to
 *   be missing
 */
async function readAt(
  transport: Transport,
  tip: string,
  path: string,
  isDue: boolean,
): Promise<{ text: string } | { reason: string } | undefined> {
  const object = await transport.objects.read(`${tip}:${path}`);
  if (object === undefined) {
    const stands = isDue && (await transport.standing(tip, [path])).has(path);
    return stands ? { reason: 'its content is missing from this clone' } : undefined;
  }
  if (object.type !== 'blob') return { reason: 'it is no file' };
  if (object.content === undefined) return { reason: `it has ${String(object.size)} bytes` };
  return { text: object.content.toString('utf8') };
}

function named(file: string): [Seal, string] {
  return [Seal.of(dirname(file)), basename(file)];
}

/** The copy of an actor's profile; without `profile`, it had none. */
type Kept = Pick<ProfileInForce, 'profile' | 'pool' | 'seen'>;

async function keptIn(file: string): Promise<Kept | undefined> {
  const { value } = (await readSealed(file, ...named(file)).catch(() => undefined)) ?? {};
  if (!isRecord(value)) return undefined;
  const { path, description, body, seen, wake, joinTimeout, peers, skills, mcps, memories } = value;
  const { serve, history } = value;
  const pool = value['pool'] === true && { pool: true as const };
  if (typeof path !== 'string' || typeof description !== 'string' || typeof body !== 'string')
    return { ...pool };
  const profile = readFrom(path, {
    description,
    body,
    ...(wake === 'all' && { wake }),
    ...(typeof joinTimeout === 'number' && { joinTimeout }),
    ...(peers === 'none' && { peers }),
    ...(Array.isArray(skills) && { skills: skills.filter(isSkillName) }),
    ...(Array.isArray(mcps) && mcps.length > 0 && { mcps: parseMcpServers(mcps, []) }),
    ...(memories === 'subjects' && { memories }),
    ...(serve === 'one' && { serve }),
    ...(typeof history === 'number' && { history }),
  });
  return { profile, ...pool, ...(isSeen(seen) && { seen }) };
}

function isSeen(value: unknown): value is ProfileSeen {
  if (!isRecord(value)) return false;
  const { what, at } = value;
  return (what === 'new' || what === 'changed') && typeof at === 'string';
}

/**
 * Stores the copy of a profile. Without the copy there is no fallback for a broken profile, but that must
 * not prevent the actor from running now.
 */
async function keep(file: string, { profile, ...rest }: Kept): Promise<void> {
  try {
    await makeFolder(dirname(file), 0o700);
    await writeSealed(file, { kept: true, ...profile, ...rest }, ...named(file));
  } catch {
    // A full disk is reported by writes that are necessary.
  }
}
