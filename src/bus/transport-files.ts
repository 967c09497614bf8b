import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isIn, isOurs, namedPaths, type Places } from '../agents/named-paths.ts';
import type { Tier } from '../protocol/files/host-file.ts';
import { visible } from '../protocol/text/quoted.ts';
import type { Transport } from '../transport/transport.ts';

/**
 * Why a command is never run on this machine: it names a file inside the transport, and anybody who
 * can push can change that file (trust.md §2). Undefined when it names no such file.
 *
 * A relative path is judged by the folder it names, and not by whether such a file is on the bus:
 * nothing runs in the transport, and anybody who can push could stop a command by pushing a file of
 * that name.
 */
export async function tierRefusalOf(
  transport: Transport,
  home: string,
  { cli, workdir }: Pick<Tier, 'cli' | 'workdir'>,
): Promise<string | undefined> {
  const places: Places = {
    transport: [...new Set([transport.dir, await resolved(transport.dir)])],
    home,
  };
  const { absolute, relative } = namedPaths(cli, places);
  for (const path of absolute) {
    const real = await resolved(path);
    if (places.transport.some((folder) => isIn(path, folder) || isIn(real, folder)))
      return reason(path);
  }
  // In a command that runs in its own folder, relative paths name files of that folder.
  const named = workdir === undefined ? relative.find(isOurs) : undefined;
  return named === undefined ? undefined : reason(named);
}

/** The refusals of several tiers; each command is looked up once. */
export async function refusalsOf(
  transport: Transport,
  home: string,
  tiers: readonly Tier[],
): Promise<(tier: Tier) => string | undefined> {
  const known = new Map<string, string | undefined>();
  const keyOf = ({ cli, workdir }: Tier): string => JSON.stringify([cli, workdir === undefined]);
  for (const tier of tiers) {
    const key = keyOf(tier);
    if (!known.has(key)) known.set(key, await tierRefusalOf(transport, home, tier));
  }
  return (tier) => known.get(keyOf(tier));
}

function reason(path: string): string {
  return `it names ${visible(path)} inside the transport, which others can change; copy the program to a folder of yours outside of it and name that`;
}

/** A path after following the symlinks in the part of it that exists. */
async function resolved(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined) return real;
  const parent = dirname(path);
  return parent === path ? path : join(await resolved(parent), basename(path));
}
