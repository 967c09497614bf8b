import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bus } from './bus.ts';

/** The result of one command that a run gave. */
export interface Given {
  code: number;
  out: string;
  err: string;
}

/**
 * An agent CLI that gives shell commands, as a manipulated model would: the command line for a host
 * file, and the result of each command.
 */
export class Persuaded {
  readonly cli: string;
  readonly #folder: string;
  readonly #commands: readonly string[];

  constructor(bus: Bus, ...commands: readonly string[]) {
    this.#folder = mkdtempSync(join(bus.root, 'persuaded-'));
    this.#commands = commands;
    const path = join(this.#folder, 'cli');
    const steps = commands.map((command, at) => {
      writeFileSync(join(this.#folder, `${String(at)}.sh`), `${command}\n`);
      const to = join(this.#folder, String(at));
      return `sh '${to}.sh' < /dev/null > '${to}.out' 2> '${to}.err'; echo $? > '${to}.code'`;
    });
    writeFileSync(
      path,
      `#!/bin/sh\ncat > '${this.#folder}/prompt'\n${steps.join('\n')}\necho done\n`,
    );
    chmodSync(path, 0o755);
    this.cli = path;
  }

  /** Where it writes, for a sandbox that has to let it. */
  get folder(): string {
    return this.#folder;
  }

  get prompt(): string {
    return readFileSync(join(this.#folder, 'prompt'), 'utf8');
  }

  /** The results of the commands, in order. */
  get given(): Given[] {
    return this.#commands.map((_command, at) => ({
      code: existsSync(this.#path(at, 'code'))
        ? Number(readFileSync(this.#path(at, 'code'), 'utf8'))
        : -1,
      out: readFileSync(this.#path(at, 'out'), 'utf8'),
      err: readFileSync(this.#path(at, 'err'), 'utf8'),
    }));
  }

  #path(at: number, kind: string): string {
    return join(this.#folder, `${String(at)}.${kind}`);
  }
}
