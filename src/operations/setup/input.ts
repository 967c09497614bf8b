import type { SandboxChoice } from './sandbox-option.ts';
import type { WorkdirInput } from './workdir-option.ts';
import type { WriterInput } from './writer.ts';

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
  login: string;
  note: (line: string) => void;
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
