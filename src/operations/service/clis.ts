import type { Status } from '../health/report.ts';
import type { Runner } from '../../service/run.ts';

/** A program that a command of the host file starts, and where an environment finds it. */
export interface CliFound {
  actor: string;
  tier: string;
  program: string;
  /** Undefined when it is not found. */
  path: string | undefined;
}

type Tiers = Pick<NonNullable<Status['host']>, 'actors'>['actors'];

/** The first word of a command line that names a program; undefined when a shell is needed to tell. */
function programOf(cli: string): string | undefined {
  const word = cli
    .trim()
    .split(/\s+/)
    .find((one) => !/^\w+=/.test(one));
  return word !== undefined && /^[\w./+][\w./+-]*$/.test(word) ? word : undefined;
}

/** Looks for the programs of all tiers as a run would: by `/bin/sh`, in this environment and no other. */
export function findClis(
  run: Runner,
  actors: Tiers,
  environment: Record<string, string>,
  cwd: string,
): Promise<CliFound[]> {
  const named = actors.flatMap(({ name, tiers }) =>
    tiers.flatMap((tier) => {
      const program = programOf(tier.cli);
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

export async function whereIs(
  run: Runner,
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
