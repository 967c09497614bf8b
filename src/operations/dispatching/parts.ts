import { machineZone, noZone } from '../machine-zone.ts';
import { Expected } from '../../bus/expected.ts';
import type { Publisher } from '../../bus/publisher.ts';
import { Dispatcher } from '../../dispatcher/dispatcher.ts';
import type { HostFileInForce } from '../../dispatcher/host-file-in-force.ts';
import { Deliveries } from '../../dispatcher/intake/deliveries.ts';
import { Known } from '../../dispatcher/intake/known.ts';
import { Gated } from '../../dispatcher/gates/gated.ts';
import { Lacking } from '../../dispatcher/intake/lacking.ts';
import type { Transcribing } from '../../dispatcher/transcribing/transcribing.ts';
import type { TickParts } from '../../dispatcher/tick.ts';
import { committedSince, ScheduleFiles } from '../../bus/automation/schedules.ts';
import { Schedules } from '../../dispatcher/automation/schedules.ts';
import { AnswersElsewhere } from '../../dispatcher/automation/answers-elsewhere.ts';
import { SubscriptionRecord } from '../../state/automation/subscriptions.ts';
import { Subscriptions } from '../../dispatcher/automation/subscriptions.ts';
import { SubscriptionFiles } from '../../bus/automation/subscriptions.ts';
import { WorkspaceSweep } from '../../dispatcher/workspace-sweep.ts';
import { Sandboxes } from '../../runner/sandbox/sandboxes.ts';
import { runners } from '../../runner/acp/runners.ts';
import type { Log } from '../../log.ts';
import { Cursors } from '../../state/cursors.ts';
import { Gates } from '../../state/gates.ts';
import { Interruptions } from '../../state/interruptions.ts';
import { KeptOutcomes } from '../../state/outcomes/kept-outcomes.ts';
import { Ledger } from '../../state/bills/ledger.ts';
import { ScheduleRecords } from '../../state/automation/schedules.ts';
import { Settled } from '../../state/settled.ts';
import type { Workspaces } from '../../state/workspaces.ts';
import { Worktrees } from '../../state/worktrees.ts';
import type { Context } from '../context.ts';
import { permission } from '../publishing.ts';
import { HostReporting } from './host-reporting.ts';
import { publisherOf } from './publisher-of.ts';
import { LookUps } from '../sending/look-up.ts';
import { serveRun } from '../sending/serve-run.ts';
import { defaultChannelOf } from '../lookup/resolve.ts';
import {
  guardsOf,
  hostFileOf,
  operatorOf,
  permissionsOf,
  sessionsOf,
  timeZone,
  transcribingOf,
} from './run-parts.ts';

/** The operator's decisions that affect the parts of a dispatcher. */
interface Choices {
  host?: string;
  fromNow: boolean;
  trustHostFile: boolean;
  log: Log;
}

/**
 * Constructs the parts of a dispatcher, each from those before it: intake → publisher → host →
 * runs.
 */
