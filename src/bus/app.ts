import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Runner } from '../runner/runner.ts';
import type { Sandboxes } from '../runner/sandbox/bubblewrap.ts';
import type { Screen } from '../secrets/screen.ts';
import type { DeadLetters } from '../state/dead-letters.ts';
import type { Interruptions } from '../state/interruptions.ts';
import type { Ledger } from '../state/bills/ledger.ts';
import type { Decided } from '../state/keys/decided.ts';
import type { KeptOutcomes } from '../state/outcomes/kept-outcomes.ts';
import type { Outbox } from '../state/outbox.ts';
import type { Runs } from '../state/runs.ts';
import type { KeptProcesses } from '../state/sessions/agent-sessions.ts';
import type { Settled } from '../state/settled.ts';
import type { StatePaths } from '../state/state-paths.ts';
import type { Workspaces } from '../state/workspaces.ts';
import type { Worktrees } from '../state/worktrees.ts';
import type { Written } from '../state/written.ts';
import type { Transport } from '../transport/transport.ts';
import type { MessageReader } from './message-reader.ts';
import type { Verifier } from './verifier.ts';

/** An opened transport and this machine's state for it, the input of every operation. */
export interface App extends Clock {
  /** The environment of the process, without variables that no child may read. */
  env: NodeJS.ProcessEnv;
  paths: StatePaths;
  transport: Transport;
  reader: MessageReader;
  /** Verifies the signatures of messages. */
  verifier: Verifier;
  outbox: Outbox;
  /** The files that this machine has written itself. */
  written: Written;
  /** The decisions that people have made on this machine. */
  decided: Decided;
  /** Searches outgoing entries for secrets. */
  screen: Screen;
  deadLetters: DeadLetters;
  runs: Runs;
}

/** An {@link App} that runs agents: one process on a machine has it, the dispatcher. */
export interface DispatcherApp extends App {
  log: Log;
  /** The operator's name as a sender of messages. */
  operator: string;
  /** The IANA time zone of this machine. */
  zone: string;
  settled: Settled;
  kept: KeptOutcomes;
  interruptions: Interruptions;
  keptProcesses: KeptProcesses;
  ledger: Ledger;
  workspaces: Workspaces;
  worktrees: Worktrees;
  runner: Runner;
  sandboxes: Sandboxes;
}
