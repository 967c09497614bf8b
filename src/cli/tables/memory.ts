import { ALLOW_SECRET, FROM, NO_SECRETS, type CommandSpec } from '../command/spec.ts';

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
        'global (default), or the channel it is for: id, unique id prefix or name',
      ],
      ['--supersedes <memory>', 'the note it replaces: file name or unique hex suffix'],
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
    options: [
      ['--scope <scope>', 'a channel: its notes and the global ones; or global: those alone'],
      ['--all', 'also those that others supersede'],
    ],
    inRun: true,
    example: 'crosstalk memory list --scope general',
    paged: true,
    load: () => import('../commands/memory.ts'),
  },
  {
    name: 'memory search',
    args: '<words...>',
    summary: 'find shared notes by words, best first',
    options: [
      ['--scope <scope>', 'a channel: its notes and the global ones; or global: those alone'],
      ['--all', 'also those that others supersede'],
    ],
    inRun: true,
    example: 'crosstalk memory search release day',
    paged: true,
    load: () => import('../commands/memory.ts'),
  },
  {
    name: 'memory show',
    args: '<memory>',
    summary: 'one shared note, by file name or unique hex suffix',
    inRun: true,
    example: 'crosstalk memory show 77ab01fe',
    paged: true,
    load: () => import('../commands/memory.ts'),
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
];
