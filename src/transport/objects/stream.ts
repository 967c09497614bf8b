import { classify, isAnswer } from '../git/failure.ts';
import { failed, type Git } from '../git/git.ts';

/** Number of fields passed on at a time: few enough for memory, and to give other work a turn. */
const MANY = 10_000;

/**
 * Yields the fields of a git command's output as they arrive: git waits while they are not consumed, and
 * is ended when the consumer stops.
 *
 * @param separator the byte that ends a field
 * @throws CrosstalkError `git_failed` when git fails or times out; with the kind `no_answer` when that is
 *   not an answer to the command
 */
export async function* fieldsOf(
  git: Git,
  args: readonly string[],
  separator = 0,
): AsyncGenerator<string[]> {
  const child = git.open(args);
  const end = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
    } catch {
      // The process ended on its own in the meantime.
    }
  };
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-10_000);
  });
  child.stdin.on('error', () => undefined).end();
  const ended = new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      stderr += error.message;
      resolve(null);
    });
    child.once('close', resolve);
  });
  let code: number | null;
  let timer = setTimeout(end, git.patience);
  try {
    let begun: Buffer[] = [];
    let fields: string[] = [];
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      clearTimeout(timer);
      const last = chunk.lastIndexOf(separator);
      if (last < 0) begun.push(chunk);
      else {
        const whole = Buffer.concat([...begun, chunk.subarray(0, last)]).toString('utf8');
        begun = [chunk.subarray(last + 1)];
        for (const field of whole.split(String.fromCharCode(separator))) fields.push(field);
      }
      if (fields.length >= MANY) {
        yield fields;
        fields = [];
      }
      timer = setTimeout(end, git.patience);
    }
    yield fields;
    code = await ended;
    if (code === 0) return;
  } finally {
    clearTimeout(timer);
    if (child.exitCode === null && child.signalCode === null) end();
  }
  const { kind, reason } = classify(stderr);
  throw failed(git.dir, args[0] ?? '', {
    kind: isAnswer(code, stderr) ? kind : 'no_answer',
    reason,
  });
}
