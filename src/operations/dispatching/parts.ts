import { join } from 'node:path';
import { Expected } from '../../bus/expected.ts';
import type { Publisher } from '../../bus/publisher.ts';
import { Dispatcher } from '../../dispatcher/dispatcher.ts';
import { HostFileInForce } from '../../dispatcher/host-file-in-force.ts';
import { Deliveries } from '../../dispatcher/intake/deliveries.ts';
import { Known } from '../../dispatcher/intake/known.ts';
import { Lacking } from '../../dispatcher/intake/lacking.ts';
import { BudgetMail } from '../../dispatcher/run/budget-mail.ts';
import { Budgets } from '../../dispatcher/run/budgets.ts';
import { Guards } from '../../dispatcher/run/guards.ts';
import { Refusals } from '../../dispatcher/run/refusals.ts';
import { Spending } from '../../dispatcher/run/spending.ts';
import type { TickParts } from '../../dispatcher/tick.ts';
import { WorkspaceSweep } from '../../dispatcher/workspace-sweep.ts';
import { processRunner } from '../../runner/process-runner.ts';
import type { Log } from '../../log.ts';
import { LAST_HOST_FILE } from '../../state/approvals.ts';
import { BudgetHolds } from '../../state/bills/budget-holds.ts';
import { Cursors } from '../../state/cursors.ts';
import { Departed } from '../../state/departed.ts';
import { Holds } from '../../state/holds.ts';
import { Interruptions } from '../../state/interruptions.ts';
import { DueNotices } from '../../state/notices.ts';
import { Ledger } from '../../state/bills/ledger.ts';
import { RunBudget } from '../../state/run-budget.ts';
import { Silences } from '../../state/silences.ts';
import type { Workspaces } from '../../state/workspaces.ts';
import type { Context } from '../context.ts';
import { permission } from '../publishing.ts';
import { publisherOf } from './publisher-of.ts';
import { serveRun } from '../sending/serve-run.ts';
import { approvingIn } from '../setup/approvals.ts';

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
): Omit<TickParts, 'signal'> {
  const { transport, reader, outbox, deadLetters } = context;
  const { log } = choices;
  const expected = new Expected();
  const intake = intakeOf(context, choices, expected);
  const { deliveries } = intake;
  const publisher = publisherOf(context, deliveries, expected, log);
  const hosts = hostFileOf(context, choices);
  const ledger = new Ledger(context.paths.ledger);
  const guards = guardsOf(context, ledger, log);
  const sweep = new WorkspaceSweep({
    workspaces,
    reader,
    deliveries,
    deadLetters,
    log,
    now: context.now,
  });
  const parts = { ...intake, publisher, hosts, guards, ledger, workspaces, log };
  return {
    transport,
    deliveries,
    hosts,
    guards,
    dispatcher: dispatcherOf(context, parts),
    outbox,
    publisher,
    sweep,
    mayRead: () => permission(context.budget)('read'),
    log,
  };
}

interface Intake {
  deliveries: Deliveries;
  silences: Silences;
  lacking: Lacking;
}

/** The part that turns messages into deliveries. */
function intakeOf(context: Context, { fromNow, log }: Choices, expected: Expected): Intake {
  const { transport, reader, outbox, deadLetters, paths } = context;
  const silences = new Silences(paths.silences);
  const departed = new Departed(paths.departed);
  const lacking = new Lacking({ transport, reader, silences, departed, outbox, deadLetters });
  const deliveries = new Deliveries({
    transport,
    reader,
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
    fromNow,
    cursors: new Cursors(paths.cursors),
  });
  return { deliveries, silences, lacking };
}

/** The part that determines which host is served. */
function hostFileOf(context: Context, { host, trustHostFile, log }: Choices): HostFileInForce {
  return new HostFileInForce({
    approving: approvingIn(context),
    machine: {
      hostname: context.hostname,
      ...(host === undefined ? {} : { alias: host }),
    },
    lastGood: join(context.paths.root, LAST_HOST_FILE),
    trust: trustHostFile,
    now: context.now,
    log,
  });
}

/** The part that decides whether runs may start. */
function guardsOf({ paths, env, now, transport }: Context, ledger: Ledger, log: Log): Guards {
  const machine = (): string | undefined => transport.defaults.maxUsdPerDay;
  return new Guards({
    budgets: new BudgetMail({
      budgets: new Budgets(new Spending(ledger, now), machine),
      holds: new BudgetHolds(paths.budgetHolds),
      passes: paths.budgetPasses,
      now,
    }),
    refusals: new Refusals({
      holds: new Holds(paths.holds),
      environment: env,
      now,
      zone: timeZone(),
    }),
    pauseFile: paths.pause,
    budget: new RunBudget(paths.runBudget),
    log,
    now,
  });
}

/** The part that starts runs and records how they end. */
function dispatcherOf(
  context: Context,
  parts: Intake & {
    publisher: Publisher;
    hosts: HostFileInForce;
    guards: Guards;
    ledger: Ledger;
    workspaces: Workspaces;
    log: Log;
  },
): Dispatcher {
  const { transport, reader, outbox, deadLetters, runs, paths, env } = context;
  return new Dispatcher({
    ...parts,
    transport,
    reader,
    outbox,
    deadLetters,
    interruptions: new Interruptions(paths.interruptions),
    notices: new DueNotices(paths.notices),
    runs,
    runner: processRunner,
    desks: {
      folder: paths.run,
      serveRun: (run, request, handling) =>
        serveRun(context, (id) => parts.publisher.publish(id), run, request, handling),
    },
    stateDir: paths.root,
    binDir: paths.bin,
    environment: env,
    now: context.now,
    zone: timeZone(),
    random: context.random,
    newId: context.newId,
    suffix: context.suffix,
    secret: context.secret,
  });
}

/** The IANA time zone of this machine. */
function timeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
