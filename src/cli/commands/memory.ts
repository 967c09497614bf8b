import { countOf } from '../../protocol/text/amounts.ts';
import { CrosstalkError } from '../../errors.ts';
import { memoryRequest } from '../../operations/sending/in-run.ts';
import { addedMemoryJson, memoryJson } from '../../operations/shapes/as-json.ts';
import { addMemory, type MemoryInput } from '../../operations/memory/add.ts';
import { exportMemories, importMemories } from '../../operations/memory/folder.ts';
import {
  listMemories,
  searchMemories,
  showMemory,
  type ListedMemory,
} from '../../operations/memory/list.ts';
import type { AddedMemory } from '../../operations/memory/write.ts';
import { memorySuffix } from '../../protocol/files/memory.ts';
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

export function run(call: Call): Promise<number> {
  switch (call.name) {
    case 'memory add':
      return add(call);
    case 'memory show':
      return show(call);
    case 'memory search':
      return find(call);
    case 'memory export':
      return putOut(call);
    case 'memory import':
      return bringIn(call);
    default:
      return listAll(call);
  }
}

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
