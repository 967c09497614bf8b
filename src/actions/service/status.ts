import { access, readFile } from 'node:fs/promises';
import { packageVersion } from '../../package.ts';
import { parseEnvironmentFile } from '../../service/environment.ts';
import type { ServiceState } from '../../service/state.ts';
import type { ManagerKind } from '../../service/files.ts';
import { loadHeartbeat } from '../../state/heartbeat.ts';
import { holderOf } from '../../state/lock.ts';
import type { Context } from '../context.ts';
import { logs, type LogLine } from '../tracing/logs.ts';
import { serviceState } from './control.ts';
import type { Machine } from './machine.ts';
import { programsOf, theService, userOf, type InstalledService } from './target.ts';

/** The end of the last dispatcher that ran before the current one, or of the last one that ran. */
interface LastEnd {
  /** The time of its last line in the log, as ISO 8601 in UTC. */
  at: string;
  how: 'stopped' | 'replaced' | 'crashed';
}

export interface ServiceStatus extends ServiceState {
  name: string;
  kind: ManagerKind;
  file: string;
  /** The user as whom agent CLIs run, for a service of the system. */
  user: string | null;
  transport: string;
  /** The time at which the dispatcher started to serve, as ISO 8601 in UTC; null when it does not serve. */
  since: string | null;
  last_end: LastEnd | null;
  version: { running: string | null; installed: string };
  log: string;
  environment: { file: string; captured_at: string | null; variables: string[] };
  /** Whether the user's services continue after logout; null when that does not apply. */
  linger: boolean | null;
  problems: string[];
}

/**
 * Returns the complete state of this clone's service.
 *
 * @throws CrosstalkError `not_found` when there is none
 */
export async function serviceStatus(context: Context, machine: Machine): Promise<ServiceStatus> {
  const found = await theService(context, machine);
  const { paths, transport } = context;
  const [state, heartbeat, holder, environment, last] = await Promise.all([
    serviceState(machine, found),
    loadHeartbeat(paths.heartbeat),
    holderOf(paths.root, 'dispatcher'),
    readFile(paths.serviceEnv, 'utf8').catch(() => undefined),
    lastEnd(paths.log),
  ]);
  const serving = holder?.pid !== undefined && holder.pid === state.pid;
  const beat = serving && heartbeat?.pid === holder.pid ? heartbeat : undefined;
  const linger = found.kind === 'systemd-user' ? await lingers(context, machine) : null;
  const installed = packageVersion();
  const problems = [
    ...stateProblems(state),
    ...(holder !== undefined && !serving
      ? [
          `a dispatcher runs here that the service did not start: process ${String(holder.pid)}; end it, and the service takes over`,
        ]
      : []),
    ...(environment === undefined
      ? [`${paths.serviceEnv} cannot be read; capture it again with: crosstalk service install`]
      : []),
    ...(await programProblems(found)),
  ];
  return {
    name: found.name,
    kind: found.kind,
    file: found.file,
    user: userOf(found),
    ...state,
    transport: transport.dir,
    since: beat?.started_at ?? null,
    last_end: last ?? null,
    version: { running: beat?.version ?? null, installed },
    log: paths.log,
    environment: {
      file: paths.serviceEnv,
      captured_at: /install, (\S+)\.$/m.exec(environment ?? '')?.[1] ?? null,
      variables: [...parseEnvironmentFile(environment ?? '').variables.keys()],
    },
    linger,
    problems,
  };
}

function stateProblems({ state, enabled, exit_code: code }: ServiceState): string[] {
  const ended = code === null ? '' : `, exit code ${String(code)}`;
  const problems: Partial<Record<ServiceState['state'], string>> = {
    failed: `it failed${ended}; see crosstalk logs, then: crosstalk service start`,
    waiting: `it ended${ended}, and is started again after a pause; see: crosstalk logs`,
    stopped: 'it is stopped; start it with: crosstalk service start',
  };
  const problem = problems[state];
  return [
    ...(problem === undefined ? [] : [problem]),
    ...(enabled
      ? []
      : ['it does not start with the machine; enable it with: crosstalk service install']),
  ];
}

/** Checks the files that the service runs, which an upgrade of Node or of Crosstalk may have moved. */
async function programProblems(found: InstalledService): Promise<string[]> {
  const problems: string[] = [];
  for (const path of programsOf(found)) {
    const there = await access(path).then(
      () => true,
      () => false,
    );
    if (!there)
      problems.push(`${path} is gone; name what is there now with: crosstalk service install`);
  }
  return problems;
}

async function lingers({ env }: Context, { run }: Machine): Promise<boolean | null> {
  const user = env['USER'] ?? '';
  const words = ['loginctl', 'show-user', ...(user === '' ? [] : [user]), '--property=Linger'];
  const { code, stdout } = await run(words);
  if (code !== 0) return null;
  return stdout.trim() === 'Linger=yes';
}

/** Returns what the log shows about the end of the run before the last start. */
async function lastEnd(log: string): Promise<LastEnd | undefined> {
  const ends = ['dispatcher_started', 'dispatcher_stopped', 'dispatcher_replaced'];
  // The log is read backwards: the line before a start is the last line of the previous run.
  let beforeStart = false;
  const wanted = ({ event }: LogLine): boolean => {
    const isEnd = beforeStart || ends.includes(event);
    beforeStart = event === 'dispatcher_started';
    return isEnd;
  };
  const lines: LogLine[] = [];
  for await (const line of logs(log, { limit: 4, wanted })) lines.push(line);
  const began = lines.findLastIndex(({ event }) => event === 'dispatcher_started');
  // If lines follow the last start, the last of them may be its end; otherwise it still runs, and
  // the run before it ended.
  const ended = began < lines.length - 1 ? lines.at(-1) : lines[began - 1];
  if (ended === undefined) return undefined;
  const how =
    ended.event === 'dispatcher_replaced'
      ? 'replaced'
      : ended.event === 'dispatcher_stopped'
        ? 'stopped'
        : 'crashed';
  return { at: ended.ts, how };
}
