import { readFile } from 'node:fs/promises';
import { parseEnvironmentFile } from '../../service/environment.ts';
import type { Context } from '../context.ts';
import type { Check } from './check.ts';
import { findClis, whereIs, type CliFound } from '../service/plan.ts';
import { thisMachine, type Machine } from '../service/machine.ts';
import { serviceStatus } from '../service/status.ts';
import { findServices } from '../service/target.ts';
import type { Status } from '../health/report.ts';

const AGAIN = 'capture it again with: crosstalk service install';

/**
 * Examines the service of this clone as it would run: its programs are looked up in the environment
 * that it was given, not in the current one.
 */
export async function serviceChecks(context: Context, host: Status['host']): Promise<Check[]> {
  const machine = await thisMachine(context.env);
  const { ours } = await findServices(context, machine);
  if (ours.length === 0)
    return [
      {
        check: 'service',
        ok: true,
        found: 'none installed; crosstalk service install makes one',
        fix: '',
      },
    ];
  const text = await readFile(context.paths.serviceEnv, 'utf8').catch(() => undefined);
  const status = await serviceStatus(context, machine);
  const service: Check = {
    check: 'service',
    ok: status.state === 'running' && status.problems.length === 0,
    found: [`${status.name} is ${status.state}`, ...status.problems].join(' · '),
    fix: 'crosstalk service status',
  };
  if (text === undefined) return [service];
  const { variables } = parseEnvironmentFile(text);
  return [service, ...(await environmentChecks(context, machine, host, variables))];
}

async function environmentChecks(
  { env, transport }: Context,
  { run }: Machine,
  host: Status['host'],
  variables: ReadonlyMap<string, string>,
): Promise<Check[]> {
  const captured = Object.fromEntries(variables);
  const here = { ...captured, PATH: env['PATH'] ?? '' };
  const actors = host?.actors ?? [];
  const [theirs, ours, git] = await Promise.all([
    findClis(run, actors, captured, transport.dir),
    findClis(run, actors, here, transport.dir),
    whereIs(run, 'git', captured, transport.dir),
  ]);
  return [
    {
      check: 'git of the service',
      ok: git !== undefined,
      found: git ?? 'is not on the PATH of the service',
      fix: AGAIN,
    },
    ...theirs.map((cli, index) => cliCheck(cli, ours[index])),
    pathCheck(captured['PATH'] ?? '', here.PATH),
  ];
}

function cliCheck({ actor, tier, program, path }: CliFound, here: CliFound | undefined): Check {
  const other = here?.path;
  const found =
    path === undefined
      ? `${program} is not on the PATH of the service${other === undefined ? '' : `, though it is on yours: ${other}`}`
      : other === undefined || other === path
        ? path
        : `${path}, where your own shell finds ${other}`;
  return {
    check: `cli of ${actor} (${tier}) in the service`,
    ok: path !== undefined,
    found,
    fix: other === undefined ? `install ${program}, then ${AGAIN}` : AGAIN,
  };
}

/**
 * Checks the PATH of a service. A mere difference is not a problem, because a shell's PATH changes with every tool
 * that is tried.
 */
function pathCheck(captured: string, here: string): Check {
  const folders = (path: string): string[] => path.split(':').filter((one) => one.startsWith('/'));
  const theirs = new Set(folders(captured));
  const missing = [...new Set(folders(here))].filter((folder) => !theirs.has(folder));
  return {
    check: 'PATH of the service',
    ok: true,
    found:
      missing.length === 0
        ? 'has every folder of yours'
        : `out of date: it lacks ${missing.join(', ')} of yours; ${AGAIN}`,
    fix: '',
  };
}
