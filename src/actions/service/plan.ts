import { readFile, realpath } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import {
  capture,
  environmentFile,
  isVariable,
  parseEnvironmentFile,
  shownValue,
  type Captured,
} from '../../service/environment.ts';
import {
  serviceName,
  plainAdvice,
  launchdPlist,
  shellWord,
  type ManagerKind,
  type ServiceSpec,
  systemdUnit,
} from '../../service/files.ts';
import { stepsOf, type ManagerCall, type Target } from '../../service/steps.ts';
import { refreshOrNote, type Context } from '../context.ts';
import { knownHost } from '../setup/approvals.ts';
import { findThisHost } from '../setup/hosts.ts';
import { type Machine, managerOf } from './machine.ts';
import { assertStays } from '../../package.ts';
import { findServices, targetOf, type InstalledService } from './target.ts';
import { commandLine, programToFind } from '../../agents/command-line.ts';
import { type CommandRunner } from '../../service/run.ts';

export interface InstallInput {
  host?: string;
  /** Set for a unit of the system, which runs as this user. */
  system?: { user: string; uid: number; gid: number };
  /** The names of the variables to store. */
  names: readonly string[];
  start: boolean;
  /** Whether the state directory may lie where other machines could use it. */
  sharedState?: boolean;
}

export interface PlannedFile {
  path: string;
  mode: number;
  /** The content to write, which may contain secrets. */
  content: string;
  /** The content without secrets, to show to people. */
  shown: string;
}

/** The plan of an installation: everything that it will do, before any of it is done. */
export type InstallPlan =
  | { kind: 'plain'; advice: string }
  | {
      kind: 'service';
      target: Target;
      alias: string;
      files: PlannedFile[];
      steps: ManagerCall[];
      /** Services of this clone under an older name, which are removed first. */
      former: InstalledService[];
      left: Captured['left'];
      warnings: string[];
    };

/**
 * Plans the service of this clone on this machine without writing anything.
 *
 * @throws CrosstalkError `not_found` when it has no host file; `refused` when another service is in
 *   the way
 */
export async function planInstall(
  context: Context,
  machine: Machine,
  input: InstallInput,
): Promise<InstallPlan> {
  const { transport, paths } = context;
  assertStays(machine.entry);
  const wrong = input.names.find((name) => !isVariable(name));
  if (wrong !== undefined)
    throw new CrosstalkError(
      'usage',
      `--env takes the name of a variable, not ${shown(wrong.split('=')[0])} with a value; set it in the environment and try --env <name>`,
    );
  // The user could no longer change what root fetches into their clone.
  if (input.system === undefined) await refreshOrNote(context);
  const host = await hostOf(context, input.host);
  const { alias } = host;
  const name = serviceName(alias, transport.id);
  const command = [machine.node, machine.entry, 'dispatch', '--supervised'].concat([
    '--transport',
    transport.dir,
    '--host',
    alias,
    '--log',
    paths.log,
    ...(input.sharedState === true ? ['--shared-state'] : []),
  ]);
  const spec: ServiceSpec = {
    name,
    alias,
    transport: transport.dir,
    command,
    envFile: paths.serviceEnv,
    stderr: join(dirname(paths.log), 'service.err'),
  };
  const manager = await managerOf(machine, input.system !== undefined);
  if (manager === undefined) return { kind: 'plain', advice: plainAdvice(spec) };
  const target = targetOf(context, machine, manager.kind, name);
  const former = await inTheWay(context, machine, target);
  const captured = await captureHere(context, input.names);
  const text =
    manager.kind === 'launchd'
      ? launchdPlist(spec)
      : systemdUnit(spec, manager.version, input.system?.user);
  return {
    kind: 'service',
    target,
    alias,
    files: [
      { path: paths.serviceEnv, mode: 0o600, ...environmentTexts(context, captured) },
      { path: target.file, mode: 0o644, content: text, shown: text },
    ],
    steps: stepsOf(target, input.start ? 'install' : 'installOnly'),
    former,
    left: captured.left,
    warnings: [
      ...((await knownHost(context, alias)).started
        ? []
        : [
            `nothing that the host file of ${alias} runs is approved here, so its mail waits until you have looked at it: crosstalk host show`,
          ]),
      ...(await warningsOf(context, machine, captured, host.actors, manager.kind)),
    ],
  };
}

