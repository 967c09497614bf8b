import { execFile } from 'node:child_process';

/** The result of a program. `code` is null when it could not be started or took too long. */
export interface RunResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program of the system until it ends; never rejects. */
export type CommandRunner = (
  argv: readonly string[],
  options?: { env?: NodeJS.ProcessEnv; cwd?: string },
) => Promise<RunResult>;

/** Milliseconds until a program is killed; longer than a service may take to stop. */
const LIMIT_MS = 90_000;

/** Returns a runner of programs with this environment unless another one is passed. */
export function runnerIn(environment: NodeJS.ProcessEnv): CommandRunner {
  return ([program = '', ...args], { env = environment, cwd } = {}) =>
    new Promise((resolve) => {
      const options = { env, timeout: LIMIT_MS, ...(cwd !== undefined && { cwd }) };
      execFile(program, args, options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : null;
        const problem = error !== null && code === null ? error.message : '';
        resolve({ code, stdout, stderr: stderr === '' ? problem : stderr });
      });
    });
}
