import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { CrashPoint } from '../../src/crash-points.ts';
import { Bus, type Host } from '../support/bus.ts';
import { agent } from '../support/agents.ts';

const here = dirname(fileURLToPath(import.meta.url));
/** Where the doomed dispatcher is once it was built. */
export const bundle = join(
  here,
  '../../node_modules/.cache/crosstalk',
  `doomed-${String(process.pid)}.mjs`,
);

/** Bundles the doomed dispatcher once, so that a thousand of them start quickly. */
export async function buildDoomed(): Promise<void> {
  mkdirSync(dirname(bundle), { recursive: true });
  await build({
    entryPoints: [join(here, 'doomed.ts')],
    outfile: bundle,
    bundle: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'warning',
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
  });
}

/** What the suite promises, counted; `problems` is empty when the promises were kept. */
export interface Verdict {
  questions: number;
  answered: number;
  deadLetters: number;
  problems: string[];
}

/** One machine with workers that succeed, fail and delegate, and a dispatcher that is killed. */
export class ChaosBus {
  readonly bus = new Bus();
  readonly ledger = join(this.bus.root, 'ledger');
  readonly questions: string[] = [];
  /** What dispatchers logged of runs, for the message of a failure. */
  #log = '';
  host!: Host;

  async open(): Promise<void> {
    writeFileSync(this.ledger, '');
    const logged = (name: string): string =>
      `CHAOS_LEDGER=${this.ledger} ${agent('ledgered', name)}`;
    this.host = await this.bus.host('front', {
      worker: logged('answer'),
      failing: { default: { cli: logged('fail'), retry_delay: '10ms', attempts: 2 } },
      flaky: { default: { cli: logged('flaky'), retry_delay: '10ms', attempts: 50 } },
      boss: logged('delegate'),
      quiet: logged('quiet'),
    });
  }

  async ask(actor: string): Promise<void> {
    this.questions.push(await this.host.send(actor, `to ${actor}`));
  }

  /** Runs a dispatcher until it kills itself or has nothing left to do; true when it died. */
  async doom(point: CrashPoint | 'any', count: number): Promise<boolean> {
    const child = spawn(process.execPath, [bundle], {
      env: {
        ...process.env,
        ...this.host.env,
        CROSSTALK_TRANSPORT: this.host.dir,
        CHAOS_POINT: point,
        CHAOS_COUNT: String(count),
        CHAOS_LEDGER: this.ledger,
        CHAOS_HOST: 'front',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let quiet = 0;
    let rest = '';
    child.stderr.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines.filter((text) => text.startsWith('{'))) {
        const event = JSON.parse(line) as {
          event: string;
          added?: number;
          pending?: number;
          running?: number;
        };
        if (event.event !== 'tick') {
          this.#log += `${line}\n`;
          continue;
        }
        quiet = event.added === 0 && event.pending === 0 && event.running === 0 ? quiet + 1 : 0;
        if (quiet > 4) child.kill('SIGTERM');
      }
    });
    const timer = setTimeout(() => child.kill('SIGTERM'), 15_000);
    await once(child, 'exit');
    clearTimeout(timer);
    return child.signalCode === 'SIGKILL';
  }

  /** Lets an ordinary dispatcher finish what is left. */
  async settle(): Promise<void> {
    const deadline = Date.now() + 60_000;
    for (;;) {
      const log = await this.host.once();
      const letters = JSON.parse((await this.host.run('dlq', '--json')).out) as { state: string }[];
      const retrying = letters.some(({ state }) => state === 'retrying');
      // What a pass pushes is mail for the next one.
      const idle = !log.some(
        ({ event, commits }) =>
          event === 'dispatch_start' || (event === 'push_done' && Number(commits) > 0),
      );
      if ((idle && !retrying) || Date.now() > deadline) return;
    }
  }

  /** Holds the remote, the ledger and the state directory against the promises. */
  async verdict(): Promise<Verdict> {
    const problems: string[] = [];
    const letters = JSON.parse((await this.host.run('dlq', '--json')).out) as {
      messages: string[];
    }[];
    const dead = new Set(letters.flatMap(({ messages }) => messages));
    const messages = this.bus.messages();
    const seen = new Set<string>();
    let answered = 0;
    for (const { relPath, message } of messages) {
      const key = JSON.stringify([message.from, message.to, message.re, message.cause]);
      // What a run sent before it was killed may be sent again: its output was not on record.
      const bySend = message.body === 'by send';
      if (message.re.length > 0 && !bySend && seen.has(key)) {
        problems.push(`twice on the remote: ${relPath} ${key}`);
      }
      seen.add(key);
    }
    for (const question of this.questions) {
      const replies = messages.filter(({ message }) => message.re.includes(question));
      if (replies.length > 0) answered++;
      else if (!dead.has(question))
        problems.push(
          `neither answered nor in the dead letters: ${question} to ${JSON.stringify(messages.find(({ relPath }) => relPath === question)?.message.to)}; named by ${messages
            .filter(({ message }) => message.cause.includes(question))
            .map(({ relPath }) => relPath)
            .join()}; ${this.#log.slice(-4000)}`,
        );
    }
    problems.push(...this.#repeatedRuns(), ...this.#broken(this.host.state));
    return { questions: this.questions.length, answered, deadLetters: dead.size, problems };
  }

  /** A run that starts for a message whose output was recorded before. */
  #repeatedRuns(): string[] {
    const recorded = new Set<string>();
    const problems: string[] = [];
    for (const line of readFileSync(this.ledger, 'utf8').split('\n')) {
      const [kind, paths = ''] = line.split(' ');
      for (const path of paths.split(',')) {
        if (kind === 'recorded') recorded.add(path);
        if (kind === 'start' && recorded.has(path))
          problems.push(`run again after its output was recorded: ${path}`);
      }
    }
    return problems;
  }

  /** Files of the state directory that are not whole. */
  #broken(folder: string): string[] {
    if (!existsSync(folder)) return [];
    return readdirSync(folder, { recursive: true, withFileTypes: true, encoding: 'utf8' }).flatMap(
      (entry) => {
        const path = join(entry.parentPath, entry.name);
        if (/\.(broken|tmp)$/.test(entry.name)) return [`left behind: ${path}`];
        if (!entry.isFile() || !entry.name.endsWith('.json')) return [];
        try {
          JSON.parse(readFileSync(path, 'utf8'));
          return [];
        } catch {
          return [`half written: ${path}`];
        }
      },
    );
  }
}
