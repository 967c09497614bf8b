import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import type { Ran } from '../support/command.ts';
import { until } from '../support/wait.ts';

/** A `crosstalk watch` that goes on in this process. */
class Watch {
  out = '';
  err = '';
  readonly #stop = new AbortController();
  readonly done: Promise<Ran>;

  constructor(host: Host, ...args: string[]) {
    const options = {
      stop: this.#stop.signal,
      onOut: (text: string) => (this.out += text),
      onErr: (text: string) => (this.err += text),
    };
    this.done = host.runWith(options, 'watch', ...args);
  }

  shows(text: string): Promise<unknown> {
    return until(`${JSON.stringify(text)} in: ${this.out}`, () => this.out.includes(text));
  }

  says(text: string): Promise<unknown> {
    return until(`${JSON.stringify(text)} in: ${this.err}`, () => this.err.includes(text));
  }

  stop(): Promise<Ran> {
    this.#stop.abort();
    return this.done;
  }
}

/** An actor that prints what a test puts into a file, part by part, and ends with the part `end`. */
class Slow {
  readonly #folder: string;
  #next = 1;

  constructor(bus: Bus, name: string) {
    this.#folder = join(bus.root, name);
    mkdirSync(this.#folder);
  }

  get cli(): string {
    return `cd ${this.#folder}; n=1; while :; do until [ -e $n ]; do sleep 0.02; done; if [ "$(cat $n)" = end ]; then exit; fi; cat $n; n=$((n+1)); done`;
  }

  print(text: string): void {
    const path = join(this.#folder, String(this.#next++));
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  }
}

it('what a run prints is seen as it prints it, and watching ends with the run', async () => {
  const bus = new Bus();
  const slow = new Slow(bus, 'slow');
  const host = await bus.host('front', { worker: slow.cli });
  host.start();
  const watch = new Watch(host, 'worker');
  await watch.says('waiting for the next run of worker');
  const question = await host.send('worker', 'part');
  await watch.shows('── worker on front');
  slow.print('first line\nsecond');
  await watch.shows('  first line\n  second');
  slow.print(' goes on\n');
  await watch.shows('  second goes on\n');
  slow.print('end');
  const { code, out } = await watch.done;
  expect(code).toBe(0);
  expect(out).toMatch(/── worker {2}answered {2}after \d+ s\n$/);
  await until('the answer', () => bus.from('worker').length === 1);
  const again = await host.run('watch', question);
  expect(again.out).toContain('  second goes on\n');
});
