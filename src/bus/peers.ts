import { EVERYONE, formatAddress, type Address } from '../protocol/address.ts';
import { isName, placeOf, profileFiles } from '../protocol/layout.ts';
import type { CanAnswer } from '../protocol/pending.ts';
import { parseProfile } from '../protocol/files/actor.ts';
import type { Peer, Peers } from '../protocol/prompt/prompt-peers.ts';
import type { Transport } from '../transport/transport.ts';
import { readHosts } from './host.ts';
import { Cache } from './cache.ts';

/** Maximum number of actors whose profiles are read for a prompt, which has no room for more. */
const MAX_DESCRIBED = 100;

/** Cached names and descriptions of profiles, by object. */
const kept = new Cache<{ name: string; description: string }>(1024 * 1024);

/**
 * Returns the other actors at a commit, the served ones first. A profile that came with Crosstalk counts
 * only once a host serves it. It is read through the open git process.
 *
 * @param self the actor that is left out
 */
export async function peersAt(transport: Transport, tip: string, self: string): Promise<Peers> {
  const hosts = new Map<string, Peer['hosts']>();
  for (const { result } of await readHosts(transport, tip)) {
    if (!result.ok) continue;
    for (const [name, tiers] of result.value.actors) {
      const host = { alias: result.value.alias, tiers: tiers.map((tier) => tier.name) };
      hosts.set(name, [...(hosts.get(name) ?? []), host]);
    }
  }
  const files = new Map<string, string>();
  const own = new Set<string>();
  // One folder at a time, which starts no process.
  for (const folder of ['upstream/actors', 'local/actors'])
    for (const { path, oid, type } of await transport.list(tip, [folder])) {
      const place = placeOf(path);
      if (place.kind !== 'profile' || type !== 'blob') continue;
      files.set(path, oid);
      if (folder === 'local/actors') own.add(place.name);
    }
  hosts.delete(self);
  own.delete(self);
  const served = [...hosts.keys()].sort();
  const names = [...served, ...[...own].filter((name) => !hosts.has(name)).sort()];
  const known = await Promise.all(
    names.slice(0, MAX_DESCRIBED).map(async (name) => ({
      name,
      description: await descriptionOf(transport, name, files),
      hosts: hosts.get(name) ?? [],
    })),
  );
  return { known, more: names.length - known.length };
}

/**
 * Determines who can answer tasks at a commit: actors that a host serves, and people, who have no profile
 * and no host.
 *
 * @param asked the addresses of the tasks
 */
export async function canAnswerAt(
  transport: Transport,
  tip: string,
  asked: readonly Address[],
): Promise<CanAnswer> {
  const gone = new Set<string>();
  for (const address of asked)
    if (
      !(await isServed(transport, tip, address)) &&
      (address.host !== undefined || (await hasProfile(transport, tip, address.name)))
    )
      gone.add(formatAddress(address));
  return (address) => !gone.has(formatAddress(address));
}

/**
 * Whether a host serves an address at a commit. If a host file cannot be read, every address may be
 * served, and counts as such.
 */
export async function isServed(
  transport: Transport,
  tip: string,
  { name, host }: Address,
): Promise<boolean> {
  return (await readHosts(transport, tip)).some(
    ({ result }) =>
      !result.ok ||
      ((name === EVERYONE || result.value.actors.has(name)) &&
        (host === undefined || result.value.alias === host)),
  );
}

/** Whether a name belongs to an actor, served or not. */
export async function hasProfile(
  transport: Transport,
  tip: string,
  name: string,
): Promise<boolean> {
  if (!isName(name)) return false;
  for (const path of profileFiles(name))
    if ((await transport.objects.read(`${tip}:${path}`)) !== undefined) return true;
  return false;
}

/** @param files the object of each profile, by path */
async function descriptionOf(
  transport: Transport,
  name: string,
  files: ReadonlyMap<string, string>,
): Promise<string> {
  for (const path of profileFiles(name)) {
    const profile = await readProfile(transport, files.get(path));
    if (profile?.name === name) return profile.description;
  }
  return '';
}

async function readProfile(
  transport: Transport,
  oid: string | undefined,
): Promise<{ name: string; description: string } | undefined> {
  if (oid === undefined) return undefined;
  const known = kept.get(oid);
  if (known !== undefined) return known;
  const content = (await transport.objects.read(oid))?.content;
  const parsed = content && parseProfile(content.toString('utf8'), undefined);
  if (parsed?.ok !== true) return undefined;
  const { name, description } = parsed.value;
  return kept.keep(oid, { name, description }, Buffer.byteLength(description));
}
