import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CrashPoint } from '../../src/crash-points.ts';
import { Bus, type Event, type Host } from '../support/bus.ts';
import { digestOf } from '../support/folder-digest.ts';
import { git } from '../support/git.ts';
import { agent } from '../support/agents.ts';
import { isAtRest, startDoomed, waitingIn } from './doomed-process.ts';

/**
 * Milliseconds for a test that kills. It waits for states; this only ends a test that never reaches
 * them.
 */
export const PATIENCE_MS = 240_000;
/** After so many milliseconds a dispatcher is stuck, and the failure says what it waits for. */
const STUCK_MS = 150_000;
/** The number of ticks in a row that must find nothing to do: a push is news for the next tick. */
const QUIET_TICKS = 3;

/** The promises that the suite checks, as counts; `problems` is empty when all were kept. */
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
  /** What dispatchers logged about runs, for the message of a failure. */
  #log = '';
  host!: Host;

  /** A repository of which an actor gets copies, and what must never change in it. */
  readonly #app = join(this.bus.root, 'app');
  #original = '';

  /** @param withProject an actor works in copies of a repository as well */
  async open(withProject = false): Promise<void> {
    writeFileSync(this.ledger, '');
    const logged = (name: string): string =>
      `CHAOS_LEDGER=${this.ledger} ${agent('ledgered', name)}`;
    this.host = await this.bus.host('front', {
      worker: logged('answer'),
      failing: { default: { cli: logged('fail'), retry_delay: '10ms', attempts: 2 } },
      flaky: { default: { cli: logged('flaky'), retry_delay: '10ms', attempts: 50 } },
      boss: logged('delegate'),
      chatty: logged('chatty'),
      quiet: logged('quiet'),
      billed: `CHAOS_LEDGER=${this.ledger} ${agent('billed/claude', '-p', 'answer')}`,
      ...(withProject && { coder: { default: this.#coder(logged('code')) } }),
    });
    this.#original = withProject ? this.#digest() : '';
  }

  #coder(cli: string): Record<string, string> {
    mkdirSync(this.#app);
    git(this.#app, 'init', '--quiet', '--initial-branch=main');
    const who = ['-c', 'user.name=o', '-c', 'user.email=o@example.com'];
    git(this.#app, ...who, 'commit', '-qm', 'first', '--allow-empty');
    // What prepares a copy must have run in each, once, and in a copy that is complete.
    const before = 'test ! -e prepared && test -d .git && echo x > prepared';
    return { cli, worktree: this.#app, before };
  }

  /** What must never change in the repository: all but its objects and the branches of threads. */
  #digest(): string {
    const isKept = (path: string): boolean =>
      !/^\.git\/(?:objects|refs\/heads\/crosstalk|logs\/refs\/heads\/crosstalk)/.test(path);
    return digestOf(this.#app, isKept);
  }

  /** A branch that is not where an answer says, something half made, or a change of the repository. */
  #spoilt(): string[] {
    if (this.#original === '') return [];
    const problems = this.#digest() === this.#original ? [] : ['the repository was changed'];
    git(this.#app, 'fsck', '--strict');
    const names = (folder: string): string[] =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' });
    for (const path of names(join(this.#app, '.git')))
      if (path.endsWith('.lock')) problems.push(`a lock stays: ${path}`);
    for (const path of names(join(this.host.state, 'worktrees')))
      if (/\.making|\.git\/pack-/.test(path)) problems.push(`half made: ${path}`);
    for (const { relPath, message } of this.bus.from('coder')) {
      const { branch, failed } = message;
      if (failed !== undefined) continue;
      if (branch?.held !== undefined) problems.push(`held: ${branch.held}`);
      if (branch === undefined) problems.push(`no branch: ${relPath}`);
      else if (git(this.#app, 'rev-parse', branch.name).trim() !== branch.commit)
        problems.push(`the branch is elsewhere: ${branch.name}`);
      else if (!git(this.#app, 'show', `${branch.name}:prepared`).startsWith('x'))
        problems.push(`the copy was not prepared: ${branch.name}`);
    }
    return problems;
  }

  /**
   * Sends a question. It may be queued at first: git of a dispatcher that was just killed holds its lock
   * for a moment more.
   */
  async ask(actor: string): Promise<void> {
    const sent = await this.host.run('send', '--to', actor, '--', `to ${actor}`);
    const relPath = /^(?:Sent|Queued): (.+)$/m.exec(sent.out)?.[1];
    if (relPath === undefined) throw new Error(`send failed: ${sent.out}${sent.err}`);
    this.questions.push(relPath);
  }

  /**
   * Runs a dispatcher until it kills itself or has nothing left to do, now or later; true when it
   * died. It is given so much time that a busy machine reaches the point.
   */
  async doom(point: CrashPoint | 'any', count: number): Promise<boolean> {
    let quiet = 0;
    let stuck = '';
    const doomed = startDoomed(this.host, {
      point,
      count,
      ledger: this.ledger,
      onEvent: (event, line) => {
        if (event.event !== 'tick') {
          this.#log += `${line}\n`;
          return;
        }
        const nothing = ['added', 'pending', 'running'].every((fact) => event[fact] === 0);
        // The counts of a tick include no retries, neither current ones nor those due later.
        quiet = nothing && isAtRest(this.host.state) ? quiet + 1 : 0;
        if (quiet === QUIET_TICKS) doomed.child.kill('SIGTERM');
      },
    });
    const timer = setTimeout(() => {
      stuck = `it neither dies nor comes to rest; ${waitingIn(this.host.state)}; ${this.#log.slice(-4000)}`;
      doomed.child.kill('SIGKILL');
    }, STUCK_MS);
    const signal = await doomed.ended;
    clearTimeout(timer);
    if (stuck !== '') throw new Error(stuck);
    return signal === 'SIGKILL';
  }

  /** Lets an ordinary dispatcher finish the rest. */
  async settle(): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS / 2;
    for (;;) {
      // A push of the killed dispatcher may still be under way, and make a first pass fail.
      const pass = await this.host.once().catch((error: unknown) => String(error));
      if (typeof pass !== 'string' && !didSomething(pass) && isAtRest(this.host.state)) return;
      const said = typeof pass === 'string' ? pass : pass.map((event) => JSON.stringify(event));
      if (Date.now() > deadline)
        throw new Error(
          `it does not come to rest: ${said.toString()}; ${waitingIn(this.host.state)}`,
        );
    }
  }

  /** Checks the remote, the ledger and the state directory against the promises. */
  async verdict(): Promise<Verdict> {
    const problems: string[] = [];
    const letters = JSON.parse((await this.host.run('dlq', '--json')).out) as {
      messages: string[];
    }[];
    const dead = new Set(letters.flatMap(({ messages }) => messages));
    const messages = this.bus.messages();
    const seen = new Map<string, string>();
    let answered = 0;
    for (const { relPath, message } of messages) {
      const { from, to, re, cause, failed } = message;
      const key = JSON.stringify([from, to, re, cause, failed !== undefined]);
      // Messages that a run sent before it was killed may be sent again, because its output was not
      // recorded.
      const bySend = message.body === 'by send';
      const said = `${relPath} ${JSON.stringify(message)}`;
      const before = seen.get(key);
      if (message.re.length > 0 && !bySend && before !== undefined) {
        problems.push(`twice on the remote: ${before} and ${said}; ${this.#log.slice(-4000)}`);
      }
      seen.set(key, said);
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
    problems.push(
      ...this.#spoilt(),
      ...this.#unbilled(),
      ...this.#repeatedRuns(),
      ...this.#broken(this.host.state),
    );
    return { questions: this.questions.length, answered, deadLetters: dead.size, problems };
  }

  /** Runs that are not on the bill exactly once, and an answer that does not tell what it cost. */
  #unbilled(): string[] {
    const folder = join(this.host.state, 'ledger');
    const text = existsSync(folder)
      ? readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
      : [];
    const ids = [...text.join('').matchAll(/"id":"(\w+)"/g)].map(([, id]) => id);
    const runs = readFileSync(this.ledger, 'utf8').match(/^start /gm)?.length ?? 0;
    const untold = this.bus.from('billed').filter(({ message }) => message.usage?.usd !== 0.25);
    return [
      ...(new Set(ids).size === ids.length ? [] : ['a run is on the bill twice']),
      ...(ids.length >= runs
        ? []
        : [`${String(runs)} runs, and ${String(ids.length)} on the bill`]),
      ...untold.map(({ relPath }) => `no usage: ${relPath}`),
    ];
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

  /** Files of the state directory that are incomplete. */
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

/** Whether a pass ran or pushed something, which is news for the next pass. */
function didSomething(pass: readonly Event[]): boolean {
  return pass.some(
    ({ event, commits }) =>
      event === 'dispatch_start' || (event === 'push_done' && Number(commits) > 0),
  );
}
