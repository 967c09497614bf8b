import type { SandboxChoice } from './sandbox-option.ts';
import type { WorkdirInput } from './workdir-option.ts';
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
}
