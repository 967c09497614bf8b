import type { View } from '../../runner/sandbox/mounts.ts';
import type { Log } from '../../log.ts';
import type { Sandbox } from '../../protocol/files/tier-sandbox.ts';

/** What is to run in a sandbox, and where. */
export interface Confinement {
  sandbox: Sandbox;
  /** The sandbox program. */
  program: string;
  actor: string;
  command: string;
  /** Where it works. */
  cwd: string;
  /** The variables it would have without a sandbox. */
  env: NodeJS.ProcessEnv;
  /** Its own directory; undefined where it does not talk on the bus. */
  runDir?: string;
  /** The folder of the `crosstalk` on its PATH. */
  binDir?: string;
  stateDir: string;
  /** The folder that holds the state of all transports. */
  stateHome: string;
  /** The transport's checkout, and its git directories. */
  transport: { dir: string; gitDirs: readonly string[] };
  /** The command lines of all tiers of this machine, whose logins are not for this one. */
  commands: readonly string[];
  /** The session of its CLI: its name here, and whether it is gone on with. */
  session?: { key: string; goesOn: boolean };
  now: () => Date;
  log: Log;
}

export type Own = View['own'];