export function dispatcherParts(
  context: Context,
  choices: Choices,
  workspaces: Workspaces,
): Omit<TickParts, 'signal' | 'lag'> {
  const { transport, reader, outbox, deadLetters } = context;
  const { log } = choices;
  const expected = new Expected();
  const intake = intakeOf(context, choices, expected);
  const { deliveries } = intake;
  const hosts = hostFileOf(context, choices);
  const reporting = new HostReporting(context, deliveries, hosts, () => dispatcher.running);
  const publisher = publisherOf(context, deliveries, expected, log, reporting);
  const ledger = new Ledger(context.paths.ledger);
  const sandboxes = new Sandboxes(context.env, context.now);
  const guards = guardsOf(context, ledger, sandboxes, log);
  const worktrees = new Worktrees(context.paths.worktrees);
  const transcribing = transcribingOf(context);
  const keeping = sessionsOf(context, log);
  const sweep = new WorkspaceSweep({
    sessions: keeping.sessions,
    workspaces,
    worktrees,
    environment: context.env,
    reader,
    deliveries,
    deadLetters,
    transcribing,
    log,
    now: context.now,
  });
  const scheduleFiles = new ScheduleFiles(transport);
  const records = new ScheduleRecords(context.paths.root);
  const files = new SubscriptionFiles(transport);
  const subscriptions = new Subscriptions({
    ...{ files, reader, log },
    suffixOf: (cause) => records.suffixOf('subscription', cause),
  });
  const publish = (id: string): void => void publisher.publish(id).catch(() => undefined);
  const parts = {
    ...intake,
    subscriptions,
    publisher,
    hosts,
    guards,
    ledger,
    transcribing,
    workspaces,
    worktrees,
    sandboxes,
    ...keeping,
    log,
  };
  const dispatcher = dispatcherOf(context, parts);
  return {
    transport,
    deliveries,
    hosts,
    guards,
    dispatcher,
    outbox,
    publisher,
    sweep,
    schedules: new Schedules({
      ...{ reader, outbox, log, records, publish },
      files: (tip, known) => scheduleFiles.at(tip, known),
      committedSince: (...asked) => committedSince(transport, ...asked),
      unsettled: (channel) => deliveries.mailboxes.unsettled(channel),
      usualChannel: (channels) => defaultChannelOf(context, channels),
      zone: { name: machineZone(), problem: noZone() },
      now: context.now,
      newId: context.newId,
    }),
    answersElsewhere: new AnswersElsewhere({
      ...{ files, subscriptions, transport, reader, outbox, log, publish },
      record: new SubscriptionRecord(context.paths.root),
      newId: context.newId,
    }),
    mayRead: () => permission(context.budget)('read'),
    log,
  };
}

interface Intake {
  deliveries: Deliveries;
  settled: Settled;
  lacking: Lacking;
}

/** The part that turns messages into deliveries. */
function intakeOf(context: Context, { fromNow, log }: Choices, expected: Expected): Intake {
  const { transport, reader, outbox, deadLetters, paths } = context;
  const settled = new Settled(paths.root);
  const lacking = new Lacking({ transport, reader, settled, outbox, deadLetters });
  const deliveries = new Deliveries({
    transport,
    reader,
    log,
    known: new Known({
      outbox,
      deadLetters,
      settled,
      expect: (entry) => {
        expected.add(entry);
      },
    }),
    settled,
    lacking,
    written: context.written,
    publishAgain: (entries) =>
      outbox.putAll(entries.map((entry) => ({ id: context.newId(), ...entry }))),
    fromNow,
    cursors: new Cursors(paths.root),
  });
  return { deliveries, settled, lacking };
}

/** The part that starts runs and records how they end. */
function dispatcherOf(
  context: Context,
  parts: Intake &
    ReturnType<typeof sessionsOf> & {
      subscriptions: Subscriptions;
      publisher: Publisher;
      hosts: HostFileInForce;
      guards: ReturnType<typeof guardsOf>;
      ledger: Ledger;
      transcribing: Transcribing;
      workspaces: Workspaces;
      worktrees: Worktrees;
      sandboxes: Sandboxes;
      log: Log;
    },
): Dispatcher {
  const { transport, reader, verifier, outbox, deadLetters, runs, paths, env } = context;
  const serving = {
    publish: (id: string) => parts.publisher.publish(id),
    lookUps: new LookUps(context),
  };
  return new Dispatcher({
    ...parts,
    lookForSecrets: (entry) => context.screen.look(entry),
    knownSecrets: context.screen.known,
    transport,
    reader,
    verifier,
    written: context.written,
    outbox,
    deadLetters,
    interruptions: new Interruptions(paths.root),
    kept: new KeptOutcomes(paths.root, env),
    runs,
    runner: runners,
    desks: {
      folder: paths.run,
      serveRun: (run, request, handling) => serveRun(context, serving, run, request, handling),
    },
    permissions: permissionsOf(context, parts.publisher, parts.log),
    decided: context.decided,
    gated: new Gated(new Gates(paths.root)),
    operator: operatorOf(context),
    stateDir: paths.root,
    binDir: paths.bin,
    environment: env,
    now: context.now,
    zone: timeZone(),
    random: context.random,
    newId: context.newId,
    suffix: context.suffix,
    secret: context.secret,
    uuid: context.uuid,
  });
}
