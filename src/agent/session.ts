import { spawn } from 'node:child_process';

/**
 * Runs an interactive program on this terminal until it ends. Ctrl-C reaches it directly, being
 * of the same foreground process group; we only must not end before it does.
 *
 * @returns its exit code, 128 + the number of the signal that ended it, or why it did not start
 */
export function runSession(
  command: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<{ exitCode: number } | { startError: string }> {
  const [program = '', ...args] = command;
  const ignore = (): void => undefined;
  process.on('SIGINT', ignore);
  process.on('SIGQUIT', ignore);
  return new Promise((resolve) => {
    const child = spawn(program, args, { ...options, stdio: 'inherit' });
    const finish = (result: { exitCode: number } | { startError: string }): void => {
      process.off('SIGINT', ignore);
      process.off('SIGQUIT', ignore);
      resolve(result);
    };
    child.once('error', (error) => {
      finish({ startError: error.message });
    });
    child.once('exit', (code, signal) => {
      finish({ exitCode: code ?? (signal === 'SIGINT' ? 130 : 143) });
    });
  });
}
