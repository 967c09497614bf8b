import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isIn, isOurs, looksLikeFile, namedPaths, type Places } from '../protocol/named-paths.ts';
import type { Tier } from '../protocol/host-file.ts';
import { visible } from '../protocol/quoted.ts';

import type { Transport } from '../transport/transport.ts';

/**
 * Why a command is never run here: it names a file inside the transport, and whoever can push can
 * change that file (trust.md §2). Undefined when it names none.
 *
 * @param tip the commit whose files a relative path is compared with; undefined in an empty transport
 */
export async function refusalOf(
  transport: Transport,
  tip: string | undefined,
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
  // In a folder of its own a command means the files that are there.
  for (const path of workdir === undefined ? relative : []) {
    const named =
      isOurs(path) ||
      (looksLikeFile(path) && tip !== undefined && (await isFile(transport, tip, path)));
    if (named) return reason(path);
  }
  return undefined;
}

/** The refusals of several tiers, looked up once each. */
export async function refusalsOf(
  transport: Transport,
  tip: string | undefined,
  home: string,
  tiers: readonly Tier[],
): Promise<(tier: Tier) => string | undefined> {
  const known = new Map<string, string | undefined>();
  const keyOf = ({ cli, workdir }: Tier): string => JSON.stringify([cli, workdir === undefined]);
  for (const tier of tiers) {
    const key = keyOf(tier);
    if (!known.has(key)) known.set(key, await refusalOf(transport, tip, home, tier));
  }
  return (tier) => known.get(keyOf(tier));
}

function reason(path: string): string {
  return `it names ${visible(path)} inside the transport, which others can change; copy the program to a folder of yours outside of it and name that`;
}

async function isFile(transport: Transport, tip: string, path: string): Promise<boolean> {
  return (await transport.objects.read(`${tip}:${path}`))?.type === 'blob';
}

/** A path with the symlinks of whatever part of it exists followed. */
async function resolved(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined) return real;
  const parent = dirname(path);
  return parent === path ? path : join(await resolved(parent), basename(path));
}
