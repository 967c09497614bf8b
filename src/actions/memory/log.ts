import { memoryTime, type Memory } from '../../protocol/files/memory.ts';
import { refreshOrNote, type Context } from '../context.ts';
import { channelNames, type ListedMemory } from './list.ts';
import {
  noteUnreadable,
  readMemories,
  resolveMemory,
  type Memories,
  type StoredMemory,
} from './memories.ts';

/** The kind of change that a memory made. */
type LoggedChange = 'added' | 'replaced' | 'forgot' | 'restored' | 'aliased';

/** One change of the shared notes: a memory, with its writer, its time and whether it is in force. */
export interface LoggedMemory extends ListedMemory {
  /** ISO 8601 UTC. */
  at: string;
  by: string;
  what: LoggedChange;
  /**
   * Whether another memory of the same name prevails without superseding it: both were written at the
   * same time, on two machines.
   */
  outnamed: boolean;
}

/** Default maximum number of listed changes. */
const USUAL = 50;

/**
 * Lists the changes of the shared notes, newest first, without texts.
 *
 * @param input `memory`: only memories connected with this one, by replacement or by its name; `limit`:
 *   maximum number of entries
 * @throws CrosstalkError as {@link resolveMemory} does
 */
export async function memoryLog(
  context: Context,
  { memory: given, limit = USUAL }: { memory?: string; limit?: number },
): Promise<{ entries: LoggedMemory[]; more: number }> {
  await refreshOrNote(context);
  const all = await readMemories(context, { bodies: false });
  noteUnreadable(context, all.unreadable);
  return logOf(context, all, { limit, ...(given !== undefined && { memory: given }) });
}

/** Lists the changes of memories that were read. */
export async function logOf(
  context: Context,
  all: Memories,
  { memory: given, limit }: { memory?: string; limit: number },
): Promise<{ entries: LoggedMemory[]; more: number }> {
  const chosen =
    given === undefined ? all.memories : connected(all.memories, resolveMemory(all, given));
  const shown = chosen.slice(0, limit);
  const channelOf = await channelNames(context, shown);
  const byFile = new Map(all.memories.map(({ file, memory }) => [file, memory]));
  const entries = shown.map((one): LoggedMemory => {
    const { file, memory, superseded_by: by } = one;
    return {
      ...one,
      channel: channelOf(one),
      at: memoryTime(file),
      by: memory.changedBy ?? memory.from,
      what: whatOf(memory),
      outnamed: by !== null && byFile.get(by)?.supersedes.includes(file) !== true,
    };
  });
  return { entries, more: chosen.length - shown.length };
}

function whatOf({ change, supersedes }: Memory): LoggedChange {
  if (change === 'forget') return 'forgot';
  if (change === 'restore') return 'restored';
  if (change === 'alias') return 'aliased';
  return supersedes.length > 0 ? 'replaced' : 'added';
}

/**
 * Returns the memories that one replaces or is replaced by, and so on, and those of its name; in the
 * given order.
 */
function connected(memories: readonly StoredMemory[], start: StoredMemory): StoredMemory[] {
  const next = new Map<string, string[]>();
  const join = (a: string, b: string): void => {
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const known = next.get(one);
      if (known === undefined) next.set(one, [other]);
      else known.push(other);
    }
  };
  for (const { file, memory } of memories) {
    for (const old of memory.supersedes) join(file, old);
    // No file has such a name, so it stands for the name.
    if (memory.name !== undefined) join(file, `/${memory.scope}/${memory.name}`);
  }
  const found = new Set([start.file]);
  const ahead = [start.file];
  for (let one = ahead.pop(); one !== undefined; one = ahead.pop())
    for (const other of next.get(one) ?? [])
      if (!found.has(other)) {
        found.add(other);
        ahead.push(other);
      }
  return memories.filter(({ file }) => found.has(file));
}
