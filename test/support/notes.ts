import { formatMemory, memoryFileAt, type Memory } from '../../src/protocol/files/memory.ts';

/** A note written by hand at some time: its path and its text. */
export function noteAt(at: Date, n: number, fields: Partial<Memory>): [path: string, text: string] {
  const file = memoryFileAt(at, n.toString(16).padStart(8, '0'));
  const memory: Memory = {
    from: 'hand',
    timestamp: at.toISOString(),
    subject: 's',
    scope: 'global',
    supersedes: [],
    alias: [],
    extra: {},
    body: 'text\n',
    ...fields,
  };
  return [`data/memories/${file}`, formatMemory(memory)];
}
