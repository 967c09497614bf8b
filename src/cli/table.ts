import type { CommandModule } from './command.ts';

/** A command as users see it; its code is imported when it is called. */
export interface CommandSpec {
  /** `send`, or `channel create` for a subcommand. */
  name: string;
  args?: string;
  summary: string;
  options?: readonly (readonly [flags: string, description: string])[];
  example: string;
  /** Works without a transport, so it takes no `--transport`. */
  standalone?: boolean;
  /** `clean`: stops by itself when asked. `child`: leaves Ctrl-C to the program it runs. */
  interrupt?: 'clean' | 'child';
  load: () => Promise<CommandModule>;
}

const CHANNEL = ['--channel <channel>', 'channel: id, unique id prefix or name'] as const;
const FROM = [
  '--from <name>',
  'who writes (default: CROSSTALK_FROM, git config crosstalk.from, login)',
] as const;
const HOST = ['--host <alias>', 'this machine’s host file, by alias'] as const;

export const COMMANDS: readonly CommandSpec[] = [
  {
    name: 'init',
    args: '[dir]',
    summary: 'make a transport, or join the one at a remote from this machine',
    standalone: true,
    options: [
      ['--remote <url>', 'the git remote: empty, or an existing transport to join'],
      ['--alias <alias>', 'name of this machine in addresses (default: its hostname)'],
      ['--actor <name>', 'the first actor this machine serves (default: concierge)'],
      ['--cli <command>', 'its CLI: claude, codex, gemini, opencode, qwen, pi, or a command line'],
      ['--channel <name>', 'the first channel (default: general)'],
    ],
    example: 'crosstalk init team --remote git@example.com:team/bus.git --cli claude',
    load: () => import('./commands/init.ts'),
  },
  {
    name: 'send',
    args: '[body]',
    summary: 'send a message; text from the argument, stdin or a file',
    options: [
      ['--to <names>', 'addressees: name, name@host, all; separated by commas'],
      CHANNEL,
      FROM,
      ['--tier <tier>', 'the model tier asked for'],
      ['--new', 'unrelated to what is being processed: record neither re nor cause'],
      ['--file <path>', 'take the text from a file'],
      ['--no-wait', 'return as soon as the message is safely queued'],
    ],
    example: 'crosstalk send --to concierge "what changed this week?"',
    load: () => import('./commands/send.ts'),
  },
  {
    name: 'replies',
    args: '[messages...]',
    summary: 'the replies to messages, matched by re alone',
    options: [
      ['--re <messages>', 'the messages, separated by commas'],
      ['--wait', 'wait until each is answered'],
      ['--timeout <seconds>', 'how long to wait (default: 600); exit code 3 when it is over'],
    ],
    example: 'crosstalk replies --wait 2026/06/09/190000000Z-1f2e3d4c.md',
    load: () => import('./commands/replies.ts'),
  },
  {
    name: 'status',
    summary: 'health, host, actors, channels, cursors, outbox, dead letters',
    options: [HOST],
    example: 'crosstalk status',
    load: () => import('./commands/status.ts'),
  },
  {
    name: 'explain',
    args: '<message> <actor>',
    summary: 'why a message wakes an actor, or does not',
    example: 'crosstalk explain 1f2e3d4c concierge',
    load: () => import('./commands/explain.ts'),
  },
  {
    name: 'dlq',
    summary: 'the dead letters of this machine',
    options: [
      ['--list', 'one line each (default)'],
      ['--show <id>', 'everything about one'],
      ['--retry <id>', 'try one again, or all'],
      ['--drop <id>', 'forget one; its messages stay on record'],
      ['--clear', 'forget all'],
      ['--yes', 'do not ask'],
    ],
    example: 'crosstalk dlq --retry all',
    load: () => import('./commands/dlq.ts'),
  },
  {
    name: 'channel',
    summary: 'make and list channels',
    options: [
      ['--name <name>', 'make a channel of this name'],
      ['--parent <channel>', 'as a subchannel of this one'],
      ['--description <text>', 'a small system prompt for everybody in it'],
      FROM,
    ],
    example: 'crosstalk channel --name release --description "Everything about 2.0."',
    load: () => import('./commands/channel.ts'),
  },
  {
    name: 'channel create',
    args: '<name>',
    summary: 'make a channel; prints its id',
    options: [
      ['--parent <channel>', 'as a subchannel of this one'],
      ['--description <text>', 'a small system prompt for everybody in it'],
      FROM,
    ],
    example: 'crosstalk channel create release',
    load: () => import('./commands/channel.ts'),
  },
  {
    name: 'channel list',
    summary: 'the channels of the transport',
    example: 'crosstalk channel list --json',
    load: () => import('./commands/channel.ts'),
  },
  {
    name: 'actor list',
    summary: 'the actors and the hosts that serve them',
    example: 'crosstalk actor list',
    load: () => import('./commands/actor.ts'),
  },
  {
    name: 'actor show',
    args: '<name>',
    summary: 'one actor with its system prompt',
    example: 'crosstalk actor show concierge',
    load: () => import('./commands/actor.ts'),
  },
  {
    name: 'actor add',
    args: '<name>',
    summary: 'let this machine serve an actor, and approve its command',
    options: [
      ['--cli <command>', 'claude, codex, gemini, opencode, qwen, pi, or a command line'],
      ['--tier <tier>', 'the tier this command is for (default: default)'],
      ['--description <text>', 'for a new profile'],
      HOST,
    ],
    example: 'crosstalk actor add reviewer --cli claude --description "Reviews diffs."',
    load: () => import('./commands/actor.ts'),
  },
  {
    name: 'host show',
    summary: 'this machine’s host file and the command changes that are held',
    options: [HOST],
    example: 'crosstalk host show',
    load: () => import('./commands/host.ts'),
  },
  {
    name: 'host approve',
    summary: 'accept the commands of this machine’s host file as they stand',
    options: [HOST],
    example: 'crosstalk host approve',
    load: () => import('./commands/host.ts'),
  },
  {
    name: 'doctor',
    summary: 'check everything around the bus that can keep mail from moving',
    options: [HOST],
    example: 'crosstalk doctor',
    load: () => import('./commands/doctor.ts'),
  },
  {
    name: 'wake',
    summary: 'tell the running dispatcher to look now',
    example: 'crosstalk wake',
    load: () => import('./commands/wake.ts'),
  },
  {
    name: 'sync',
    summary: 'push the outbox, bring news, fast-forward the checkout',
    example: 'crosstalk sync',
    load: () => import('./commands/sync.ts'),
  },
  {
    name: 'dispatch',
    summary: 'run the dispatcher: deliver mail to this machine’s actors',
    options: [
      HOST,
      ['--interval <seconds>', 'between polls when nothing happens (default: 30)'],
      ['--once', 'one full pass, then exit'],
      ['--from-now', 'new actors start at the tip instead of at what is unanswered'],
      ['--trust-host-file', 'run changed commands without approval'],
      ['--grace <seconds>', 'what running CLIs get to finish on stopping (default: 10)'],
      ['--log <file>', 'append the log there instead of stderr'],
    ],
    interrupt: 'clean',
    example: 'crosstalk dispatch --host laptop',
    load: () => import('./commands/dispatch.ts'),
  },
  {
    name: 'pause',
    summary: 'let this machine’s dispatcher start nothing more; mail waits',
    example: 'crosstalk pause',
    load: () => import('./commands/pause.ts'),
  },
  {
    name: 'resume',
    summary: 'end a pause',
    example: 'crosstalk resume',
    load: () => import('./commands/pause.ts'),
  },
  {
    name: 'open',
    summary: 'an interactive session as an actor',
    options: [
      ['--actor <name>', 'the actor'],
      ['--tier <tier>', 'its tier (default: the first)'],
      HOST,
    ],
    interrupt: 'child',
    example: 'crosstalk open --actor concierge',
    load: () => import('./commands/open.ts'),
  },
  {
    name: 'attach',
    summary: 'your own agent CLI in operator mode',
    options: [['--agent <command>', 'the agent CLI (default: the first known one on the PATH)']],
    interrupt: 'child',
    example: 'crosstalk attach --agent claude',
    load: () => import('./commands/attach.ts'),
  },
  {
    name: 'upgrade',
    summary: 'replace upstream/ with this version’s template',
    options: [['--check', 'only say what would change']],
    example: 'crosstalk upgrade --check',
    load: () => import('./commands/upgrade.ts'),
  },
  {
    name: 'demo',
    summary: 'two machines, a question, a delegation and one answer, here and now',
    standalone: true,
    options: [['--keep', 'leave it running to play with']],
    interrupt: 'clean',
    example: 'crosstalk demo',
    load: () => import('./commands/demo.ts'),
  },
];
