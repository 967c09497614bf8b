import { PassThrough } from 'node:stream';
import type { ChildProcess } from 'node:child_process';

const PIPES = ['stdin', 'stdout', 'stderr'] as const;

/**
 * Returns a process just started, with each pipe that was requested. When no file descriptor is left, Node
 * creates none of them, and emits the event `error` a moment later: code that reads a pipe would fail before
 * that, and the error would end the whole program. Missing pipes are replaced by pipes that lead nowhere.
 */
export function withPipes<C extends ChildProcess>(child: C): C {
  // Node's types omit this case: a pipe that was not requested is null, one that is missing is undefined.
  const made: Partial<Record<(typeof PIPES)[number], unknown>> = child;
  const missing = PIPES.filter((name) => made[name] === undefined);
  if (missing.length === 0) return child;
  const pipes = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  pipes.stdin.resume();
  pipes.stdout.end();
  pipes.stderr.end();
  Object.assign(child, pipes, { stdio: [pipes.stdin, pipes.stdout, pipes.stderr] });
  return child;
}