async function hostOf(
  context: Context,
  alias: string | undefined,
): Promise<{
  alias: string;
  actors: { name: string; tiers: { name: string; cli: string; count: number }[] }[];
}> {
  const found = await findThisHost(context, alias);
  if (found.kind !== 'found') throw new CrosstalkError('not_found', found.problem);
  const actors = [...found.file.actors].map(([name, tiers]) => ({ name, tiers }));
  return { alias: found.file.alias, actors };
}

/**
 * Finds the services that stand in the way of this one.
 *
 * @returns services of this clone with another name, such as that of a former alias
 */
async function inTheWay(
  context: Context,
  machine: Machine,
  target: Target,
): Promise<InstalledService[]> {
  const { ours, others } = await findServices(context, machine);
  const other = others.find(({ file }) => file === target.file);
  if (other !== undefined) {
    throw new CrosstalkError(
      'refused',
      `${other.file} serves another clone of this transport, ${other.serves}; remove it there first with: crosstalk service uninstall`,
    );
  }
  const elsewhere = ours.find(({ kind }) => kind !== target.kind);
  if (elsewhere !== undefined) {
    throw new CrosstalkError(
      'refused',
      `this clone has a service already, ${elsewhere.file}; remove it first with: crosstalk service uninstall`,
    );
  }
  return ours.filter(({ name }) => name !== target.name);
}

async function captureHere({ env, paths }: Context, names: readonly string[]): Promise<Captured> {
  const before = await readFile(paths.serviceEnv, 'utf8').then(
    parseEnvironmentFile,
    () => undefined,
  );
  return capture(
    { ...env, PATH: await lastingPath(env['PATH'] ?? '', [paths.bin, paths.sessionBin]) },
    names,
    before,
  );
}

/** Returns a PATH whose entries outlive this shell, without relative and duplicate entries. */
async function lastingPath(path: string, ours: readonly string[]): Promise<string> {
  const folders = path.split(delimiter).filter((one) => one.startsWith('/') && !ours.includes(one));
  const lasting = folders.map((folder) =>
    /fnm_multishells|^\/run\/user\//.test(folder)
      ? realpath(folder).catch(() => folder)
      : Promise.resolve(folder),
  );
  return [...new Set(await Promise.all(lasting))].join(delimiter);
}

function environmentTexts(
  context: Context,
  captured: Captured,
): Pick<PlannedFile, 'content' | 'shown'> {
  const { variables, named } = captured;
  const at = context.now().toISOString();
  const safe = new Map(
    [...variables].map(([name, value]) => [name, shownValue(captured, name, value)]),
  );
  return {
    content: environmentFile(captured, at),
    shown: environmentFile({ variables: safe, named, left: [] }, at),
  };
}

async function warningsOf(
  { transport }: Context,
  { run, uid }: Machine,
  { variables }: Captured,
  actors: Parameters<typeof findClis>[1],
  kind: ManagerKind,
): Promise<string[]> {
  const environment = Object.fromEntries(variables);
  const missing = (await findClis(run, actors, environment, transport.dir)).filter(
    ({ path }) => path === undefined,
  );
  const git = await whereIs(run, 'git', environment, transport.dir);
  const whose = new Map<string, string[]>();
  for (const { program, actor, tier } of missing)
    whose.set(program, [...(whose.get(program) ?? []), `${actor} (${tier})`]);
  return [
    ...[...whose].map(
      ([program, names]) =>
        `${program}, which ${names.join(', ')} runs, is not on this PATH; install it, or put its folder on the PATH and install the service again`,
    ),
    ...(git === undefined ? ['git is not on this PATH; the dispatcher cannot do without it'] : []),
    ...(uid === 0 && kind !== 'systemd-system'
      ? ['you are root, so agent CLIs will run as root; an ordinary user is safer']
      : []),
  ];
}

/** Formats the steps as commands that a user could type. */
export function typed(steps: readonly ManagerCall[]): string[] {
  return steps.map(({ argv }) => argv.map(shellWord).join(' '));
}

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
