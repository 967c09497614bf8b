import { countOf } from '../../protocol/text/words.ts';
import { CrosstalkError } from '../../errors.ts';
import { memoryRequest } from '../../actions/sending/in-run.ts';
import { addedMemoryJson, memoryJson, loggedMemoryJson } from '../../actions/shapes/as-json.ts';
import { addMemory, type MemoryInput, type AddedMemory } from '../../actions/memory/add.ts';
import { exportMemories, importMemories } from '../../actions/memory/folder.ts';
import {
  listMemories,
  searchMemories,
  showMemory,
  type ListedMemory,
} from '../../actions/memory/list.ts';
import { memorySuffix, type MemoryChange } from '../../protocol/files/memory.ts';
import { readBody } from '../command/body.ts';
import { byDispatcher } from '../command/by-dispatcher.ts';
import {
  flag,
  given,
  inTransport,
  list,
  note,
  print,
  text,
  wordsOf,
  type Call,
} from '../command/command.ts';
import { cell, colourless, indent, table } from '../view/render.ts';
import { queuedLine } from '../../present/state.ts';
import {
  changeMemory,
  type ChangedMemory,
  type MemoryChangeInput,
} from '../../actions/memory/change.ts';
import { memoryLog, type LoggedMemory } from '../../actions/memory/log.ts';
import { limitOf } from '../command/values.ts';
import { ALLOW_SECRET, NO_SECRETS, FROM, type CommandSpec } from '../command/spec.ts';
import { MEMORY } from '../../present/parameters.ts';

const DONE: Record<MemoryChange, string> = {
  forget: 'Forgotten',
  alias: 'Found under more words',
  restore: 'Restored',
};

const SCOPE = ['--scope <scope>', MEMORY.scope] as const;
const ALL = ['--all', MEMORY.all] as const;

/** Shared notes (protocol.md §9). */
export const commands: readonly CommandSpec[] = [
  {
    name: 'memory add',
    args: '[text] [-]',
    summary: 'write a shared note; text from the argument, stdin or a file',
    options: [
      ['--subject <text>', MEMORY.subject],
      [
        '--scope <scope>',
        'global (default), actor:<name>, or the channel it is for: id, unique id prefix or name',
      ],
      ['--name <slug>', MEMORY.name],
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
    run: add,
  },
  {
    name: 'memory list',
    summary: 'the shared notes in force, newest first',
    options: [SCOPE, ALL],
    inRun: true,
    example: 'crosstalk memory list',
    paged: true,
    run: listAll,
  },
  {
    name: 'memory search',
    args: '<words...>',
    summary: 'find shared notes by words, best first',
    options: [SCOPE, ALL, ['--no-age', 'do not put newer ones before older ones']],
    inRun: true,
    example: 'crosstalk memory search release day',
    paged: true,
    run: find,
  },
  {
    name: 'memory show',
    args: '<note>',
    summary: 'one shared note, by file name, unique hex suffix or name',
    inRun: true,
    example: 'crosstalk memory show 77ab01fe',
    paged: true,
    run: show,
  },
  {
    name: 'memory forget',
    args: '<note> [reason]',
    summary: 'take a shared note out of force; it can be seen and restored, and git still has it',
    options: [FROM, ALLOW_SECRET],
    inRun: NO_SECRETS,
    example: 'crosstalk memory forget 77ab01fe "we moved to Thursdays"',
    run: (call) => change(call, 'forget'),
  },
  {
    name: 'memory alias',
    args: '<note> <words...>',
    summary: 'have a shared note found under other words too',
    options: [FROM, ALLOW_SECRET],
    inRun: NO_SECRETS,
    example: 'crosstalk memory alias 77ab01fe deploy "release train"',
    run: (call) => change(call, 'alias'),
  },
  {
    name: 'memory restore',
    args: '<note>',
    summary: 'bring back a shared note that was replaced or forgotten',
    options: [FROM, ALLOW_SECRET],
    inRun: NO_SECRETS,
    example: 'crosstalk memory restore 77ab01fe',
    run: (call) => change(call, 'restore'),
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
    run: log,
  },
  {
    name: 'memory export',
    args: '<dir>',
    summary: 'write all shared notes into an empty folder, as they are in git',
    example: 'crosstalk memory export ~/notes',
    run: putOut,
  },
  {
    name: 'memory import',
    args: '<dir>',
    summary: 'bring back the notes of an exported folder, unchanged',
    example: 'crosstalk memory import ~/notes',
    run: bringIn,
  },
];

async function add(call: Call): Promise<number> {
  const subject = text(call, 'subject');
  if (subject === undefined) {
    throw new CrosstalkError(
      'usage',
      '--subject is missing; say in one line what the note is about: crosstalk memory add --subject "<line>" "<text>"',
    );
  }
  const body = await readBody(call, 'note');
  const input: MemoryInput = {
    subject,
    body,
    scope: text(call, 'scope') ?? 'global',
    supersedes: list(call, 'supersedes'),
    alias: list(call, 'alias'),
    allowSecret: flag(call, 'allowSecret'),
    ...given(call, 'name', 'kind', 'from'),
    login: call.io.login,
  };
  const told = (added: AddedMemory): number => {
    const word = added.delivered.published ? 'Remembered' : 'Queued';
    return print(call, addedMemoryJson(added), () => `${word}: ${added.file}`);
  };
  const { kind, input: handed } = memoryRequest(input);
  const added = await byDispatcher(call, kind, handed);
  if (added !== undefined) return told(added as AddedMemory);
  return inTransport(call, async (context) => told(await addMemory(context, input)));
}

function listAll(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const memories = await listMemories(context, {
      all: flag(call, 'all'),
      ...given(call, 'scope'),
    });
    if (memories.length === 0) note(call, 'no notes; write one with: crosstalk memory add');
    return print(call, memories.map(memoryJson), () => table(memories.map(row)));
  });
}

