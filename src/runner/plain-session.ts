import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { withoutInherited } from './inherited.ts';

/**
 * Signals of Ctrl-C and Ctrl-\, which reach the program directly, because it is in the same foreground process group.
 */
const REACHED = ['SIGINT', 'SIGQUIT'] as const;
/** Signals that reach only this process. */
const PASSED_ON = ['SIGTERM', 'SIGHUP'] as const;

/**
 * Runs an interactive program on the standard streams of this process until it ends. The only duty of this process is
 * not to end before it.
 *
 * @param options `inherits`: whether the program inherits further open files of this process
 * @param grace milliseconds between a signal that ends the program and SIGKILL
 * @returns its exit code, 128 + the number of the signal that ended it, or why it did not start
 */
export function runPlain(
  command: readonly string[],
  { inherits = true, ...options }: { cwd: string; env: NodeJS.ProcessEnv; inherits?: boolean },
  grace: number,
): Promise<{ exitCode: number } | { startError: string }> {
  const [program = '', ...args] = command;
  return new Promise((resolve) => {
    const begin = (rest: readonly (number | 'ignore')[]): ChildProcess =>
      spawn(program, args, { ...options, stdio: ['inherit', 'inherit', 'inherit', ...rest] });
    const child = inherits ? begin([]) : withoutInherited(begin);
    let last: NodeJS.Timeout | undefined;
    const ignore = (): void => undefined;
    const end = (signal: NodeJS.Signals): void => {
      child.kill(signal);
      last ??= setTimeout(() => child.kill('SIGKILL'), grace);
    };
    for (const signal of REACHED) process.on(signal, ignore);
    for (const signal of PASSED_ON) process.on(signal, end);
    const finish = (result: { exitCode: number } | { startError: string }): void => {
      clearTimeout(last);
      for (const signal of REACHED) process.off(signal, ignore);
      for (const signal of PASSED_ON) process.off(signal, end);
      resolve(result);
    };
    child.once('error', (error) => {
      finish({ startError: error.message });
    });
    child.once('exit', (code, signal) => {
      finish({ exitCode: code ?? 128 + (signal === null ? 0 : constants.signals[signal]) });
    });
  });
}
