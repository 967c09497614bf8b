import { Kept } from '../../bus/kept.ts';
import { profileInForce, type ProfileInForce } from '../../bus/profiles.ts';
import { CrosstalkError } from '../../errors.ts';
import { parseProfile, type Profile } from '../../protocol/files/actor.ts';
import { formatDocument } from '../../protocol/text/frontmatter.ts';
import { placeOf, profileFiles } from '../../protocol/layout.ts';
import { isTier } from '../../protocol/message.ts';
import { EVERYONE } from '../../protocol/address.ts';
import { isName } from '../../protocol/names.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { shown } from '../../protocol/text/result.ts';
import { headlessCommand } from '../../agents/agents.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { deliverOrNote } from '../deliver.ts';
import { hostsOf } from '../view.ts';
import { approveWritten } from './approvals.ts';
import { thisHost, writeTier } from './hosts.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { chosenWorkdir } from './workdir-option.ts';

export interface ActorInfo {
  name: string;
  description: string;
  /** Path of the profile in force; null when a host declares the actor and it has no profile. */
  profile: string | null;
  hosts: { alias: string; tiers: string[] }[];
}

/** Every actor that has a profile or that a host declares. */
export async function listActors(context: Context): Promise<ActorInfo[]> {
  await refreshOrNote(context);
  return knownActors(context);
}

/** The same actors as known locally, without asking the remote. */
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
    names.add(place.name);
    if (type === 'blob') profiles.set(path, oid);
  }
  const read = await readProfiles(context, [...profiles.values()]);
  const tiersOf = new Map<string, ActorInfo['hosts']>();
  for (const { alias, actors } of serving)
    for (const [name, tiers] of actors) {
      const known = tiersOf.get(name) ?? [];
      tiersOf.set(name, [...known, { alias, tiers: tiers.map((tier) => tier.name) }]);
    }
  return [...names].sort().map((name) => {
    const path = profileFiles(name).find(
      (candidate) => read.get(profiles.get(candidate) ?? '')?.name === name,
    );
    return {
      name,
      description: read.get(profiles.get(path ?? '') ?? '')?.description ?? '',
      profile: path ?? null,
      hosts: tiersOf.get(name) ?? [],
    };
  });
}

/** Profiles that were read before, without the instructions for the actor. */
const kept = new Kept<Pick<Profile, 'name' | 'description'>>(4 * 1024 * 1024);
/** The most actors that an error names. */
const MAX_NAMED = 50;
/** The number of files read at a time. */
const CHUNK = 100;

/**
 * Reads the descriptions in profiles, by object, because one object may appear under any number of
 * names.
 */
async function readProfiles(
  { transport }: Context,
  oids: readonly string[],
): Promise<Map<string, Pick<Profile, 'name' | 'description'>>> {
  const read = new Map<string, Pick<Profile, 'name' | 'description'>>();
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
): Promise<Pick<Profile, 'name' | 'description'> | undefined> {
  const content = (await transport.objects.read(oid))?.content;
  const profile =
    content === undefined ? undefined : parseProfile(content.toString('utf8'), undefined);
  if (profile?.ok !== true) return undefined;
  const { name, description } = profile.value;
  return kept.keep(oid, { name, description }, Buffer.byteLength(description));
}

/** One actor with its system prompt. */
export async function showActor(
  context: Context,
  name: string,
): Promise<ActorInfo & { body: string }> {
  const actors = await listActors(context);
  const actor = actors.find((candidate) => candidate.name === name);
  if (actor === undefined) {
    const named = actors.slice(0, MAX_NAMED).map((candidate) => candidate.name);
    if (actors.length > MAX_NAMED) named.push(`and ${String(actors.length - MAX_NAMED)} more`);
    const known = named.join(', ');
    throw new CrosstalkError(
      'not_found',
      `no actor ${shown(name)}, this transport has ${known}; add one with: crosstalk actor add ${isName(name) ? name : '<name>'} --cli <command>`,
    );
  }
  const { profile, problem } = await profileOf(context, name);
  if (problem !== undefined) context.note(problem);
  return { ...actor, profile: profile?.path ?? null, body: profile?.body ?? '' };
}

async function profileOf(context: Context, name: string): Promise<ProfileInForce> {
  return profileInForce(context.transport, context.paths.root, await tipOf(context), name);
}

export interface AddActorInput {
  name: string;
  /** A command line, or the name of a known agent CLI. */
  cli: string;
  tier: string;
  /** Where it works; by default in a workspace for each thread. */
  workdir?: string;
  description?: string;
  host?: string;
  login: string;
}

/**
 * Adds an actor to this host: writes its command into the host file, approves that command on this
 * machine, and writes a profile to fill in if there is none.
 */
export async function addActor(
  context: Context,
  input: AddActorInput,
): Promise<{ path: string | undefined; host: string; cli: string }> {
  const { name, tier } = input;
  if (!isName(name))
    throw new CrosstalkError(
      'usage',
      `the actor ${shown(name)} is not a name (letters, digits, . _ -, at most 64); choose another`,
    );
  if (name === EVERYONE)
    throw new CrosstalkError('usage', `${name} means everybody; choose another name for the actor`);
  if (!isTier(tier))
    throw new CrosstalkError('usage', `--tier ${shown(tier)} is not a tier name; choose another`);
  const host = await thisHost(context, input.host);
  const from = resolveFrom(context, undefined, input.login);
  const cli = headlessCommand(input.cli);
  const workdir =
    input.workdir === undefined
      ? undefined
      : await chosenWorkdir(context, input.workdir, context.transport.dir);
  const slot = { cli, ...(workdir !== undefined && { workdir }) };
  await approveWritten(context, host.file.alias, name, tier, slot);
  const created = await writeProfile(context, input, from);
  await writeTier(context, host, name, tier, slot, from);
  return { path: created, host: host.file.alias, cli };
}

async function writeProfile(
  context: Context,
  input: AddActorInput,
  from: string,
): Promise<string | undefined> {
  const { name, description } = input;
  const { profile, problem } = await profileOf(context, name);
  if (profile !== undefined || problem !== undefined) return undefined;
  const [path] = profileFiles(name);
  await deliverOrNote(context, [
    {
      at: context.now().toISOString(),
      author: authorOf(from, context.hostname),
      subject: `crosstalk: profile of ${name}`,
      files: [{ path, content: profileText(name, description) }],
    },
  ]);
  return path;
}

/** The text of a new profile. */
export function profileText(name: string, description = `The actor ${name}.`): string {
  return formatDocument({ name, description }, `You are **${name}**. ${description}\n`);
}
