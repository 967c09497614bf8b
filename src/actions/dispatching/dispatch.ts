import type { DispatcherApp } from '../../bus/app.ts';
import { join } from 'node:path';
import type { Log } from '../../log.ts';
import { packageVersion } from '../../package.ts';
import { serve } from '../../dispatcher/serve.ts';
import type { ServeResult } from '../../dispatcher/serve-options.ts';
import { lockDispatcher, type DispatcherLock } from '../../dispatcher/socket/dispatcher-lock.ts';
import { runnerIn, type CommandRunner } from '../../service/run.ts';
import { isPrivate, stateHome } from '../../state/directory.ts';
import { servingCount } from './run-parts.ts';
import { profilesIn } from '../../bus/profiles.ts';
import { sweep } from '../../state/sweep.ts';
import { Store } from '../../store/store.ts';
import { namesOf } from '../../state/state-paths.ts';
import { shareConnections, type Context } from '../context.ts';
import { serveSend } from '../sending/perform.ts';
import { entryPath } from '../service/machine.ts';
import { knowSecrets } from '../setup/secrets.ts';
import { prepareBin } from '../shim.ts';
import { dispatcherApp, dispatchingOf } from './parts.ts';
import { installedAt, type Installed } from '../../service/installed.ts';

export interface DispatchInput {
  host?: string;
  /** The interval of polls in milliseconds; undefined for one that this machine and the remote can bear. */
  interval?: number;
  grace: number;
  once: boolean;
  fromNow: boolean;
  trustHostFile: boolean;
  log: Log;
  stop: AbortSignal;
  hurry: AbortSignal;
  /** Whether a service manager restarts it, so that it ends for a version that is installed later. */
  supervised?: boolean;
  /** Whether the state directory may lie where other machines could use it. */
  sharedState?: boolean;
}

/**
 * Runs the dispatcher of a transport on this machine; see {@link serve}.
 *
 * @throws CrosstalkError as {@link lockDispatcher} does
 */
export async function dispatch(context: Context, input: DispatchInput): Promise<ServeResult> {
  const { transport, paths } = context;
  const place = { ...paths, sharedState: input.sharedState === true };
  const { release, ...sole } = await lockDispatcher(transport.dir, place);
  try {
    return await serveAlone(context, input, sole);
  } finally {
    await release();
  }
}

async function serveAlone(
  context: Context,
  input: DispatchInput,
  sole: Omit<DispatcherLock, 'release'>,
): Promise<ServeResult> {
  const { transport, paths, env } = context;
  const { log } = input;
  // Read now, because another version may be installed by the time it is needed.
  const version = packageVersion();
  const app = dispatcherApp(context, log);
  await Promise.all([prepare(context, app), sole.sure]);
  const dispatching = dispatchingOf(context, app, input);
  const replacement =
    input.supervised === true
      ? await Replacement.of(await entryPath(env), runnerIn(env), log)
      : undefined;
  try {
    const served = await serve(dispatching, {
      socket: paths.socket,
      heartbeat: paths.heartbeat,
      version,
      interval: input.interval,
      serving: () => servingCount(stateHome(env), context.now().getTime()),
      grace: input.grace,
      once: input.once,
      send: (request) => serveSend(context, (id) => dispatching.publisher.publish(id), request),
      checkPlace: sole.check,
      isChanged: () => Store.at(paths.root).isChanged(),
      stop: input.stop,
      hurry: input.hurry,
      ...(replacement && { successor: () => replacement.successor(context.now().getTime()) }),
    });
    if (served.successor !== undefined)
      log('dispatcher_replaced', { from: version, to: served.successor });
    return served;
  } finally {
    await dispatching.sweep.finish();
    if (await isPrivate(paths.connections, { make: false }))
      await transport.closeConnections(paths.connections);
  }
}

/** Prepares the surroundings of runs and pushes, and finishes or removes the remains of a killed process. */
async function prepare(context: Context, { workspaces, worktrees }: DispatcherApp): Promise<void> {
  const { transport, outbox, paths } = context;
  await prepareBin(paths.bin, { state: paths.root, transport: transport.dir });
  await shareConnections(transport, paths, { opens: true });
  const records = await workspaces.folders();
  const { root, git } = paths;
  await knowSecrets(context);
  // Opened now and cached: later there may be no descriptor for it, and mail would be refused.
  await Store.at(root).write(() => undefined);
  await outbox.sweepFiles(context.now());
  const folders = namesOf(paths).full.map((name) => join(root, name));
  const kept = [root, ...folders, join(git, 'info'), outbox.files.folder, profilesIn(root)];
  const copies = await worktrees.folders();
  await sweep(new Set([...kept, ...records, ...copies]), context.now());
}

/** Milliseconds for which the files of an installation must be unchanged; a younger one may not be complete. */
const SETTLED_MS = 2000;
/** Minimum time between two looks, in milliseconds. */
const LOOK_MS = 1000;

/**
 * Detects that another version of this program was installed in the place from which this one was
 * started.
 *
 * It compares the files at the start with the current ones, so the version that is started next finds
 * nothing to replace. A version that cannot be started replaces nothing: the old one keeps running.
 */
class Replacement {
  readonly #entry: string;
  readonly #started: Installed | undefined;
  readonly #run: CommandRunner;
  readonly #log: Log;
  #looked = 0;
  #judged: { build: string; starts: boolean } | undefined;

  private constructor(entry: string, started: Installed | undefined, run: CommandRunner, log: Log) {
    this.#entry = entry;
    this.#started = started;
    this.#run = run;
    this.#log = log;
  }

  /** @param entry the file that was executed, by the name that was used */
  static async of(entry: string, run: CommandRunner, log: Log): Promise<Replacement> {
    return new Replacement(entry, await installedAt(entry), run, log);
  }

  /** Returns the version to make room for, if it differs from this one, is complete and can be started. */
  async successor(now: number): Promise<string | undefined> {
    if (now - this.#looked < LOOK_MS) return undefined;
    this.#looked = now;
    const started = this.#started;
    const there = started && (await installedAt(this.#entry));
    if (there === undefined || there.build === started?.build) return undefined;
    if (now - there.since < SETTLED_MS) return undefined;
    if (this.#judged?.build !== there.build) {
      const tried = await this.#run([process.execPath, this.#entry, 'dispatch', '--help']);
      const starts = tried.code === 0;
      if (!starts)
        this.#log('replacement_failed', {
          version: there.version,
          reason: tried.stderr.trim().slice(0, 500),
        });
      this.#judged = { build: there.build, starts };
    }
    return this.#judged.starts ? there.version : undefined;
  }
}
