import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { binPath } from '../package.ts';
import type { EventName } from '../log.ts';

/**
 * One of the demo's two machines: a clone and a state directory of its own. Nothing is stored
 * anywhere else.
 */
export interface DemoMachine {
  alias: string;
  dir: string;
  env: NodeJS.ProcessEnv;
}

export interface LogLine {
  event: EventName;
  [field: string]: unknown;
}

export function machine(root: string, alias: string, environment: NodeJS.ProcessEnv): DemoMachine {
  const dir = join(root, alias);
  return {
    alias,
    dir,
    env: {
      ...environment,
      CROSSTALK_TRANSPORT: dir,
      CROSSTALK_STATE_DIR: join(root, `${alias}-state`),
      // This folder holds what all transports of a user share.
      XDG_STATE_HOME: join(root, 'shared-state'),
    },
  };
}

/** The command line of a demo agent: the built script, or the source through tsx. */
export function agentCommand(name: string): string {
  const here = fileURLToPath(import.meta.url);
  const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  const node = quote(process.execPath);
  return here.endsWith('.ts')
    ? `${node} --import ${quote(import.meta.resolve('tsx'))} ${quote(join(here, '..', 'agents', `${name}.ts`))}`
    : `${node} ${quote(join(binPath(), '..', '..', 'dist', 'demo', 'agents', `${name}.js`))}`;
}

/**
 * Starts a real dispatcher process; its log goes to `onLine`, or to a file if the demo's folder is
 * kept.
 */
export function startDispatcher(
  { alias, dir, env }: DemoMachine,
  output: { onLine: (line: LogLine) => void } | { file: string },
): ChildProcess {
  const toFile = 'file' in output;
  const log = toFile ? openSync(output.file, 'a') : 'pipe';
  const child = spawn(
    process.execPath,
    [binPath(), 'dispatch', '--host', alias, '--interval', '1', '--shared-state'],
    {
      cwd: dir,
      env,
      detached: toFile,
      stdio: ['ignore', 'ignore', log],
    },
  );
  if (toFile) child.unref();
  else if (child.stderr) {
    createInterface(child.stderr).on('line', (text) => {
      if (text.startsWith('{')) output.onLine(JSON.parse(text) as LogLine);
    });
  }
  return child;
}

/** Ends dispatchers and waits until their processes have exited. */
export async function stopDispatchers(children: readonly ChildProcess[]): Promise<void> {
  await Promise.all(
    children.map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    }),
  );
}
