import { watch, type FSWatcher } from 'node:fs';
import { join } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { DropFolder } from '../../state/drop-folder.ts';
import {
  RUN_HAS_ENDED,
  makeRunDirectory,
  removeRunDirectory,
  runDirectory,
} from '../../state/run-directory.ts';
import { clearSessionDirectory, makeTurnDirectory } from '../../state/sessions/agent-sessions.ts';
import type { Log } from '../../log.ts';
import type { OwnClaim } from '../pools/fence.ts';
import type { PermissionAnswer } from '../permission/run-permission.ts';
import { aborted } from '../../wait.ts';
import { listen } from '../socket/wake.ts';

/** The run that makes requests, as the dispatcher knows it. */
export interface RunFacts {
  /** The dispatch id, a ULID. */
  id: string;
  actor: string;
  host: string;
  channel: string;
  /** The batch it handles. */
  messages: readonly string[];
  /** The commit at which the batch was read; absent in records of earlier versions. */
  tip?: string | undefined;
  /** Claims behind which it publishes. */
  claims?: readonly OwnClaim[];
  /** Aborted when its message was cancelled: then it sends nothing more. */
  cancel?: AbortSignal;
}

/** Context of a function that carries out a request. */
export interface Handling {
  /** To be called once nothing of the request can be lost any more. */
  durable: () => void;
  /** Returns the bytes of a file that a request has dropped; undefined for more than `limit` bytes. */
  bytesOf: (request: string, sha256: string, limit: number) => Promise<Buffer | undefined>;
  /** Puts a file where the run can take it. */
  put: (request: string, sha256: string, bytes: Buffer) => Promise<void>;
  /** Aborted once nobody waits for the answer: the asking process has gone, or the run is over. */
  gone: AbortSignal;
}

/** The session in whose directory a run works, instead of one of its own. */
interface EndpointOfSession {
  /** A ULID. */
  id: string;
  /** Whether it has had a turn before. */
  isOpen: boolean;
}

/** Asks a person whether a tool may be used, for a run whose tier has somebody asked; never rejects. */
type AskPermission = (
  request: unknown,
  gone: AbortSignal,
  durable: () => void,
) => Promise<PermissionAnswer>;

/** Carries out the request of a run; the creator of the dispatcher supplies it. */
export type ServeRun = (run: RunFacts, request: unknown, handling: Handling) => Promise<unknown>;

/** Dependencies of a run endpoint; without `askPermission` nobody is asked for permission. */
interface EndpointApp {
  paths: { readonly run: string };
  log: Log;
  serveRun: ServeRun;
  askPermission?: AskPermission;
}

const HAS_ENDED = { error: { code: 'refused', message: RUN_HAS_ENDED }, notes: [] };
/** A unix socket's path may not be longer than this on every system. */
const MAX_SOCKET_PATH = 100;
/** Milliseconds after which the end of a run no longer waits for a request of the run. */
const LONGEST_MS = 30_000;
/** Milliseconds between looks into the drop folder, on systems that do not report changes. */
const LOOK_MS = 300;

/**
 * Endpoint by which a run talks to the dispatcher (trust.md §3): its directory, `CROSSTALK_RUN_DIR`, with a socket
 * `s` for CLIs that may use sockets and a folder `drop/` for CLIs that may only write files. In both cases the sender
 * is known: it is the run that was given the directory.
 *
 * The order at the end, for a crash between any two steps: no more requests are accepted, and senders receive an
 * error → accepted requests are durable → the directory is removed → the run's outcome is recorded. Therefore the
 * record of a run exists as long as its directory does, and the next start takes over everything in the directory.
 */
export class RunEndpoint {
  readonly dir: string;
  readonly #run: RunFacts;
  readonly #app: EndpointApp;
  readonly #drops: DropFolder;
  readonly #underway = new Set<Promise<unknown>>();
  #ear: { close: () => Promise<void> } | undefined;
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #stays = false;
  readonly #over = new AbortController();

  private constructor(app: EndpointApp, run: RunFacts, dir: string, drops: DropFolder) {
    this.#app = app;
    this.#run = run;
    this.dir = dir;
    this.#drops = drops;
  }

  /**
   * Creates the directory of a run and listens there.
   *
   * @param session the session of which it is a turn: between turns its directory stays, and nobody listens
   */
  static async open(
    app: EndpointApp,
    run: RunFacts,
    batch: readonly { name: string; content: string }[],
    session?: EndpointOfSession,
  ): Promise<RunEndpoint> {
    const dir =
      session === undefined
        ? await makeRunDirectory(app.paths.run, run.id, batch)
        : await makeTurnDirectory(app.paths.run, session, batch);
    const drops = await DropFolder.open(dir);
    if (drops === undefined) throw new Error(`no folder for drops in ${dir}`);
    const desk = new RunEndpoint(app, run, dir, drops);
    desk.#stays = session !== undefined;
    try {
      await desk.#listen();
    } catch (error) {
      await drops.close();
      throw error;
    }
    return desk;
  }

