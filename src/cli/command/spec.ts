import type { CommandModule } from './command.ts';

export type OptionSpec = readonly [flags: string, description: string, repeatable?: 'repeatable'];

/** A command as users see it; its code is imported when it is called. */
export interface CommandSpec {
  /** `send`, or `channel create` for a subcommand. */
  name: string;
  args?: string;
  summary: string;
  /** More for its own help. */
  details?: string;
  options?: readonly OptionSpec[];
  example: string;
  /** Works without a transport, so it takes no `--transport`. */
  standalone?: boolean;
  /**
   * A run has it too (trust.md §3); where it has some options alone, those it does not have are here,
   * each with the reason. All other commands answer a run that they are not for it.
   */
  inRun?: true | Readonly<Record<string, string>>;
  /** Called by programs, so no help names it. */
  hidden?: boolean;
  /** `clean`: stops by itself when asked. `child`: leaves Ctrl-C to the program it runs. */
  interrupt?: 'clean' | 'child';
  load: () => Promise<CommandModule>;
}

export const CHANNEL = ['--channel <channel>', 'channel: id, unique id prefix or name'] as const;
export const FROM = [
  '--from <name>',
  'who writes (default: CROSSTALK_FROM, git config crosstalk.from, login)',
] as const;
export const HOST = ['--host <alias>', 'this machine’s host file, by alias'] as const;
const TRANSPORT = [
  '--transport <dir>',
  'the transport (default: CROSSTALK_TRANSPORT, else upward from here)',
] as const;
const JSON_OUTPUT = ['--json', 'print the result as JSON'] as const;

/** What a group of subcommands is for, where no command has its name. */
export const GROUPS: Readonly<Record<string, string>> = {
  actor: 'list, show and add actors',
  host: 'this machine’s host file',
  memory: 'shared notes: write, list, find, show, export and import them',
  service: 'the dispatcher as a service of this machine',
};

/** All options of a command but `--help`: its own, and those that most commands have. */
export function optionsOf({ options, standalone, interrupt }: CommandSpec): OptionSpec[] {
  return [
    ...(options ?? []),
    ...(standalone === true ? [] : [TRANSPORT]),
    // A session on the terminal has no result of its own.
    ...(interrupt === 'child' ? [] : [JSON_OUTPUT]),
  ];
}
