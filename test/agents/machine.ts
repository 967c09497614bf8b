import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { Bus, Host } from '../support/bus.ts';
import { headless, homeFor, realCli, type CliName, type RealCli } from './clis.ts';

/** The CLIs of this list that are under test. */
export function underTest(...names: CliName[]): RealCli[] {
  const chosen = inject('agents').names.map(realCli);
  return names.flatMap((name) => chosen.filter((cli) => cli.name === name));
}

/**
 * Joins a machine whose actors are real agent CLIs with the proposed command lines, in its own
 * HOME, with `server` as their only model.
 *
 * @param folder a folder that they trust; workspaces are not trusted
 */
export async function machine(
  bus: Bus,
  alias: string,
  server: string,
  actors: Record<string, RealCli>,
  folder?: string,
): Promise<Host> {
  const commands = Object.entries(actors).map(([name, cli]) => [name, headless(cli)]);
  const host = await bus.host(alias, Object.fromEntries(commands) as Record<string, string>);
  const home = join(bus.root, `${alias}-home`);
  mkdirSync(home);
  const { cache } = inject('agents');
  Object.assign(host.env, homeFor(Object.values(actors), server, home, cache, folder));
  return host;
}
