import { readFile } from 'node:fs/promises';
import type { Clone } from './clone.ts';
import type { RemoteLimits } from './forges.ts';
import type { Git } from '../git/git.ts';
import { replace } from './own-git.ts';
import type { SettingChange, Recording } from './settings.ts';

/** Settings of `crosstalk.bell`, by the end of their names. */
export const OF_BELL = ['name', 'credentials', 'ca', 'cert', 'key'] as const;

/** The name under which a change of the transport's identity is held. */
export const IDENTITY = 'transport.identity';

/** The branch that is the bus at a project's own remote, when that accepts no other ref. */
export const BRANCH_OF_PROJECT = 'crosstalk-bus';

/**
 * A transport as git for the bus sees it: our own git directory, the operator's clone beside it, and the
 * settings of that clone that are in force.
 */
export interface Repository extends RecordFile {
  git: Git;
  clone: Clone;
  /** Absolute path of the work tree. */
  dir: string;
  /** Our own git directory. */
  gitDir: string;
  /** The folder in which the program may write objects itself; absent in a repository with rules of its own. */
  objectsDir?: string;
  /** The identity of the transport, once recorded; see `identityOf`. */
  identity?: string;
  /** The remote's URL without a password; absent in solo mode. */
  origin?: string;
  /** `user.name` and `user.email`, or the documented default. */
  committer: { name: string; email: string };
  /** `crosstalk.from`, the default sender. */
  from?: string;
  /** `crosstalk.channel`, the default channel. */
  channel?: string;
  /** `crosstalk.agent`, the operator's own agent CLI. */
  agent?: string;
  /** Whether its objects are named by SHA-256, in 64 digits. */
  isSha256?: boolean;
  /** Whether objects may be missing from the clone, and are fetched on demand. */
  partial?: boolean;
  /** `crosstalk.window`: number of days of messages that the checkout shows. */
  window?: string;
  /** `crosstalk.maxFileBytes`: maximum bytes of an attached file. */
  maxFileBytes?: string;
  /** `crosstalk.maxUsdPerDay`: maximum cost of this machine's runs in a day. */
  maxUsdPerDay?: string;
  /** `crosstalk.signingKey`: the key that signs a person's messages. */
  signingKey?: string;
  /** `crosstalk.keepTranscripts`: time for which the output of runs is kept. */
  keepTranscripts?: string;
  /** `crosstalk.warmSessions`: number of agent processes that are kept. */
  warmSessions?: string;
  /** `crosstalk.warmMemory`: maximum memory of each of them. */
  warmMemory?: string;
  /** `crosstalk.claimLease`: time after which other hosts take over what this one has claimed. */
  claimLease?: string;
  /** `crosstalk.scanSecrets`: whether outgoing messages are searched for secrets. */
  scanSecrets?: string;
  /** `crosstalk.shareStatus`: whether this machine reports on the bus what runs, waits and failed on it. */
  shareStatus?: string;
  /** `crosstalk.bell`, and `crosstalk.bellName` and so on; read by `bell/settings.ts`. */
  bell?: { servers: string } & Partial<Record<(typeof OF_BELL)[number], string>>;
  /** Limits for requests to the remote. */
  limits?: RemoteLimits;
  /** The branch that is the bus; where `ref` is set, the name of the local branch that follows it. */
  branch: string;
  /** The full name of the remote's ref that is the bus, where that is not the branch. */
  ref?: string;
  /** Settings of the clone that differ from the record; they are held until they are accepted. */
  changes: SettingChange[];
  /** A stamp that changes whenever the clone's configuration is written. */
  stamp: string;
}

/** The defaults for commands and runs that the clone, or its user, has set. */
export type CloneDefaults = Pick<
  Repository,
  | 'from'
  | 'channel'
  | 'agent'
  | 'maxUsdPerDay'
  | 'scanSecrets'
  | 'shareStatus'
  | 'keepTranscripts'
  | 'signingKey'
  | 'bell'
  | 'warmSessions'
  | 'warmMemory'
  | 'claimLease'
>;

/** Returns the remote's ref that carries the bus: `refs/heads/<branch>`, unless another one is set. */
export function remoteRefOf({ branch, ref }: Pick<Repository, 'branch' | 'ref'>): string {
  return ref ?? `refs/heads/${branch}`;
}

/** The file with the record of a clone, and the seal that shows that this machine wrote it. */
export interface RecordFile {
  record: string;
  seal: {
    close: (id: string, value: object) => string;
    open: (id: string, text: string) => string | undefined;
  };
}

/** Reads the recorded settings; undefined without a file that this machine wrote. */
export async function loadRecord({ record, seal }: RecordFile): Promise<Recording | undefined> {
  try {
    const text = seal.open('', await readFile(record, 'utf8'));
    const value = JSON.parse(text ?? '') as Recording;
    return Array.isArray(value.recorded) && Array.isArray(value.seen.live) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Writes the record, complete at any moment and synced to disk: a lost record is not made anew without
 * asking.
 */
export async function saveRecord({ record, seal }: RecordFile, value: Recording): Promise<void> {
  await replace(record, seal.close('', value), { safe: true });
}
