import type { CommandModule } from './command.ts';

/** A command as users see it; its code is imported when it is called. */
export interface CommandSpec {
  /** `send`, or `channel create` for a subcommand. */
  name: string;
  args?: string;
  summary: string;
  options?: readonly (readonly [flags: string, description: string, repeatable?: 'repeatable'])[];
  example: string;
  /** Works without a transport, so it takes no `--transport`. */
  standalone?: boolean;
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
