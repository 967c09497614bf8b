import { spawnSync } from 'node:child_process';
import { writeSync } from 'node:fs';
import { hasCode } from '../errors.ts';

/** The terminal on which this process was started. */
export interface Terminal {
  /** Its original settings, in the format of `stty -g`. */
  settings: string;
  size: () => Size;
  /**
   * Passes on every byte as it is typed and shown, which Node's own raw mode does not.
   *
   * @returns false when the terminal no longer exists
   */
  raw: () => boolean;
  restore: () => void;
  /**
   * Writes bytes.
   *
   * @returns false when the terminal no longer exists
   */
  write: (bytes: Uint8Array) => boolean;
}

interface Size {
  cols: number;
  rows: number;
}

/** Reported size of a terminal without one, such as some serial lines. */
const DEFAULT_SIZE: Size = { cols: 80, rows: 24 };
const LIMIT_MS = 5000;

/** Opens the terminal of stdin and stdout; undefined when there is none, or its settings cannot be changed. */
export function openTerminal(): Terminal | undefined {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return undefined;
  const settings = stty('-g')?.trim();
  if (settings === undefined || settings === '') return undefined;
  return {
    settings,
    size: () => {
      const { columns, rows } = process.stdout;
      return columns > 0 && rows > 0 ? { cols: columns, rows } : DEFAULT_SIZE;
    },
    raw: () => stty('raw', '-echo', '-iexten') !== undefined,
    restore: () => {
      stty(settings);
    },
    write,
  };
}

function stty(...words: string[]): string | undefined {
  const { status, stdout } = spawnSync('stty', words, {
    stdio: ['inherit', 'pipe', 'ignore'],
    encoding: 'utf8',
    timeout: LIMIT_MS,
  });
  return status === 0 ? stdout : undefined;
}

/** Writes without `process.stdout`, whose first failure ends this process (src/cli/main.ts). */
function write(bytes: Uint8Array): boolean {
  let from = 0;
  while (from < bytes.length) {
    try {
      from += writeSync(process.stdout.fd, bytes, from);
    } catch (error) {
      if (!hasCode(error, 'EAGAIN')) return false;
      process.stdout.write(bytes.subarray(from));
      return true;
    }
  }
  return true;
}
