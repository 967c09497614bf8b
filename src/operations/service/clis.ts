import { commandLine, programToFind } from '../../agents/command-line.ts';
import type { CommandRunner } from '../../service/run.ts';

/** A program that a command of the host file starts, and its path in an environment. */
export interface CliFound {
  actor: string;
  tier: string;
  program: string;
  /** Undefined when it is not found. */
  path: string | undefined;
}

type Tiers = readonly { name: string; tiers: readonly { name: string; cli: string }[] }[];

/** Looks up the programs of all tiers as a run would: with `/bin/sh`, in this environment only. */
export function findClis(
  run: CommandRunner,
  actors: Tiers,
  environment: Record<string, string>,
  cwd: string,
): Promise<CliFound[]> {
  const named = actors.flatMap(({ name, tiers }) =>
    tiers.flatMap((tier) => {
      const program = programToFind(commandLine(tier.cli), environment['HOME']);
      return program === undefined ? [] : [{ actor: name, tier: tier.name, program }];
    }),
  );
  return Promise.all(
    named.map(async (one) => ({
      ...one,
      path: await whereIs(run, one.program, environment, cwd),
    })),
  );
}

/**
 * Returns the path of a program as `/bin/sh` finds it in an environment.
 *
 * @param cwd the folder in which the shell runs
 * @returns undefined when the shell does not find it
 */
export async function whereIs(
  run: CommandRunner,
  program: string,
  environment: Record<string, string>,
  cwd: string,
): Promise<string | undefined> {
  const { code, stdout } = await run(['/bin/sh', '-c', 'command -v "$1"', 'sh', program], {
    env: environment,
    cwd,
  });
  return code === 0 ? stdout.trim() : undefined;
}
