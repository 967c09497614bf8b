import { ALLOW_SECRET, FROM, NO_SECRETS, type CommandSpec } from '../command/spec.ts';
import { NO_WAITING, TIMEOUT } from './reading.ts';

const changes: CommandSpec['load'] = () => import('../commands/work/memory-changes.ts');
const SCOPE = [
  '--scope <scope>',
  'a channel, or actor:<name>: its notes and the global ones; or global: those alone',
] as const;
const ALL = ['--all', 'also those that others supersede, and those that are forgotten'] as const;

/** The rows of the command table that are about shared notes (protocol.md §9). */
export const MEMORY_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'memory add',
    args: '[text] [-]',
    summary: 'write a shared note; text from the argument, stdin or a file',
    options: [
      ['--subject <text>', 'what it is about, in one line'],
      [
        '--scope <scope>',
        'global (default), actor:<name>, or the channel it is for: id, unique id prefix or name',
      ],
      ['--name <slug>', 'write it anew under this name: it replaces the one that has it there'],
      ['--kind <kind>', 'note (default), decision, preference, reference or archive'],
      [
        '--supersedes <note>',
        'a note it replaces: file name, unique hex suffix or name',
        'repeatable',
      ],
      ['--alias <word>', 'another word under which it should be found', 'repeatable'],
      FROM,
      ['--file <path>', 'take the text from a file, or from stdin with -'],
      ALLOW_SECRET,
    ],
    inRun: NO_SECRETS,
    example:
      'crosstalk memory add --subject "Releases go out on Tuesdays" --alias deploy "Since May."',
    load: () => import('../commands/memory.ts'),
  },
  {
    name: 'memory list',
    summary: 'the shared notes in force, newest first',
    options: [SCOPE, ALL],
    inRun: true,
    example: 'crosstalk memory list',
    paged: true,
    load: () => import('../commands/memory.ts'),
  },
  {
    name: 'memory search',
    args: '<words...>',
    summary: 'find shared notes by words, best first',
    options: [SCOPE, ALL, ['--no-age', 'do not put newer ones before older ones']],
    inRun: true,
    example: 'crosstalk memory search release day',
    paged: true,
    load: () => import('../commands/memory.ts'),
  },
  {
    name: 'memory show',
    args: '<note>',
    summary: 'one shared note, by file name, unique hex suffix or name',
    inRun: true,
    example: 'crosstalk memory show 77ab01fe',
    paged: true,
    load: () => import('../commands/memory.ts'),
  },
  {
    name: 'memory forget',
    args: '<note> [reason]',
    summary: 'take a shared note out of force; it can be seen and restored, and git still has it',
    options: [FROM, ALLOW_SECRET],
    inRun: NO_SECRETS,
    example: 'crosstalk memory forget 77ab01fe "we moved to Thursdays"',
    load: changes,
  },
  {
    name: 'memory alias',
    args: '<note> <words...>',
    summary: 'have a shared note found under other words too',
    options: [FROM, ALLOW_SECRET],
    inRun: NO_SECRETS,
    example: 'crosstalk memory alias 77ab01fe deploy "release train"',
    load: changes,
  },
  {
    name: 'memory restore',
    args: '<note>',
    summary: 'bring back a shared note that was replaced or forgotten',
    options: [FROM, ALLOW_SECRET],
    inRun: NO_SECRETS,
    example: 'crosstalk memory restore 77ab01fe',
    load: changes,
  },
  {
    name: 'memory log',
    args: '[note]',
    summary:
      'who changed the shared notes, newest first; or one note and what is connected with it',
    options: [['--limit <n>', 'at most so many, the newest (default: 20)']],
    inRun: true,
    example: 'crosstalk memory log 77ab01fe',
    paged: true,
    load: changes,
  },
  {
    name: 'memory export',
    args: '<dir>',
    summary: 'write all shared notes into an empty folder, as they are in git',
    example: 'crosstalk memory export ~/notes',
    load: () => import('../commands/memory.ts'),
  },
  {
    name: 'memory import',
    args: '<dir>',
    summary: 'bring back the notes of an exported folder, unchanged',
    example: 'crosstalk memory import ~/notes',
    load: () => import('../commands/memory.ts'),
  },
  {
    name: 'compact',
    args: '<message>',
    summary: 'have an actor sum up a thread, and keep that as a note',
    details:
      'The note says which messages it covers, and stands in a prompt where they have to be left out. Nothing else makes such notes, and the messages stay as they are.',
    options: [
      ['--by <actor>', 'who sums it up (default: the actor that wrote last in it)'],
      FROM,
      TIMEOUT,
    ],
    interrupt: 'clean',
    notInRun: NO_WAITING,
    example: 'crosstalk compact 1f2e3d4c --by librarian',
    load: () => import('../commands/work/compact.ts'),
  },
];
