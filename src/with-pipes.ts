import { PassThrough } from 'node:stream';
import type { ChildProcess } from 'node:child_process';

const PIPES = ['stdin', 'stdout', 'stderr'] as const;

/**
 * A process just started, with each pipe that was asked for. Where no file descriptor is left, Node makes none of
 * them, and says so by the event `error` a moment later: whoever reads a pipe would fail before that is heard, and
 * the error would end the whole program. The pipes that are missing lead nowhere.
 */
export function withPipes<C extends ChildProcess>(child: C): C {
  // Node's types do not know of this: a pipe that was not asked for is null.
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
