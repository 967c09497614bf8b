import type { DeadLetters } from '../state/dead-letters.ts';
import type { Interruptions } from '../state/interruptions.ts';
import type { Outbox } from '../state/outbox.ts';
import type { KeptOutcomes } from '../state/outcomes/kept-outcomes.ts';
import type { Written } from '../state/written.ts';
import type { Decided } from '../state/keys/decided.ts';
import type { Subscriptions } from './automation/subscriptions.ts';
import type { Gated } from './gates/gated.ts';
import type { Ledger } from '../state/bills/ledger.ts';
import type { Runs } from '../state/runs.ts';
import type { KeptProcesses } from '../state/sessions/kept-processes.ts';
import type { Settled } from '../state/settled.ts';
import type { Workspaces } from '../state/workspaces.ts';
import type { Sandboxes } from '../runner/sandbox/sandboxes.ts';
import type { Worktrees } from '../state/worktrees.ts';
import type { LookForSecrets } from '../bus/screening.ts';
import type { Transport } from '../transport/transport.ts';
import type { Verifier } from '../bus/verifier.ts';
import type { MessageReader } from '../bus/message-reader.ts';
import type { Deliveries } from './intake/deliveries.ts';
import type { Guards } from './run/guards.ts';
import type { HostFileInForce } from './host-file-in-force.ts';
import type { Lacking } from './intake/lacking.ts';
import type { Sessions } from './sessions/sessions.ts';
import type { Runner } from '../runner/runner.ts';
import type { Log } from '../log.ts';
import type { Publisher } from '../bus/publisher.ts';
import type { RunParts } from './run/job.ts';
import type { Transcribing } from './transcribing/transcribing.ts';

/** The parts of a dispatcher; they are constructed in one place (operations/dispatching/parts). */
export interface DispatcherParts {
  transport: Transport;
  reader: MessageReader;
  verifier: Verifier;
  written: Written;
  deliveries: Deliveries;
  outbox: Outbox;
  deadLetters: DeadLetters;
  settled: Settled;
  kept: KeptOutcomes;
  lacking: Lacking;
  interruptions: Interruptions;
  runs: Runs;
  keptProcesses: KeptProcesses;
  ledger: Ledger;
  transcribing: Transcribing;
  sessions: Sessions;
  runner: Runner;
  sandboxes: Sandboxes;
  publisher: Publisher;
  hosts: HostFileInForce;
  guards: Guards;
  /** The mail that waits for somebody to approve a plan. */
  gated: Gated;
  decided: Decided;
  /** What follows on answers. */
  subscriptions: Subscriptions;
  log: Log;
  desks: RunParts['desks'];
  permissions: RunParts['permissions'];
  workspaces: Workspaces;
  worktrees: Worktrees;
  lookForSecrets: LookForSecrets;
  knownSecrets: RunParts['knownSecrets'];
  stateDir: string;
  binDir: string;
  environment: NodeJS.ProcessEnv;
  now: () => Date;
  /** The name under which the operator of this machine writes. */
  operator: string;
  /** The IANA time zone of this machine. */
  zone: string;
  random: () => number;
  newId: () => string;
  suffix: () => string;
  secret: (bytes: number) => string;
  uuid: () => string;
}

export interface DispatcherEvents {
  /** A run has ended, so there may be room for the next one. */
  room: [];
}

/** A current run, as the heartbeat shows it. */
export interface Running {
  actor: string;
  channel: string;
  tier: string;
  since: string;
  messages: string[];
}
