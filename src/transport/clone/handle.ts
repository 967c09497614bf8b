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
  /** `crosstalk.from`: the default sender in this clone; `init` asks for it on a terminal, or takes `--from`. */
  from?: string;
  /**
   * `crosstalk.channel`: the channel of whatever names none: an id, a unique id prefix or a name. Without it, the one
   * called `general`, else the only one; `channel list` says which it is.
   */
  channel?: string;
  /**
   * `crosstalk.agent`: the agent CLI of `attach`, a name or a command line; after `--agent` and `CROSSTALK_AGENT`, before
   * the first known one that this machine serves, and the first one on the PATH.
   */
  agent?: string;
  /** Whether its objects are named by SHA-256, in 64 digits. */
  isSha256?: boolean;
  /** Whether objects may be missing from the clone, and are fetched on demand. */
  partial?: boolean;
  /**
   * `crosstalk.window`: how many days of messages the checkout shows, such as `7d`; `sync --window` and `init --window`
   * set it.
   */
  window?: string;
  /**
   * `crosstalk.maxFileBytes`: how many bytes a file may have that is attached here, or that comes with a message;
   * 10485760 unless set, at most 104857600. Raise it on both ends.
   */
  maxFileBytes?: string;
  /** `crosstalk.maxUsdPerDay`: US dollars that all runs of this clone's dispatcher may cost in a day (UTC). */
  maxUsdPerDay?: string;
  /**
   * `crosstalk.signingKey`: the ssh key that signs what you write in this clone: the path of a private key, or of a public
   * one whose private key your agent has. `crosstalk key create` and `crosstalk key use` set it.
   */
  signingKey?: string;
  /**
   * `crosstalk.keepTranscripts`: how long this machine keeps what runs printed, for `watch`: `7d` unless set, such as `12h`,
   * or `0` for none. At most 256 KiB for each run.
   */
  keepTranscripts?: string;
  /** `crosstalk.warmSessions`: how many processes of agent CLIs this machine keeps: `8` unless set, `0` for none. */
  warmSessions?: string;
  /** `crosstalk.warmMemory`: how much memory each of them may use with what it started, in MiB: `2048` unless set. */
  warmMemory?: string;
  /**
   * `crosstalk.claimLease`: of a [pool](pools.md): how long after its last sign of life another host may take over a task of
   * this machine: `15m` unless set, from `2m` to `24h`.
   */
  claimLease?: string;
  /** `crosstalk.scanSecrets`: `false` pushes everything, also what looks like a secret. */
  scanSecrets?: string;
  /**
   * `crosstalk.shareStatus`: `false` keeps this machine's dispatcher from saying on the bus what runs, waits and has failed
   * on it. Otherwise, where there is another host, it writes `data/hosts/<alias>.json` with what it pushes anyway, at most
   * every ten minutes and only when it says something new; `crosstalk status --all` and the page show it elsewhere.
   */
  shareStatus?: string;
  /** `crosstalk.bell`: the NATS servers of a [bell between machines](bell.md), which has settings of its own. */
  bell?: { servers: string } & Partial<Record<(typeof OF_BELL)[number], string>>;
  /** Limits for requests to the remote. */
  limits?: RemoteLimits;
  /**
   * `crosstalk.branch`: the branch that is the bus, or where `crosstalk.ref` is set the local branch that follows it; `init`
   * sets it. Without it, the remote's default branch, else its only one, else the one that is checked out.
   */
  branch: string;
  /** `crosstalk.ref`: the remote's ref that is the bus, where that is not a branch; `init` sets it. */
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
