import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { StringDecoder } from 'node:string_decoder';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { isAlive } from '../../src/state/process-identity.ts';
import { events, type Event, type Host } from './bus.ts';
import { until } from './wait.ts';

const bin = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));

/** The real program in its own process; killed when the test is over. */
export class Program {
  readonly child: ChildProcess;
  out = '';
  err = '';

  /** @param host where it runs; `bin` is another installation of the program */
  constructor(host: Pick<Host, 'env'> & { dir: string; bin?: string }, ...argv: string[]) {
    this.child = spawn(process.execPath, [host.bin ?? bin, ...argv], {
      cwd: host.dir,
      env: { ...process.env, ...host.env, CROSSTALK_TRANSPORT: host.dir },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    // A character may come in two chunks.
    // Decoded here, so that a test may look at the bytes as well.
    const [out, err] = [new StringDecoder('utf8'), new StringDecoder('utf8')];
    this.child.stdout?.on('data', (chunk: Buffer) => (this.out += out.write(chunk)));
    this.child.stderr?.on('data', (chunk: Buffer) => (this.err += err.write(chunk)));
    onTestFinished(async () => {
      if (this.running) {
        const gone = once(this.child, 'exit');
        this.child.kill('SIGKILL');
        await gone;
      }
    });
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }
  get events(): Event[] {
    return events(this.err);
  }

  saw(event: string, matches: (event: Event) => boolean = () => true): Promise<Event> {
    return until(`the event ${event} in ${this.err.slice(-2000)}`, () =>
      this.events.find((one) => one.event === event && matches(one)),
    );
  }

  /** Waits for the end; returns the exit code, or the name of the signal. */
  async ended(): Promise<number | string | null> {
    if (this.running) await once(this.child, 'close');
    return this.child.exitCode ?? this.child.signalCode;
  }

  async stop(signal: NodeJS.Signals): Promise<number | string | null> {
    this.child.kill(signal);
    return this.ended();
  }
}

/** Whether a process with this id runs; a dead process that was not reaped does not count. */
export function exists(pid: number): Promise<boolean> {
  return isAlive({ pid, started: '' });
}
