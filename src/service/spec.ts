/** What a service runs; the files of each service manager are generated from it. */
export interface ServiceSpec {
  /** Without an ending. */
  name: string;
  /** The host it serves. */
  alias: string;
  /** The transport's folder. */
  transport: string;
  /** The command: program and arguments. */
  command: readonly string[];
  /** The file of the captured environment; see environment.ts. */
  envFile: string;
  /** Where the program's own stderr goes if the service manager does not store it. */
  stderr: string;
}

/** A service manager, in the way in which it is used here. */
export type ManagerKind = 'systemd-user' | 'systemd-system' | 'launchd';

/** The exit code that asks the service manager to start the newly installed version. */
export const REPLACED = 75;
/** Seconds that a dispatcher is given to stop: its CLIs' grace period, their end, and a last push. */
export const STOP_S = 60;
