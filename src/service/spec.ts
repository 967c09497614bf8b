/** What a service is to run, from which the files of each service manager are made. */
export interface ServiceSpec {
  /** Without an ending. */
  name: string;
  /** The host it serves. */
  alias: string;
  /** The transport's folder. */
  transport: string;
  /** The command: program and arguments. */
  command: readonly string[];
  /** Where the captured environment is; see environment.ts. */
  envFile: string;
  /** Where the program's own stderr goes if the service manager keeps none. */
  stderr: string;
}

/** A service manager as we use it. */
export type ManagerKind = 'systemd-user' | 'systemd-system' | 'launchd';

/** The exit code that says: start me again, from the version that is installed now. */
export const REPLACED = 75;
/** Seconds a dispatcher gets to stop: its CLIs' grace, their ends, and a last push. */
export const STOP_S = 60;
