import type { SandboxChoice, WorkdirInput } from './workdir-option.ts';
import type { WriterInput } from './writer.ts';

/** The first actor and the first channel, unless others are named. */
export const DEFAULTS = { actor: 'concierge', channel: 'general' };

export interface InitInput extends WorkdirInput, WriterInput, SandboxChoice {
  dir?: string;
  remote?: string;
  alias?: string;
  actor?: string;
  /** A command line, or the name of a known agent CLI. */
  cli?: string;
  channel?: string;
  /** When joining: how many days of messages the checkout shows, as `7d`. */
  window?: string;
  /** In empty folders, one for each thread, also in a project. */
  hasNoPlace?: boolean;
  /** In a project: the address of the bus that is joined, whatever place it says it was made for. */
  join?: string;
  /** In a project: everybody may read the bus. */
  isPublic?: boolean;
  /** In a project: whoever can push to its remote may ask, rather than those whose keys are pinned here. */
  isOpen?: boolean;
  /** In a project: the bus is a branch of its remote, since that takes no other ref. */
  asBranch?: boolean;
  /** Has whoever sets this up sign what they write in a clone, with a key that is pinned here. */
  sign?: (transport: string) => Promise<void>;
  /** Asks which of several remotes is to carry the bus. */
  askRemote?: (remotes: readonly string[]) => Promise<string>;
  /** Has the name of a repository typed that everybody can read; whether it was. */
  askPublic?: (name: string) => Promise<boolean>;
  /** Asks whether the bus may be a branch, where the remote takes no other ref for a reason. */
  askBranch?: (reason: string) => Promise<boolean>;
  /**
   * Asks a person for what was not given, once it is known that there is room, and before anything is made.
   *
   * @param dir the folder of the transport
   */
  converse?: (dir: string) => Promise<Answers>;
  login: string;
  note: (line: string) => void;
}

/** What a person is asked for by {@link InitInput.converse}, as the options that say the same. */
export interface Answers extends WorkdirInput, WriterInput {
  cli?: string;
  wantsSandbox?: boolean;
}

export interface Initialised {
  dir: string;
  alias: string;
  actor: string;
  /** Who writes in this clone, if that was recorded in it. */
  from?: string;
  cli: string;
  /** The folder where it works, if that is not a workspace. */
  workdir?: string;
  /** The repository of which each thread gets a copy. */
  worktree?: string;
  sandbox?: 'default';
  /** The name of the channel that was created; undefined when a joined transport already has one. */
  channel?: string;
  joined: boolean;
  pushed: boolean;
  /** Where the bus is, if that is a project's own remote. */
  project?: {
    top: string;
    /** The remote's address without a password; absent without a remote. */
    remote?: string;
    ref: string;
  };
}
