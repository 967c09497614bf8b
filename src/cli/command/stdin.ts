import { fstatSync, readlinkSync } from 'node:fs';
import { CrosstalkError } from '../../errors.ts';
import { withPipes } from '../../with-pipes.ts';

/** The most bytes that are read of a text; some more than a message may have, to say how many it has. */
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Reads all of a stream as text.
 *
 * @param where names the stream in errors
 * @throws CrosstalkError `usage` for bytes that are not UTF-8, which a message cannot carry, and for a stream that
 * does not end
 */
export async function readText(
  stream: AsyncIterable<Buffer | string>,
  where: string,
): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > MOST_BYTES)
      throw new CrosstalkError(
        'usage',
        `${where} is longer than 64 MiB, and a text has at most 1 MiB; put the bulk in a file and send where it is`,
      );
    chunks.push(bytes);
  }
  return utf8(Buffer.concat(chunks), where);
}

/**
 * Yields the lines of a stream, without their ends, as they come.
 *
 * @throws CrosstalkError `usage` at a line that is not UTF-8, and for one of more than 64 MiB
 */
export async function* linesIn(stream: AsyncIterable<Buffer | string>): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  let [size, count] = [0, 0];
  const line = (end: Buffer): string => {
    const bytes = Buffer.concat([...parts, end]);
    [parts, size] = [[], 0];
    return utf8(bytes, `line ${String(++count)} of stdin`).replace(/\r$/, '');
  };
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk);
    let at = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, at)) {
      yield line(bytes.subarray(at, end));
      at = end + 1;
    }
    parts.push(bytes.subarray(at));
    size += bytes.length - at;
    if (size > MOST_BYTES)
      throw new CrosstalkError('usage', 'a line of stdin is longer than 64 MiB');
  }
  if (size > 0) yield line(Buffer.alloc(0));
}

/** @param where names the bytes in the error */
export function utf8(bytes: Uint8Array, where: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new CrosstalkError(
      'usage',
      `${where} is not UTF-8 text (${String(bytes.length)} bytes); a message is text: convert it, or send the path of the file`,
      { cause: error },
    );
  }
}

/** Milliseconds for the program that looks at a pipe. */
const LOOK_MS = 1000;
/** Counts the bytes that wait in stdin, by the two numbers that systems have for this question. */
const COUNT = `for my $ask (0x541B, 0x4004667f) {
  my $n = pack("L", 0);
  if (ioctl(STDIN, $ask, $n)) { print unpack("L", $n); last }
}`;

/**
 * Whether something waits on stdin, as far as that can be known without taking it: a loop that reads lines for one
 * command each would lose the lines that the command takes. The shell's own stdin was not given to this command.
 */
export async function stdinHolds(): Promise<'something' | 'nothing' | 'unknown'> {
  const stat = fstatSync(0);
  if (stat.isCharacterDevice() || isShared()) return 'nothing';
  if (stat.isFile()) return stat.size > 0 ? 'something' : 'nothing';
  if (!stat.isFIFO() && !stat.isSocket()) return 'nothing';
  const count = await waitingBytes();
  return /^\d+$/.test(count) ? (Number(count) > 0 ? 'something' : 'nothing') : 'unknown';
}

/** Returns the number of bytes in a pipe; empty where it cannot be found out in time. */
async function waitingBytes(): Promise<string> {
  // Few commands need it, and to load it takes milliseconds.
  const { spawn } = await import('node:child_process');
  const looking = withPipes(spawn('perl', ['-e', COUNT], { stdio: ['inherit', 'pipe', 'ignore'] }));
  looking.on('error', () => undefined);
  // This program goes on, whatever the other one or a child of it does.
  const enough = setTimeout(() => {
    looking.kill('SIGKILL');
    looking.stdout.destroy();
  }, LOOK_MS);
  let count = '';
  looking.stdout.on('data', (chunk: Buffer) => (count += chunk.toString('latin1')));
  await new Promise((done) => looking.stdout.once('close', done));
  clearTimeout(enough);
  return count.trim();
}

/** Whether the process that started this one has the same stdin; false where that is not known. */
function isShared(): boolean {
  try {
    const [own, parents] = ['self', String(process.ppid)].map((pid) =>
      readlinkSync(`/proc/${pid}/fd/0`),
    );
    return own === parents;
  } catch {
    return false;
  }
}