function find(call: Call): Promise<number> {
  const words = wordsOf(call);
  return inTransport(call, async (context) => {
    const found = await searchMemories(context, {
      words,
      all: flag(call, 'all'),
      age: call.options['age'] !== false,
      ...given(call, 'scope'),
    });
    if (found.length === 0) note(call, 'nothing found');
    return print(
      call,
      found.map((one) => ({ ...memoryJson(one), excerpt: one.excerpt })),
      () =>
        found
          .map((one) => `${row(one).join('  ').trimEnd()}\n${indent(colourless(one.excerpt))}`)
          .join('\n\n'),
    );
  });
}

function row({ file, memory, channel, superseded_by: by, queued }: ListedMemory): string[] {
  const { name, kind, change } = memory;
  return [
    memorySuffix(file),
    `${file.slice(0, 4)}-${file.slice(4, 6)}-${file.slice(6, 8)} ${file.slice(9, 11)}:${file.slice(11, 13)}`,
    memory.from,
    cell(channel ?? memory.scope),
    cell(memory.subject),
    [
      kind,
      name === undefined ? '' : `name ${name}`,
      change === 'forget' ? 'only forgets' : '',
      by === null ? '' : `superseded by ${memorySuffix(by)}`,
      queued ? 'queued' : '',
    ]
      .filter((mark) => mark !== undefined && mark !== '')
      .join(', '),
  ];
}

