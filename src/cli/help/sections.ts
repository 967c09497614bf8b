import type { CommandSpec } from '../command/spec.ts';

/** The section of the help for each command, by its first word, in the order of the help. */
const SECTIONS: readonly (readonly [title: string, commands: readonly string[]])[] = [
  [
    'Talk',
    [
      'ask',
      'send',
      'reply',
      'cancel',
      'approve',
      'deny',
      'inbox',
      'wait',
      'log',
      'read',
      'thread',
      'search',
      'cost',
      'memory',
      'compact',
      'skill',
      'chat',
      'attach',
      'open',
    ],
  ],
  ['Look', ['status', 'watch', 'web', 'explain', 'dlq', 'outbox', 'logs', 'doctor', 'agents']],
  [
    'Operate',
    [
      'dispatch',
      'service',
      'pause',
      'resume',
      'sync',
      'forget',
      'schedule',
      'subscription',
      'event',
      'secret',
      'worktree',
      'session',
      'sandbox',
      'checkout',
      'archive',
      'upgrade',
    ],
  ],
  ['Set up', ['init', 'channel', 'actor', 'host', 'key', 'demo', 'uninstall']],
  ['For programs', ['mcp', 'completion', 'guide']],
];

/** The commands of every day, which `--help` shows; `help --all` shows the others too. */
const OF_EVERY_DAY = new Set([
  ...['ask', 'send', 'reply', 'inbox', 'thread', 'chat'],
  ...['status', 'dispatch', 'init', 'actor'],
]);

/** Whether the first word of a command is one of those that are used every day. */
export function isOfEveryDay(word: string): boolean {
  return OF_EVERY_DAY.has(word);
}

const OTHER = 'Other';
const rank = new Map(
  SECTIONS.flatMap(([title, names]) => names.map((name) => [name, title] as const)).map(
    ([name, title], index) => [name, { title, index }],
  ),
);

/** Returns the section of a command, by its first word; a command without a section is still shown. */
export function sectionOf(name: string): string {
  return rank.get(first(name))?.title ?? OTHER;
}

/** Returns the commands in the order in which help shows them; subcommands keep their order. */
export function inSections(commands: readonly CommandSpec[]): CommandSpec[] {
  const place = ({ name }: CommandSpec): number => rank.get(first(name))?.index ?? rank.size;
  return [...commands].sort((a, b) => place(a) - place(b));
}

function first(name: string): string {
  return name.split(' ')[0] ?? '';
}
