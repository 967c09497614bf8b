import { machineZone } from '../clock.ts';
import { Expected } from '../../bus/expected.ts';
import { Dispatcher } from '../../dispatcher/dispatcher.ts';
import { Deliveries } from '../../dispatcher/intake/deliveries.ts';
import { Known } from '../../dispatcher/intake/known.ts';
import { claimLeaseOf } from '../../bus/claims.ts';
import { ClaimQueue } from '../../dispatcher/pools/claim-queue.ts';
import { abandonedLetter } from '../../dispatcher/run/letters.ts';
import { Pools } from '../../dispatcher/pools/pools.ts';
import { Gated } from '../../dispatcher/gates/gated.ts';
import { MissingParents } from '../../dispatcher/intake/missing-parents.ts';
import type { Dispatching } from '../../dispatcher/tick.ts';
import type { Engine } from '../../dispatcher/run/engine.ts';
import type { DispatcherApp } from '../../bus/app.ts';
import { ChannelLinks } from '../../bus/channel-links.ts';
import { CrossChannelLinks } from '../../bus/cross-channel-links.ts';
import { StalledJobs, ErrorTracker } from '../../bus/stalled-jobs.ts';
import { KeptProcesses } from '../../state/sessions/agent-sessions.ts';
import { Extras } from '../../dispatcher/extras/extras.ts';
import { ScheduleRecords } from '../../state/automation/schedules.ts';
import { Subscriptions } from '../../dispatcher/automation/subscriptions.ts';
import { SubscriptionFiles } from '../../bus/automation/subscriptions.ts';
import { WorkspaceSweep } from '../../dispatcher/workspace-sweep.ts';
import { Sandboxes } from '../../runner/sandbox/bubblewrap.ts';
import { runners } from '../../runner/acp/runners.ts';
import type { Log } from '../../log.ts';
import { Cursors } from '../../state/cursors.ts';
import { Gates } from '../../state/gates.ts';
import { Interruptions } from '../../state/interruptions.ts';
import { KeptOutcomes } from '../../state/outcomes/kept-outcomes.ts';
import { Ledger } from '../../state/bills/ledger.ts';
import { Settled } from '../../state/settled.ts';
import { Workspaces } from '../../state/workspaces.ts';
import { Worktrees } from '../../state/worktrees.ts';
import type { Context } from '../context.ts';
import { permission } from '../publishing.ts';
import { HostReporting, publisherOf } from './host-reporting.ts';
import { LookUps } from '../sending/look-up.ts';
import { serveRun } from '../sending/serve-run.ts';
import { extrasOf } from './extras.ts';
import {
  guardsOf,
  hostFileOf,
  operatorOf,
  permissionsOf,
  sessionsOf,
  transcribingOf,
} from './run-parts.ts';

/** The operator's decisions that affect a dispatcher. */
interface Choices {
  host?: string;
  fromNow: boolean;
  trustHostFile: boolean;
  log: Log;
}

/** Creates the app of a dispatcher: its context, and everything else that a dispatcher works with. */
export function dispatcherApp(context: Context, log: Log): DispatcherApp {
  const { paths, env } = context;
  return {
    ...context,
    log,
    operator: operatorOf(context),
    zone: machineZone() ?? 'UTC',
    settled: new Settled(paths.root),
    kept: new KeptOutcomes(paths.root, env),
    interruptions: new Interruptions(paths.root),
    keptProcesses: new KeptProcesses(paths.root),
    ledger: new Ledger(paths.ledger),
    workspaces: new Workspaces(paths.work),
    worktrees: new Worktrees(paths.worktrees),
    runner: runners,
    sandboxes: new Sandboxes(env, context.now),
  };
}

/** Constructs a dispatcher, each part from those before it: intake → publisher → host → runs. */
export function dispatchingOf(context: Context, app: DispatcherApp, choices: Choices): Dispatching {
  const { transport, reader, paths, log, now } = app;
  const expected = new Expected();
  const { deliveries, lacking } = intakeOf(app, choices, expected);
  const hosts = hostFileOf(context, choices);
  const guards = guardsOf(app);
  const reporting = new HostReporting(app, deliveries, hosts, () => dispatcher.running, guards);
  const queue = new ClaimQueue(app.outbox);
  const publisher = publisherOf(context, deliveries, expected, log, { reporting, queue });
  const lease = (pushMs: number): number =>
    claimLeaseOf(transport.defaults, context.env, pushMs).ms;
  const pools = new Pools({
    ...{ app, publisher, queue, deliveries, lease },
    monotonic: () => performance.now(),
    abandoned: (delivery, claim) => abandonedLetter(app, delivery, claim),
  });
  publisher.events.on('held', (entry) => {
    void pools.leases.heldBack(entry).catch(() => undefined);
  });
  const links = new ChannelLinks(transport, reader);
  const records = new ScheduleRecords(paths.root);
  const files = new SubscriptionFiles(transport);
  const publish = (id: string): void => void publisher.publish(id).catch(() => undefined);
  const serving = {
    publish: (id: string) => publisher.publish(id),
    lookUps: new LookUps(context),
  };
  const subscriptions = new Subscriptions({
    ...{ files, reader, log },
    suffixOf: (cause) => records.suffixOf('subscription', cause),
  });
  const sessions = sessionsOf(app);
  const stalled = new StalledJobs(now, log);
  const parts = {
    app,
    deliveries,
    guards,
    pools,
    sessions,
    subscriptions,
    files,
    records,
    publish,
  };
  const engine: Engine = {
    ...app,
    extras: new Extras(extrasOf(context, parts), stalled.automation),
    links,
    crossings: new CrossChannelLinks(transport, reader),
    deliveries,
    lacking,
    hosts,
    guards,
    publisher,
    gated: new Gated(new Gates(paths.root)),
    subscriptions,
    transcribing: transcribingOf(app),
    sessions,
    permissions: permissionsOf(app, publisher, links),
    pools,
    serveRun: (...asked) => serveRun(context, serving, ...asked),
    unrecorded: new ErrorTracker(now),
    stalled,
    stop: new AbortController(),
  };
  const dispatcher = new Dispatcher(engine);
  return {
    ...engine,
    hosts,
    dispatcher,
    sweep: new WorkspaceSweep(engine),
    mayRead: () => permission(context.budget)('read'),
  };
}

/** Creates the part that turns messages into deliveries. */
function intakeOf(
  app: DispatcherApp,
  { fromNow }: Choices,
  expected: Expected,
): { deliveries: Deliveries; lacking: MissingParents } {
  const { outbox, paths } = app;
  const lacking = new MissingParents(app);
  const deliveries = new Deliveries({
    ...app,
    known: new Known(app, (entry) => {
      expected.add(entry);
    }),
    lacking,
    publishAgain: (entries) =>
      outbox.putAll(entries.map((entry) => ({ id: app.newId(), ...entry }))),
    fromNow,
    cursors: new Cursors(paths.root),
  });
  return { deliveries, lacking };
}