function show(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const found = await showMemory(context, call.args[0] ?? '');
    const { file, memory, channel, superseded_by: by, subjects, queued } = found;
    const linked = (other: string, subject: string | null): string =>
      `${other}  ${subject === null ? '(not in this transport)' : cell(subject)}`;
    const { supersedes, kind, name, changedBy, covers = [], extra, body } = memory;
    return print(call, { ...memoryJson(found), covers, extra, body }, () =>
      [
        table([
          ['file', file],
          ['from', memory.from],
          ['timestamp', cell(memory.timestamp)],
          ['subject', cell(memory.subject, Infinity)],
          ['scope', channel === null ? memory.scope : `${cell(channel)} (${memory.scope})`],
          ...memory.alias.map((word) => ['alias', cell(word, Infinity)]),
          ...(kind === undefined ? [] : [['kind', kind]]),
          ...(name === undefined ? [] : [['name', name]]),
          ...(changedBy === undefined ? [] : [['changed by', changedBy]]),
          ...(covers.length === 0 ? [] : [['covers', countOf(covers.length, 'message')]]),
          ...supersedes.map((old, at) => [
            'supersedes',
            linked(old, subjects.supersedes[at] ?? null),
          ]),
          ...(by === null ? [] : [['superseded by', linked(by, subjects.superseded_by)]]),
          ...(queued ? [['state', queuedLine()]] : []),
        ]),
        '',
        colourless(body).trimEnd(),
      ].join('\n'),
    );
  });
}

function putOut(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const done = await exportMemories(context, call.args[0] ?? '');
    return print(call, done, () => `Exported: ${notes(done.exported)} to ${done.dir}`);
  });
}

function bringIn(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const { dir, imported, skipped, delivered } = await importMemories(context, {
      dir: call.args[0] ?? '',
      login: call.io.login,
    });
    const result = {
      dir,
      status: delivered.published ? 'imported' : 'queued',
      reason: delivered.published ? null : delivered.reason,
      imported,
      skipped,
    };
    const word = delivered.published ? 'Imported' : 'Queued';
    const there = skipped === 0 ? '' : `, ${String(skipped)} were there already`;
    return print(call, result, () => `${word}: ${notes(imported.length)}${there}`);
  });
}

function notes(count: number): string {
  return count === 1 ? '1 note' : `${String(count)} notes`;
}

async function change(call: Call, what: MemoryChange): Promise<number> {
  const [memory = '', ...rest] = call.args.map((word) => word ?? '');
  const input: MemoryChangeInput = {
    change: what,
    memory,
    ...(what === 'alias' ? { words: rest } : { reason: rest.join(' ') }),
    allowSecret: flag(call, 'allowSecret'),
    ...given(call, 'from'),
    login: call.io.login,
  };
  const told = (changed: ChangedMemory): number => {
    const json = { of: changed.of, ...addedMemoryJson(changed) };
    const word = changed.delivered.published ? DONE[what] : 'Queued';
    return print(call, json, () => `${word}: ${changed.of}, by ${changed.file}`);
  };
  const changed = await byDispatcher(call, 'memory_change', input);
  if (changed !== undefined) return told(changed as ChangedMemory);
  return inTransport(call, async (context) => told(await changeMemory(context, input)));
}

function log(call: Call): Promise<number> {
  const limit = limitOf(call);
  return inTransport(call, async (context) => {
    const [memory] = call.args;
    const { entries, more } = await memoryLog(context, {
      limit,
      ...(memory !== undefined && { memory }),
    });
    if (more > 0 && text(call, 'limit') === undefined)
      note(call, `only the newest ${String(limit)} are shown; more with: --limit <n>`);
    if (entries.length === 0) note(call, 'no notes; write one with: crosstalk memory add');
    return print(call, entries.map(loggedMemoryJson), () => table(entries.map(logRow)));
  });
}

function logRow({ at, by, what, file, memory, ...rest }: LoggedMemory): string[] {
  const { superseded_by: next, outnamed, queued } = rest;
  const gone =
    next === null
      ? ''
      : outnamed
        ? `not in force: ${memorySuffix(next)} has the same name`
        : `superseded by ${memorySuffix(next)}`;
  return [
    memorySuffix(file),
    `${at.slice(0, 10)} ${at.slice(11, 16)}`,
    by,
    what,
    memory.supersedes.slice(0, 3).map(memorySuffix).join(' ') +
      (memory.supersedes.length > 3 ? ' …' : ''),
    cell(memory.subject),
    [memory.name === undefined ? '' : `name ${memory.name}`, gone, queued ? 'queued' : '']
      .filter((mark) => mark !== '')
      .join(', '),
  ];
}
