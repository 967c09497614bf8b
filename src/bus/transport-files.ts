import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isIn, isOurs, namedPaths, type Places } from '../agents/named-paths.ts';
import { planningCommand, PLANNING_AGENTS } from '../agents/planning.ts';
import { askingOfTier } from '../agents/sessions/warm-of.ts';
import type { Tier } from '../protocol/files/host-file.ts';
import { visible } from '../protocol/text/quoted.ts';
import type { Transport } from '../transport/transport.ts';

/**
 * Returns the reason why a tier is never run on this machine: its command names a file inside the
 * transport, and anybody who can push can change that file (trust.md §2), or it has a gate and no
 * planning command, or must ask for permission and cannot (work.md). Undefined for a valid tier.
 *
 * A relative path is judged by the folder it names, and not by whether such a file is on the bus: nothing
 * runs in the transport, and anybody who can push could stop a command by pushing a file of that name.
 */
export async function tierRefusalOf(
  transport: Transport,
  home: string,
  tier: Pick<Tier, 'cli' | 'workdir' | 'gate' | 'gatePlan' | 'permit' | 'session'>,
): Promise<string | undefined> {
  const { cli, workdir, gate, gatePlan, permit } = tier;
  const asking = permit === undefined ? undefined : askingOfTier(tier);
  if (asking?.ok === false)
    return `it has permit, and ${asking.why}; take permit out, or change the command`;
  if (gate !== undefined && gatePlan === undefined && planningCommand(cli) === undefined)
    return `it has a gate, and no planning mode of its command is known: that is known of plain calls of ${PLANNING_AGENTS.join(', ')}; name a command that plans and changes nothing with gate_plan`;
  const inCli = await namedInTransport(transport, home, { cli, workdir });
  if (inCli !== undefined || gatePlan === undefined) return inCli;
  return namedInTransport(transport, home, { cli: gatePlan, workdir });
}

async function namedInTransport(
  transport: Transport,
  home: string,
  { cli, workdir }: { cli: string; workdir: string | undefined },
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

/** Determines the refusals of several tiers; each command is examined once. */
export async function refusalsOf(
  transport: Transport,
  home: string,
  tiers: readonly Tier[],
): Promise<(tier: Tier) => string | undefined> {
  const known = new Map<string, string | undefined>();
  const keyOf = ({ cli, workdir, gate, gatePlan, permit }: Tier): string =>
    JSON.stringify([
      cli,
      workdir === undefined,
      gate === undefined,
      gatePlan,
      permit === undefined,
    ]);
  for (const tier of tiers) {
    const key = keyOf(tier);
    if (!known.has(key)) known.set(key, await tierRefusalOf(transport, home, tier));
  }
  return (tier) => known.get(keyOf(tier));
}

function reason(path: string): string {
  return `it names ${visible(path)} inside the transport, which others can change; copy the program to a folder of yours outside of it and name that`;
}

/** Resolves the symlinks in the existing part of a path. */
async function resolved(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined) return real;
  const parent = dirname(path);
  return parent === path ? path : join(await resolved(parent), basename(path));
}
