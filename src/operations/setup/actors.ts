import { Kept } from '../../bus/kept.ts';
import { profileInForce, type ProfileInForce } from '../../bus/profiles.ts';
import { CrosstalkError } from '../../errors.ts';
import { parseProfile, type Profile } from '../../protocol/files/actor.ts';
import { takesMore } from '../../protocol/files/tier-session.ts';
import { formatDocument } from '../../protocol/text/frontmatter.ts';
import { placeOf, profileFiles } from '../../protocol/layout.ts';
import { isName } from '../../protocol/names.ts';
import { shown } from '../../protocol/text/result.ts';
import { loadHeartbeat } from '../../state/heartbeat.ts';
import { otherMachines } from '../lookup/machines.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { hostsOf } from '../view.ts';

export interface ActorInfo {
  name: string;
  description: string;
  /** Path of the profile in force; null when a host declares the actor and it has no profile. */
  profile: string | null;
  hosts: {
    alias: string;
    tiers: string[];
    /** Whether one of them keeps its process, and receives more messages while it works. */
    warm?: true;
    /** Whether the machine is alive, if a bell reports it. */
    live?: boolean;
    /** Seconds since its last report by the bell; null when there was none. */
    heard_s?: number | null;
  }[];
  /** The only skills that it takes; absent for all. */
  skills?: string[];
}

/** Lists every actor that a host declares or that has a profile of its own; see {@link knownActors}. */
export async function listActors(context: Context): Promise<ActorInfo[]> {
  await refreshOrNote(context);
  const actors = await knownActors(context);
  const aliases = actors.flatMap(({ hosts }) => hosts.map(({ alias }) => alias));
  const heartbeat = await loadHeartbeat(context.paths.heartbeat);
  const heard = otherMachines(heartbeat, [...new Set(aliases)], context.now());
  if (heard === undefined) return actors;
  const machines = new Map(heard.map(({ alias, live, heard_s }) => [alias, { live, heard_s }]));
  return actors.map((actor) => ({
    ...actor,
    hosts: actor.hosts.map((host) => ({ ...host, ...machines.get(host.alias) })),
  }));
}

/**
 * Lists the same actors as known locally, without asking the remote. A profile that came with Crosstalk
 * counts only once a host serves it.
 */
export async function knownActors(context: Context): Promise<ActorInfo[]> {
  const tip = await tipOf(context);
  const [files, hosts] = await Promise.all([
    context.transport.list(tip, ['local/actors', 'upstream/actors']),
    hostsOf(context),
  ]);
  const serving = hosts.flatMap(({ result }) => (result.ok ? [result.value] : []));
  const names = new Set(serving.flatMap(({ actors }) => [...actors.keys()]));
  const profiles = new Map<string, string>();
  for (const { path, oid, type } of files) {
    const place = placeOf(path);
    if (place.kind !== 'profile') continue;
    if (path.startsWith('local/')) names.add(place.name);
    if (type === 'blob') profiles.set(path, oid);
  }
  const read = await readProfiles(context, [...profiles.values()]);
  const tiersOf = new Map<string, ActorInfo['hosts']>();
  for (const { alias, actors } of serving)
    for (const [name, tiers] of actors) {
      const known = tiersOf.get(name) ?? [];
      const warm = tiers.some(takesMore) ? { warm: true as const } : {};
      tiersOf.set(name, [...known, { alias, tiers: tiers.map((tier) => tier.name), ...warm }]);
    }
  return [...names].sort().map((name) => {
    const path = profileFiles(name).find(
      (candidate) => read.get(profiles.get(candidate) ?? '')?.name === name,
    );
    const said = read.get(profiles.get(path ?? '') ?? '');
    return {
      name,
      description: said?.description ?? '',
      profile: path ?? null,
      hosts: tiersOf.get(name) ?? [],
      ...(said?.skills !== undefined && { skills: said.skills }),
    };
  });
}

/** Cached profiles, without the instructions for the actor. */
const kept = new Kept<Said>(4 * 1024 * 1024);
/** The cached part of a profile. */
type Said = Pick<Profile, 'name' | 'description' | 'skills'>;
/** Maximum number of actors that an error names. */
const MAX_NAMED = 50;
/** Number of files read at a time. */
const CHUNK = 100;

/**
 * Reads the descriptions in profiles, by object, because one object may appear under any number of
 * names.
 */
async function readProfiles(
  { transport }: Context,
  oids: readonly string[],
): Promise<Map<string, Said>> {
  const read = new Map<string, Said>();
  const wanted = [...new Set(oids)];
  for (let at = 0; at < wanted.length; at += CHUNK) {
    const some = wanted.slice(at, at + CHUNK).map(async (oid) => {
      const profile = kept.get(oid) ?? (await readProfile(transport, oid));
      if (profile !== undefined) read.set(oid, profile);
    });
    await Promise.all(some);
  }
  return read;
}

async function readProfile(
  transport: Context['transport'],
  oid: string,
): Promise<Said | undefined> {
  const content = (await transport.objects.read(oid))?.content;
  const profile =
    content === undefined ? undefined : parseProfile(content.toString('utf8'), undefined);
  if (profile?.ok !== true) return undefined;
  const { name, description, skills } = profile.value;
  const bytes = Buffer.byteLength(description) + (skills?.join().length ?? 0);
  return kept.keep(oid, { name, description, ...(skills && { skills }) }, bytes);
}

/** Returns one actor with its system prompt; also one that came with Crosstalk, and that nobody serves. */
export async function showActor(
  context: Context,
  name: string,
): Promise<ActorInfo & { body: string }> {
  const actors = await listActors(context);
  const { profile, problem } = isName(name) ? await profileOf(context, name) : {};
  const actor =
    actors.find((candidate) => candidate.name === name) ??
    (profile && { name, description: profile.description, hosts: [] });
  if (actor === undefined) {
    const named = actors.slice(0, MAX_NAMED).map((candidate) => candidate.name);
    if (actors.length > MAX_NAMED) named.push(`and ${String(actors.length - MAX_NAMED)} more`);
    const known = named.join(', ');
    throw new CrosstalkError(
      'not_found',
      `no actor ${shown(name)}, this transport has ${known}; add one with: crosstalk actor add ${isName(name) ? name : '<name>'} --cli <command>`,
    );
  }
  if (problem !== undefined) context.note(problem);
  return { ...actor, profile: profile?.path ?? null, body: profile?.body ?? '' };
}

export async function profileOf(context: Context, name: string): Promise<ProfileInForce> {
  return profileInForce(context, await tipOf(context), name);
}

/** Returns the text of a new profile. */
export function profileText(name: string, description = `The actor ${name}.`): string {
  return formatDocument({ name, description }, `You are **${name}**. ${description}\n`);
}
