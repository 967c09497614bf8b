import { watch, type FSWatcher } from 'node:fs';
import { join } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import {
  DropFolder,
  RUN_HAS_ENDED,
  makeRunDirectory,
  removeRunDirectory,
  runDirectory,
} from '../../state/run-directory.ts';
import type { Log } from '../../log.ts';
import { listen } from '../socket/wake.ts';

/** The run that speaks, as the dispatcher knows it. */
export interface RunFacts {
  /** The dispatch id, a ULID. */
  id: string;
  actor: string;
  host: string;
  channel: string;
  /** The batch it works on. */
  messages: readonly string[];
  /** The commit the batch was read at; absent in what earlier versions have written. */
  tip?: string | undefined;
}

/**
 * Does what a run asks for: whoever made the dispatcher knows how.
 *
 * @param durable to be called once nothing of it can be lost any more
 */
type ServeRun = (run: RunFacts, request: unknown, durable: () => void) => Promise<unknown>;

export interface DeskParts {
  /** Holds the directories of runs. */
  folder: string;
  serveRun: ServeRun;
  log: Log;
}

const HAS_ENDED = { error: { code: 'refused', message: RUN_HAS_ENDED }, notes: [] };
/** A unix socket's path may not be longer than this everywhere. */
const MAX_SOCKET_PATH = 100;
/** Milliseconds after which the end of a run waits no longer for something it asked for. */
const LONGEST_MS = 30_000;
/** Milliseconds between looks into the drop folder, where the system does not tell of changes. */
const LOOK_MS = 300;

/**
 * Where a run speaks to the dispatcher (trust.md §3): its directory, `CROSSTALK_RUN_DIR`, with a socket
 * `s` for those that may use sockets and a folder `drop/` for those that may only write files. Either
 * way it is known who speaks: the run that was given the directory.
 *
 * Order at the end, for a crash between any two steps: nothing more can be said, and who tries is told
 * so → what was said is durable → the directory is removed → the run's outcome is recorded. A directory that is left behind therefore belongs to a run
 * whose record is there too; the next start takes over what lies in it whole.
 */
export class RunDesk {
  readonly dir: string;
  readonly #run: RunFacts;
  readonly #parts: DeskParts;
  readonly #drops: DropFolder;
  readonly #underway = new Set<Promise<unknown>>();
  #ear: { close: () => Promise<void> } | undefined;
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #ended = false;

  private constructor(parts: DeskParts, run: RunFacts, dir: string, drops: DropFolder) {
    this.#parts = parts;
    this.#run = run;
    this.dir = dir;
    this.#drops = drops;
  }

  /** Makes the directory of a run and listens there. */
  static async open(
    parts: DeskParts,
    run: RunFacts,
    batch: readonly { name: string; content: string }[],
  ): Promise<RunDesk> {
    const dir = await makeRunDirectory(parts.folder, run.id, batch);
    const drops = await DropFolder.open(dir);
    if (drops === undefined) throw new Error(`no folder for drops in ${dir}`);
    const desk = new RunDesk(parts, run, dir, drops);
    await desk.#listen();
    return desk;
  }

  /** Takes over what a run of a dispatcher that died has dropped, and removes its directory. */
  static async clear(parts: DeskParts, run: RunFacts): Promise<void> {
    const dir = runDirectory(parts.folder, run.id);
    const drops = await DropFolder.open(dir);
    if (drops === undefined) return removeRunDirectory(dir);
    await new RunDesk(parts, run, dir, drops).close();
  }

  /** Resolves when all that was said is durable and the directory is gone. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#watcher?.close();
    this.#ended = true;
    await this.#drops.seal();
    await this.#look();
    await Promise.all(this.#underway);
    // What was answered just now is still to be written to its socket.
    await setImmediate();
    await this.#ear?.close();
    await this.#drops.close();
    for (const refused of this.#drops.refused)
      this.#parts.log('drop_refused', { id: this.#run.id, actor: this.#run.actor, ...refused });
    await removeRunDirectory(this.dir);
  }

  async #listen(): Promise<void> {
    const socket = join(this.dir, 's');
    if (Buffer.byteLength(socket) <= MAX_SOCKET_PATH) {
      this.#ear = await listen(socket, async (request, gone) => {
        if (request.op === 'ping') return { pid: process.pid };
        if (request.op !== 'send') throw new Error('not for a run');
        if (this.#ended) return { pid: process.pid, send: HAS_ENDED };
        return { pid: process.pid, send: await this.#serve(request.request, { gone }) };
      });
    }
    const look = (): void => void this.#look();
    this.#timer = setInterval(look, LOOK_MS);
    try {
      this.#watcher = watch(join(this.dir, 'drop'), { persistent: false }, look);
      this.#watcher.on('error', () => this.#watcher?.close());
    } catch {
      // There are only so many watches; looking now and then does.
    }
  }

  /** One look at a time, and one more after it. */
  #look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#takeDrops());
    return this.#looking;
  }

  async #takeDrops(): Promise<void> {
    for (;;) {
      const drops = await this.#drops.take().catch(() => []);
      if (drops.length === 0) return;
      for (const { id, request } of drops) {
        void this.#serve(request, { dropped: id })
          .then((answer) => this.#drops.answer(id, answer))
          .catch(() => undefined);
      }
      // No more of them in memory than one look takes.
      await Promise.all(this.#underway);
    }
  }

  /**
   * @param from `dropped`: the name under which it was dropped, which has to be its own; `gone`: aborted
   *   once nobody waits for the answer, for which the end of the run waits too: without it who asked
   *   would take for refused what was done
   */
  #serve(
    request: unknown,
    { dropped, gone }: { dropped?: string; gone?: AbortSignal },
  ): Promise<unknown> {
    let durable: () => void = () => undefined;
    const safe = new Promise<void>((resolve) => (durable = resolve));
    const named =
      dropped === undefined || (request as { id?: unknown } | null)?.id === dropped
        ? request
        : undefined;
    const answer = this.#parts.serveRun(this.#run, named, durable);
    const left = new Promise<void>((resolve) => {
      if (gone === undefined || gone.aborted) resolve();
      else
        gone.addEventListener('abort', () => {
          resolve();
        });
    });
    const settled = Promise.race([
      Promise.all([safe, left]),
      answer.catch(() => undefined),
      sleep(LONGEST_MS, undefined, { ref: false }),
    ]);
    this.#underway.add(settled);
    void settled.finally(() => this.#underway.delete(settled));
    return answer;
  }
}
