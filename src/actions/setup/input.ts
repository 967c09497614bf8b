import type { SandboxChoice, WorkdirInput } from './workdir-option.ts';
import type { WriterInput } from './writer.ts';

/** Default names of the first actor and the first channel. */
export const DEFAULTS = { actor: 'concierge', channel: 'general' };

export interface InitInput extends WorkdirInput, WriterInput, SandboxChoice {
  dir?: string;
  remote?: string;
  alias?: string;
  actor?: string;
  /** A command line, or the name of a known agent CLI. */
  cli?: string;
  channel?: string;
  /** When joining: number of days of messages that the checkout shows, as `7d`. */
  window?: string;
  /** Whether the actor works in empty folders, one for each thread, also in a project. */
  hasNoPlace?: boolean;
  /** In a project: the address of the bus to join, even if it was created for another place. */
  join?: string;
  /** In a project: whether everybody may read the bus. */
  isPublic?: boolean;
  /**
   * In a project: whether anyone who can push to its remote may ask, rather than only those whose keys
   * are pinned here.
   */
  isOpen?: boolean;
  /** In a project: whether the bus is a branch of its remote, because that accepts no other ref. */
  asBranch?: boolean;
  /** Sets up signing for this person in a clone, with a key that is pinned here. */
  sign?: (transport: string) => Promise<void>;
  /** Asks which of several remotes should carry the bus. */
  askRemote?: (remotes: readonly string[]) => Promise<string>;
  /** Asks a person to type the name of a repository that everybody can read; returns whether they did. */
  askPublic?: (name: string) => Promise<boolean>;
  /** Asks whether the bus may be a branch, when the remote refuses another ref for a reason. */
  askBranch?: (reason: string) => Promise<boolean>;
  /**
   * Asks a person for missing options, once it is known that there is a place, and before anything is
   * created.
   *
   * @param dir the folder of the transport
   */
  converse?: (dir: string) => Promise<Answers>;
  login: string;
  note: (line: string) => void;
}

/** The answers to {@link InitInput.converse}, as the equivalent options. */
export interface Answers extends WorkdirInput, WriterInput {
  cli?: string;
  wantsSandbox?: boolean;
}

export interface Initialised {
  dir: string;
  alias: string;
  actor: string;
  /** The writer in this clone, if it was recorded there. */
  from?: string;
  cli: string;
  /** The working directory, if it is not a workspace. */
  workdir?: string;
  /** The repository that each thread gets a copy of. */
  worktree?: string;
  sandbox?: 'default';
  /** The name of the channel that was created; undefined when a joined transport already has one. */
  channel?: string;
  joined: boolean;
  pushed: boolean;
  /** Set when the remote does not let this person push. */
  refused?: true;
  /** The place of the bus, if that is a project's own remote. */
  project?: {
    top: string;
    /** The remote's address without a password; absent without a remote. */
    remote?: string;
    ref: string;
  };
}

/** Words what is to be done about a transport that is made or joined here, and not pushed. */
export function pushLater({ isRefused }: { isRefused: boolean }): string {
  return isRefused
    ? 'what you write waits here: ask for the right to push, and then say crosstalk sync, or use a repository that you can push to: crosstalk init <dir> --remote <url>'
    : 'push it with: crosstalk sync';
}
