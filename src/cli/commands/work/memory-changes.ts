import {
  changeMemory,
  type ChangedMemory,
  type MemoryChangeInput,
} from '../../../operations/memory/change.ts';
import { memoryLog, type LoggedMemory } from '../../../operations/memory/log.ts';
import { addedMemoryJson, loggedMemoryJson } from '../../../operations/shapes/as-json.ts';
import { memorySuffix, type MemoryChange } from '../../../protocol/files/memory.ts';
import { byDispatcher } from '../../command/by-dispatcher.ts';
import { flag, given, inTransport, note, print, text, type Call } from '../../command/command.ts';
import { limitOf } from '../../command/values.ts';
import { cell, table } from '../../view/render.ts';

const DONE: Record<MemoryChange, string> = {
  forget: 'Forgotten',
  alias: 'Found under more words',
  restore: 'Restored',
};

export function run(call: Call): Promise<number> {
  switch (call.name) {
    case 'memory forget':
      return change(call, 'forget');
    case 'memory alias':
      return change(call, 'alias');
    case 'memory restore':
      return change(call, 'restore');
    default:
      return log(call);
  }
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
    return print(call, entries.map(loggedMemoryJson), () => table(entries.map(row)));
  });
}

function row({ at, by, what, file, memory, ...rest }: LoggedMemory): string[] {
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
