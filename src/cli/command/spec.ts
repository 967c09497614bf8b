import type { Call } from './command.ts';

export type OptionSpec = readonly [flags: string, description: string, repeatable?: 'repeatable'];

/**
 * A command: the facts that users see, and its work. The build keeps `run` and `inSandbox` apart from the rest, and
 * loads them when they are called; all else is data.
 */
export interface CommandSpec {
  /** `send`, or `channel create` for a subcommand. */
  name: string;
  args?: string;
  summary: string;
  /** Additional text for the help of the command. */
  details?: string;
  options?: readonly OptionSpec[];
  example: string;
  /** Whether it works without a transport, so that it has no `--transport`. */
  standalone?: boolean;
  /**
   * Whether runs may use it too (trust.md §3); if they may not use some of its options, these are listed here, each
   * with the reason. Every other command is refused in a run.
   */
  inRun?: true | Readonly<Record<string, string>>;
  /** Whether `--from` selects messages by their writer; in every other command a run is held to its own name. */
  selectsByWriter?: true;
  /** Reason why runs may not use it, where it needs a longer explanation. */
  notInRun?: string;
  /** Called by programs, or an older name of another one, so the help does not list it. */
  hidden?: boolean;
  /** `clean`: stops cleanly when asked to. `child`: leaves Ctrl-C to the program it runs. */
  interrupt?: 'clean' | 'child';
  /** Whether `--json` prints a document a line, as its results come one after the other and may go on. */
  lines?: boolean;
  /** Whether its output may be long, so that a terminal shows it with a pager. */
  paged?: boolean;
  /**
   * Does its work and returns the exit code.
   *
   * @param all the commands of the program
   */
  run: (call: Call, all: readonly CommandSpec[]) => Promise<number>;
  /**
   * Work that it does itself in a sandbox, which hides the transport from it; the dispatcher does all of it where
   * this is missing, or has nothing to do. Returns the exit code.
   */
  inSandbox?: (call: Call) => Promise<number | undefined>;
}

export const ALLOW_SECRET = [
  '--allow-secret',
  'send it although something in it looks like a secret',
] as const;
/** For {@link CommandSpec.inRun}: who writes for a run must not decide that. */
export const NO_SECRETS = {
  allowSecret: 'the operator of this machine decides about secrets; leave the secret out',
} as const;
export const CHANNEL = [
  '--channel <channel>',
  'channel: id, unique id prefix or name (default: git config crosstalk.channel, else general)',
] as const;
export const FROM = [
  '--from <name>',
  'who writes (default: CROSSTALK_FROM, git config crosstalk.from, login)',
] as const;
/** That of a schedule or a subscription. */
export const ANSWERED = [
  '--from <name>',
  'who it is from, and gets the answers (default: CROSSTALK_FROM, git config crosstalk.from, login)',
] as const;
export const ATTACH = [
  '--attach <file>',
  'send this file along; may be given again',
  'repeatable',
] as const;
export const SCHEMA = [
  '--schema <file>',
  'ask for an answer as JSON that fits this JSON Schema',
] as const;
export const HOST = ['--host <alias>', 'this machine’s host file, by alias'] as const;
export const TIMEOUT = [
  '--timeout <time>',
  'how long to wait: 90s, 5m, 2h, or seconds (default: 600); exit code 3 when it is over',
] as const;
/** Reason why a run may not wait. */
export const NO_WAITING =
  'a run that waits for mail to itself waits for ever; end, and you are woken by the answer';
/** That of a dispatcher, and of the service that runs it. */
export const SHARED_STATE = [
  '--shared-state',
  'the state directory may be on NFS, SMB, 9p and the like: only this machine uses it',
] as const;
/** The option with which a task is for one of the hosts that serve its addressee. */
export const ONE = [
  '--one',
  'of all hosts that serve the name, one takes it (docs/pools.md)',
] as const;
/** The options about names that nobody serves. */
export const UNSERVED: readonly OptionSpec[] = [
  ['--anyway', 'send it although no host serves the name, where it waits; in a run also as --new'],
  ['--strict', 'refuse a name that no host serves, as is done on a terminal'],
];
/** Options for whether a new actor runs in a sandbox. */
export const SANDBOX: readonly OptionSpec[] = [
  ['--sandbox', 'keep its runs in a sandbox (default: not)'],
  ['--no-sandbox', 'without a sandbox, and without a word of it'],
];
const TRANSPORT = [
  '--transport <dir>',
  'the transport (default: CROSSTALK_TRANSPORT, else upward from here)',
] as const;
const JSON_OUTPUT = ['--json', 'print the result as JSON'] as const;
const JSON_LINES: readonly OptionSpec[] = [
  ['--json', 'as --jsonl'],
  ['--jsonl', 'print JSON, a document a line'],
];

/** The purpose of a group of subcommands, for groups whose name is not a command. */
export const GROUPS: Readonly<Record<string, string>> = {
  actor: 'list, show, add, edit, set and remove actors',
  channel: 'make, list and archive channels',
  event: 'say that something has happened',
  host: 'the host files, and what is approved on this machine',
  memory: 'shared notes: write, list, find, show, forget, restore, export and import them',
  sandbox: 'what agents may reach on this machine',
  schedule: 'messages that are sent when they are due',
  secret: 'what this machine alone is told, such as tokens',
  service: 'the dispatcher as a service of this machine',
  session: 'the processes of agent CLIs that are kept between runs',
  skill: 'texts that a message asks for by beginning with /name: list, show and add them',
  subscription: 'tasks that follow on answers and events',
  worktree: 'the copies of repositories in which threads work',
};

/** Returns the long name of an option, as it is typed: `no-wait` of `--no-wait`. */
export function longName(flags: string): string {
  return /--([a-z-]+)/.exec(flags)?.[1] ?? '';
}

/** Returns the name under which the parser knows the value of an option: `noPager` of `no-pager`. */
export function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns all options of a command except `--help`: its own, and those that most commands share. */
export function optionsOf({ options, standalone, interrupt, lines }: CommandSpec): OptionSpec[] {
  return [
    ...(options ?? []),
    ...(standalone === true ? [] : [TRANSPORT]),
    // A session on the terminal has no result to print.
    ...(interrupt === 'child' ? [] : lines === true ? JSON_LINES : [JSON_OUTPUT]),
  ];
}