  /**
   * Takes over the requests that a run of a dead dispatcher has dropped, and removes its directory.
   *
   * @param session the session of which it was a turn
   */
  static async clear(app: EndpointApp, run: RunFacts, session?: string): Promise<void> {
    const dir = runDirectory(app.paths.run, session ?? run.id);
    const drops = await DropFolder.open(dir);
    if (drops === undefined) return removeRunDirectory(dir);
    await new RunEndpoint(app, run, dir, drops).close();
  }

  /** Resolves when all accepted requests are durable and the directory is removed. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#watcher?.close();
    this.#over.abort();
    await this.#drops.seal();
    await this.#look();
    await Promise.all(this.#underway);
    // An answer given just now still has to be written to its socket.
    await setImmediate();
    await this.#ear?.close();
    await this.#drops.close();
    for (const refused of this.#drops.refused)
      this.#app.log('drop_refused', { id: this.#run.id, actor: this.#run.actor, ...refused });
    await (this.#stays ? clearSessionDirectory(this.dir) : removeRunDirectory(this.dir));
  }

  async #listen(): Promise<void> {
    const socket = join(this.dir, 's');
    if (Buffer.byteLength(socket) <= MAX_SOCKET_PATH) {
      this.#ear = await listen(socket, async (request, gone) => {
        if (request.op === 'ping') return { pid: process.pid };
        if (request.op !== 'send' && request.op !== 'send_talk') throw new Error('not for a run');
        if (this.#over.signal.aborted) return { pid: process.pid, send: HAS_ENDED };
        return { pid: process.pid, send: await this.#serve(request.request, { gone }).answer };
      });
    }
    const look = (): void => void this.#look();
    this.#timer = setInterval(look, LOOK_MS);
    try {
      this.#watcher = watch(join(this.dir, 'drop'), { persistent: false }, look);
      this.#watcher.on('error', () => this.#watcher?.close());
    } catch {
      // The number of watches is limited; looking at intervals works without one.
    }
  }

  /** Only one look runs at a time; a request during it leads to one more. */
  #look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#takeDrops());
    return this.#looking;
  }

  async #takeDrops(): Promise<void> {
    for (;;) {
      const drops = await this.#drops.take().catch(() => []);
      if (drops.length === 0) return;
      const taken = drops.map(({ id, request }) => {
        const { answer, settled } = this.#serve(request, { dropped: id });
        void answer.then((one) => this.#drops.answer(id, one)).catch(() => undefined);
        return settled;
      });
      // Keep no more of them in memory than one look takes.
      await Promise.all(taken);
    }
  }

  /**
   * @param from `dropped`: the name under which it was dropped, which has to be its own; `gone`:
   *   aborted once nobody waits for the answer. The end of the run waits for the answer too: without
   *   it, the sender would believe that a completed request was refused. That of a run that was taken
   *   back waits for nothing, as nothing more is sent for it
   */
  #serve(
    request: unknown,
    { dropped, gone }: { dropped?: string; gone?: AbortSignal },
  ): { answer: Promise<unknown>; settled: Promise<unknown> } {
    let durable: () => void = () => undefined;
    const safe = new Promise<void>((resolve) => (durable = resolve));
    const named =
      dropped === undefined || (request as { id?: unknown } | null)?.id === dropped
        ? request
        : undefined;
    const isQuestion = (named as { kind?: unknown } | null | undefined)?.kind === 'permission';
    const { askPermission } = this.#app;
    const { cancel } = this.#run;
    const over = AbortSignal.any([this.#over.signal, ...(gone === undefined ? [] : [gone])]);
    const answer =
      cancel?.aborted === true
        ? Promise.resolve(HAS_ENDED)
        : isQuestion && askPermission !== undefined
          ? askPermission(named, gone ?? new AbortController().signal, durable)
          : this.#app.serveRun(this.#run, named, {
              durable,
              bytesOf: (id, sha256, limit) => this.#drops.bytes(id, sha256, limit),
              put: (id, sha256, bytes) => this.#drops.put(id, sha256, bytes),
              gone: over,
            });
    const settled = Promise.race([
      Promise.all([safe, gone && aborted(gone)]),
      aborted(cancel),
      answer.catch(() => undefined),
      sleep(LONGEST_MS, undefined, { ref: false }),
    ]);
    this.#underway.add(settled);
    void settled.finally(() => this.#underway.delete(settled));
    return { answer, settled };
  }
}
