import { readFile } from 'node:fs/promises';
import type { Clone } from './clone.ts';
import type { RemoteLimits } from './forges.ts';
import type { Git } from '../git/git.ts';
import { replace } from './own-git.ts';
import type { SettingChange, Recording } from './settings.ts';

/** What belongs to `crosstalk.bell`, by the end of its name. */
export const OF_BELL = ['name', 'credentials', 'ca', 'cert', 'key'] as const;

/** The name under which a change of the transport's identity is held. */
export const IDENTITY = 'transport.identity';

/** The branch that is the bus at a project's own remote, where that takes no other ref. */
export const BRANCH_OF_PROJECT = 'crosstalk-bus';

/**
 * A transport as git for the bus sees it: our own git directory, the operator's clone beside it, and
 * what is in force of that clone's settings.
 */
export interface Repository extends RecordFile {
  git: Git;
  clone: Clone;
  /** Absolute path of the work tree. */
  dir: string;
  /** Our own git directory. */
  gitDir: string;
  /** Where the program may write objects itself; absent in a repository with rules of its own. */
  objectsDir?: string;
  /** Which transport it is, once that is recorded; see `identityOf`. */
  identity?: string;
  /** The remote's URL without a password; absent in solo mode. */
  origin?: string;
  /** `user.name` and `user.email`, or the stated default. */
  committer: { name: string; email: string };
  /** `crosstalk.from`, the default sender. */
  from?: string;
  /** `crosstalk.channel`, the channel of what names none. */
  channel?: string;
  /** `crosstalk.agent`, the operator's own agent CLI. */
  agent?: string;
  /** Whether its objects are named by SHA-256, in 64 digits. */
  isSha256?: boolean;
  /** Whether objects may be missing from the clone, and are fetched when they are read. */
  partial?: boolean;
  /** `crosstalk.window`: how many days of messages the checkout shows. */
  window?: string;
  /** `crosstalk.maxFileBytes`: how large an attached file may be. */
  maxFileBytes?: string;
  /** `crosstalk.maxUsdPerDay`: what the runs of this machine may cost in a day. */
  maxUsdPerDay?: string;
  /** `crosstalk.signingKey`: the key with which a person's messages are signed. */
  signingKey?: string;
  /** `crosstalk.keepTranscripts`: for how long it is kept what runs printed. */
  keepTranscripts?: string;
  /** `crosstalk.warmSessions`: how many processes of agent CLIs are kept. */
  warmSessions?: string;
  /** `crosstalk.warmMemory`: how much memory each of them may use. */
  warmMemory?: string;
  /** `crosstalk.scanSecrets`: whether what leaves is searched for secrets. */
  scanSecrets?: string;
  /** `crosstalk.shareStatus`: whether this machine says on the bus what runs, waits and failed on it. */
  shareStatus?: string;
  /** `crosstalk.bell`, and `crosstalk.bellName` and so on; `bell/settings.ts` reads them. */
  bell?: { servers: string } & Partial<Record<(typeof OF_BELL)[number], string>>;
  /** What the remote should be asked for at most. */
  limits?: RemoteLimits;
  /** The branch that is the bus; where `ref` is set, the name of the local branch that follows it. */
  branch: string;
  /** The full name of the remote's ref that is the bus, where that is not the branch. */
  ref?: string;
  /**
   * What the clone's configuration says differently from the record; it is held until it is
   * accepted.
   */
  changes: SettingChange[];
  /** Changes whenever the clone's configuration is written. */
  stamp: string;
}

/** What the clone, or its user, has set for commands and runs. */
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
>;

/** The remote's ref that carries the bus: `refs/heads/<branch>`, unless another one is set. */
export function remoteRefOf({ branch, ref }: Pick<Repository, 'branch' | 'ref'>): string {
  return ref ?? `refs/heads/${branch}`;
}

/** The file that keeps what was recorded of a clone, and by which it counts as written by this machine. */
export interface RecordFile {
  record: string;
  seal: {
    close: (id: string, value: object) => string;
    open: (id: string, text: string) => string | undefined;
  };
}

/** The recorded settings in a file; undefined without one that this machine wrote. */
export async function loadRecord({ record, seal }: RecordFile): Promise<Recording | undefined> {
  try {
    const text = seal.open('', await readFile(record, 'utf8'));
    const value = JSON.parse(text ?? '') as Recording;
    return Array.isArray(value.recorded) && Array.isArray(value.seen.live) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Complete at any moment and safe on disk: a record that is lost is not made anew without asking. */
export async function saveRecord({ record, seal }: RecordFile, value: Recording): Promise<void> {
  await replace(record, seal.close('', value), { safe: true });
}
