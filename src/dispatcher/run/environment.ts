import { namesVariable } from '../../agents/command-line.ts';
import { dispatchVariables } from '../../agents/dispatch-variables.ts';
import type { Job } from './job.ts';
import { gitGuards, type Workplace } from './workplace.ts';

/**
 * The environment of a dispatched CLI (cli.md). Of Crosstalk's own variables it has only those that
 * are set here: the dispatcher's own may contain secrets, and name the state directory.
 *
 * @param binDir the folder of the `crosstalk` for agent mode
 */
export function runEnvironment(
  { environment, binDir, dir }: { environment: NodeJS.ProcessEnv; binDir: string; dir: string },
  job: Job,
  place: Workplace,
  runDir: string,
): NodeJS.ProcessEnv {
  // A command that 6.0.0 proposed lets its CLI write into the folder that this variable names.
  const asBefore = namesVariable(job.tier.cli, 'CROSSTALK_STATE_DIR');
  return {
    ...withoutOurs(environment),
    ...gitGuards(place, environment),
    PATH: `${binDir}:${environment['PATH'] ?? ''}`,
    CROSSTALK_TRANSPORT: dir,
    CROSSTALK_RUN_DIR: runDir,
    ...(asBefore && { CROSSTALK_STATE_DIR: runDir }),
    CROSSTALK_WORKDIR: place.dir,
    ...dispatchVariables({ ...job, triggers: job.messages }),
  };
}

/** An environment without Crosstalk's variables. */
export function withoutOurs(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !name.startsWith('CROSSTALK_')),
  );
}
