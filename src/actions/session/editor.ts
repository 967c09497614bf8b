import { CrosstalkError } from '../../errors.ts';
import { runPlain } from '../../runner/plain-session.ts';

/** Milliseconds between a signal that ends this program and the end of the editor. */
const GRACE_MS = 5000;

/**
 * Runs `$VISUAL`, `$EDITOR` or vi on a file, on this terminal, until it ends. As with git, a shell splits
 * the value of the variable.
 *
 * @throws CrosstalkError `refused` when the editor fails or cannot be started
 */
export async function runEditor(
  { env, cwd }: { env: NodeJS.ProcessEnv; cwd: string },
  file: string,
): Promise<void> {
  const set = [env['VISUAL'], env['EDITOR']].find((one) => one !== undefined && one !== '');
  const editor = set ?? 'vi';
  const command = ['/bin/sh', '-c', `${editor} "$@"`, 'sh', file];
  const ended = await runPlain(command, { cwd, env }, GRACE_MS);
  if ('exitCode' in ended && ended.exitCode === 0) return;
  const why = 'exitCode' in ended ? `ended with ${String(ended.exitCode)}` : ended.startError;
  throw new CrosstalkError(
    'refused',
    `the editor ${editor} ${why}, so nothing was changed; set another with EDITOR, or give the text with --file <path>`,
  );
}
