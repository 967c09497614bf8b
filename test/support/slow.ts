import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bus } from './bus.ts';

/** An actor that prints what a test gives it, part by part, and ends when the test says so. */
export class Slow {
  readonly #folder: string;
  #next = 1;

  constructor(bus: Bus, name: string) {
    this.#folder = join(bus.root, `${name}-parts`);
    mkdirSync(this.#folder);
  }

  /** The command of the actor. */
  get cli(): string {
    const wait = 'until [ -e $n ]; do sleep 0.02; done';
    return `cd ${this.#folder}; cat >/dev/null; n=1; while :; do ${wait}; . ./$n; n=$((n+1)); done`;
  }

  /** Prints bytes as they are. */
  print(text: string, stream: 'out' | 'err' = 'out'): void {
    const name = `${String(this.#next)}.text`;
    writeFileSync(join(this.#folder, name), text);
    this.run(`cat ${name}${stream === 'err' ? ' >&2' : ''}`);
  }

  /** Has the shell of the actor do something. */
  run(script: string): void {
    const path = join(this.#folder, String(this.#next++));
    writeFileSync(`${path}.new`, `${script}\n`);
    renameSync(`${path}.new`, path);
  }

  end(code = 0): void {
    this.run(`exit ${String(code)}`);
  }
}
