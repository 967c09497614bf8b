import { join } from 'node:path';
import { passed } from '../../crash-points.ts';
import { Deliveries } from '../../dispatcher/intake/deliveries.ts';
import { Dispatcher } from '../../dispatcher/dispatcher.ts';
import { Guards } from '../../dispatcher/run/guards.ts';
import { HostWatch } from '../../dispatcher/host-watch.ts';
import { Known } from '../../dispatcher/intake/known.ts';
import { Lacking } from '../../dispatcher/intake/lacking.ts';
import type { Log } from '../../log.ts';
import { Expected } from '../../bus/expected.ts';
import { Publisher } from '../../bus/publisher.ts';
import { Refusals } from '../../dispatcher/run/refusals.ts';
import { serve } from '../../dispatcher/serve.ts';
import type { Served } from '../../dispatcher/serve-options.ts';
import { packageVersion } from '../../package.ts';
import { LAST_HOST_FILE } from '../../state/approvals.ts';
import { Cursors } from '../../state/cursors.ts';
import { isPrivate } from '../../state/directory.ts';
import { sweep } from '../../state/files.ts';
import { Holds } from '../../state/holds.ts';
import { Interruptions } from '../../state/interruptions.ts';
import { acquire } from '../../state/lock.ts';
import { settledBy } from '../../state/outbox.ts';
import { RunBudget } from '../../state/run-budget.ts';
import { Departed } from '../../state/departed.ts';
import { Silences } from '../../state/silences.ts';
import { approvingIn } from '../setup/approvals.ts';
import { Workspaces } from '../../state/workspaces.ts';
import { WorkspaceSweep } from '../../dispatcher/workspace-sweep.ts';
import { shareConnections, type Context } from '../context.ts';
import { permission, publishing } from '../publishing.ts';
import { serveRun } from '../sending/serve-run.ts';
import { serveSend } from '../sending/serve-send.ts';
import { Replacement } from './replacement.ts';
import { entryPath } from '../service/machine.ts';
import { runnerIn } from '../../service/run.ts';
import { prepareBin } from '../shim.ts';

export interface DispatchInput {
  host?: string;
  /** Milliseconds. */
  interval: number;
  grace: number;
  once: boolean;
  fromNow: boolean;
  trustHostFile: boolean;
  log: Log;
  stop: AbortSignal;
  hurry: AbortSignal;
  /** Kept running by a service manager: makes room for a version that is installed later. */
  supervised?: boolean;
}

const WRITER_WAIT_MS = 10_000;

/** Runs the dispatcher of a transport on this machine; see {@link serve}. */
export async function dispatch(context: Context, input: DispatchInput): Promise<Served> {
  const { transport, archive, outbox, deadLetters, runs, paths, env } = context;
  const { log } = input;
  // Read now: another may be installed by the time it is asked for.
  const version = packageVersion();
  await prepareBin(paths.bin, { state: paths.root, transport: transport.dir });
  await shareConnections(transport, paths, true);
  const workspaces = new Workspaces(paths.work);
  const records = await workspaces.folders();
  const { root, git, outbox: queued, deadLetters: dead, runs: running, bin } = paths;
  await outbox.finish();
  await sweep([root, git, join(git, 'info'), queued, dead, running, bin, ...records]);
  const silences = new Silences(paths.silences);
  const expected = new Expected();
  const departed = new Departed(paths.departed);
  const lacking = new Lacking({ transport, archive, silences, departed, outbox, deadLetters });
  const deliveries = new Deliveries({
    transport,
    archive,
    log,
    known: new Known({
      outbox,
      deadLetters,
      silences,
      expect: (entry) => {
        expected.add(entry);
      },
    }),
    departed,
    lacking,
    hostname: context.hostname,
    wrote: (path) => outbox.hasHeld(path),
    publishAgain: (entries) =>
      outbox.putAll(entries.map((entry) => ({ id: context.newId(), ...entry }))),
    fromNow: input.fromNow,
    cursors: new Cursors(paths.cursors),
  });
  const publisher = new Publisher({
    outbox,
    expected,
    publish: publishing(context),
    mayPush: () => context.budget.push(),
    lock: (signal) => acquire(paths.root, 'writer', { wait: WRITER_WAIT_MS, signal }),
    onPublished: async ({ delivery }) => {
      if (delivery === undefined) return;
      for (const { actor, channel, messages } of settledBy(delivery))
        await deliveries.settle(actor, channel, messages);
      passed('settled');
      if (delivery.deadLetter === undefined) return;
      await deadLetters.remove(delivery.deadLetter);
      passed('letter_removed');
    },
  });
  publisher.events.on('push', (result) => {
    if (result.ok) deliveries.holds(result.tip);
  });
  publisher.events.on('push', (result) => {
    const { attempts } = result;
    if (result.ok) log('push_done', { commits: result.commits, attempts });
    else {
      const { kind, reason } = result.failure;
      log('push_failed', { kind, reason, attempts });
    }
  });
  publisher.events.on('setAside', ({ id, commits }, reason) => {
    const files = commits.flatMap((commit) => commit.files.map(({ path }) => path));
    log('set_aside', { id, files: files.slice(0, 10), reason });
  });
  const hosts = new HostWatch({
    approving: approvingIn(context),
    machine: {
      hostname: context.hostname,
      ...(input.host === undefined ? {} : { alias: input.host }),
    },
    lastGood: join(paths.root, LAST_HOST_FILE),
    trust: input.trustHostFile,
    log,
  });
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const guards = new Guards({
    refusals: new Refusals({
      holds: new Holds(paths.holds),
      environment: env,
      now: context.now,
      zone,
    }),
    pauseFile: paths.pause,
    budget: new RunBudget(paths.runBudget),
    log,
    now: context.now,
  });
  const sweeper = new WorkspaceSweep({
    workspaces,
    archive,
    deliveries,
    deadLetters,
    log,
    now: context.now,
  });
  const dispatcher = new Dispatcher({
    guards,
    transport,
    archive,
    deliveries,
    outbox,
    deadLetters,
    silences,
    lacking,
    interruptions: new Interruptions(paths.interruptions),
    runs,
    publisher,
    hosts,
    log,
    workspaces,
    desks: {
      folder: paths.run,
      serveRun: (run, request, durable) =>
        serveRun(context, (id) => publisher.publish(id), run, request, durable),
    },
    stateDir: paths.root,
    binDir: paths.bin,
    environment: env,
    now: context.now,
    zone,
    random: context.random,
    newId: context.newId,
    suffix: context.suffix,
  });
  const replacement =
    input.supervised === true
      ? await Replacement.watch(await entryPath(env), runnerIn(env), log)
      : undefined;
  try {
    const served = await serve(
      {
        transport,
        deliveries,
        hosts,
        guards,
        dispatcher,
        outbox,
        publisher,
        sweep: sweeper,
        mayRead: () => permission(context.budget)('read'),
        log,
      },
      {
        root: paths.root,
        socket: paths.socket,
        heartbeat: paths.heartbeat,
        version,
        interval: input.interval,
        grace: input.grace,
        once: input.once,
        send: (request) => serveSend(context, (id) => publisher.publish(id), request),
        stop: input.stop,
        hurry: input.hurry,
        ...(replacement && { successor: () => replacement.successor(Date.now()) }),
      },
    );
    if (served.successor !== undefined)
      log('dispatcher_replaced', { from: version, to: served.successor });
    return served;
  } finally {
    await sweeper.finish();
    if (await isPrivate(paths.connections, false))
      await transport.closeConnections(paths.connections);
  }
}
