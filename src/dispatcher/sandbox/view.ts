import type { View } from '../../runner/sandbox/mounts.ts';
import type { Log } from '../../log.ts';
import type { Tier } from '../../protocol/files/host-file.ts';
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
  /** The folder that its tier names to work in, as it is written there. */
  workdir?: string | undefined;
  /** All tiers of this machine: the logins of others are not for this one, and their runs may write elsewhere. */
  tiers: readonly Pick<Tier, 'cli' | 'workdir' | 'sandbox'>[];
  /** The session of its CLI: its name here, and whether it is gone on with. */
  session?: { key: string; goesOn: boolean };
  now: () => Date;
  log: Log;
}

export type Own = View['own'];
