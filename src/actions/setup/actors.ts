import { Cache } from '../../bus/cache.ts';
import { profileInForce, type ProfileInForce } from '../../bus/profiles.ts';
import { CrosstalkError } from '../../errors.ts';
import { parseProfile, type Profile } from '../../protocol/files/actor.ts';
import { takesMore } from '../../protocol/files/tier-options.ts';
import { formatDocument } from '../../protocol/text/frontmatter.ts';
import { placeOf, profileFiles, isName } from '../../protocol/layout.ts';
import { shown } from '../../protocol/text/result.ts';
import { loadHeartbeat } from '../../state/heartbeat.ts';
import { otherMachines } from '../lookup/machines.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { hostsOf } from '../view.ts';
import { EVERYONE } from '../../protocol/address.ts';
import { SCHEDULE_SENDER } from '../../protocol/automation/schedule.ts';
import { SUBSCRIPTION_SENDER } from '../../protocol/automation/subscription.ts';
import { sameButCase, didYouMean } from '../../protocol/text/nearest.ts';
import { isPerson } from '../lookup/people.ts';
import { KNOWN_AGENTS } from '../../agents/agents.ts';
import { commandLine, programToFind } from '../../agents/command-line.ts';
import { canStart } from '../locate.ts';

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
const kept = new Cache<Said>(4 * 1024 * 1024);
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

/** @throws CrosstalkError `usage` for an invalid name of a new actor */
export function assertActorName(name: string): void {
  if (!isName(name))
    throw new CrosstalkError(
      'usage',
      `the actor ${shown(name)} is not a name (letters, digits, . _ -, at most 64); choose another`,
    );
  if (name === EVERYONE)
    throw new CrosstalkError('usage', `${name} means everybody; choose another name for the actor`);
  if (name === SUBSCRIPTION_SENDER || name === SCHEDULE_SENDER)
    throw new CrosstalkError(
      'usage',
      `the tasks of every ${name} are from ${name}, so an actor of that name would be woken by each answer to one; choose another name for the actor`,
    );
}

/**
 * Refuses an actor with the name of a person, whose mail would wake it, and notes one whose name differs
 * only in upper and lower case from that of another actor, or of the writer.
 *
 * @param writer the person who writes in this clone
 * @throws CrosstalkError `refused`
 */
export async function assertNoPerson(
  context: Context,
  { name, writer }: { name: string; writer: string },
): Promise<void> {
  const actors = (await knownActors(context)).map((actor) => actor.name);
  const isWriter = name === writer;
  if (
    isWriter ||
    (!actors.includes(name) && (await isPerson(context, await tipOf(context), { name })) === true)
  )
    throw new CrosstalkError(
      'refused',
      `${name} is ${isWriter ? 'who writes in this clone' : 'a person who has written here'}, and an actor of that name would be woken by that person's mail; choose another name for the actor${isWriter ? ', or for yourself: git config crosstalk.from <name>' : ''}`,
    );
  const twin = sameButCase(name, [...actors, writer]);
  if (twin !== undefined) context.note(twin);
}

/** @throws CrosstalkError `refused` for a person who would write under the name of an actor here */
export async function assertNoActor(context: Context, writer: string): Promise<void> {
  const actors = (await knownActors(context)).filter(({ hosts }) => hosts.length > 0);
  if (actors.some((actor) => actor.name === writer))
    throw new CrosstalkError(
      'refused',
      `${writer} is an actor here, and your mail would be its own; say who you are with --from <name>`,
    );
}

/** Returns the program of a command line, if it cannot be started here. */
export async function missingProgram(
  { env, cwd }: { env: NodeJS.ProcessEnv; cwd: string },
  cli: string,
): Promise<string | undefined> {
  const program = programToFind(commandLine(cli), env['HOME']);
  if (program === undefined || (await canStart(program, env['PATH'] ?? '', cwd))) return undefined;
  return program;
}

/** Notes that the program of a command line cannot be started here, with the known agent it may mean. */
export async function noteMissingProgram(
  { env, cwd, note }: { env: NodeJS.ProcessEnv; cwd: string; note: (line: string) => void },
  cli: string,
): Promise<void> {
  const program = await missingProgram({ env, cwd }, cli);
  if (program === undefined) return;
  const names = KNOWN_AGENTS.map(({ name }) => name);
  const where = program.includes('/') ? 'is not there' : 'is not on the PATH';
  note(`${program} ${where}, so mail for the actor would fail${didYouMean(program, names)}`);
}
