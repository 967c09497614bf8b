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
  cli: string,
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
  for (const path of relative) {
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
  for (const { cli } of tiers)
    if (!known.has(cli)) known.set(cli, await refusalOf(transport, tip, home, cli));
  return ({ cli }) => known.get(cli);
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
