import { CrosstalkError } from '../../errors.ts';
import { MAX_SUPERSEDED, type Memory, type MemoryChange } from '../../protocol/files/memory.ts';
import { isOneLine } from '../../protocol/text/quoted.ts';
import { shown } from '../../protocol/text/result.ts';
import { refreshOrNote, type Context } from '../context.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { withNamed, writeMemory, type AddedMemory } from './add.ts';
import { wholeMemory } from './list.ts';
import {
  isInForce,
  readMemories,
  resolveMemory,
  type Memories,
  type StoredMemory,
} from './memories.ts';

/** The input of a change of an existing note. */
export interface MemoryChangeInput {
  change: MemoryChange;
  /** Its file name, a unique hex suffix, or its name. */
  memory: string;
  /** `forget`: the reason. */
  reason?: string;
  /** `alias`: additional words under which it should be found. */
  words?: readonly string[];
  from?: string;
  allowSecret?: boolean;
  login: string;
}

/** The memory that a change has written, and the changed one. */
export interface ChangedMemory extends AddedMemory {
  /** The file name of the note that was forgotten, found under more words, or restored. */
  of: string;
}

/**
 * Changes a note by writing another one that replaces it; no file is altered or removed, so that every
 * change is visible and can be undone. A note that is restored, or found under more words, keeps its
 * writer and time.
 *
 * @throws CrosstalkError as {@link resolveMemory} does, `refused` when there is nothing to change, and
 *   `usage` for words that cannot match anything; nothing is written then
 */
export async function changeMemory(
  context: Context,
  input: MemoryChangeInput,
): Promise<ChangedMemory> {
  const { change, words = [], login, allowSecret = false } = input;
  const by = resolveFrom(context, input.from, login);
  if (change === 'alias') assertWords(words);
  await refreshOrNote(context);
  const all = await readMemories(context, { bodies: false });
  const given = resolveMemory(all, input.memory);
  const old = change === 'restore' ? lost(all, given) : inForce(all, given, change);
  const at = context.now();
  const memory =
    change === 'forget'
      ? forgotten(all, old, { by, at, reason: input.reason })
      : await copied(context, all, old, { change, by, words });
  return { ...(await writeMemory(context, memory, { at, by, allowSecret })), of: old.file };
}

function assertWords(words: readonly string[]): void {
  if (words.length === 0)
    throw new CrosstalkError('usage', 'no word is given under which the note should be found');
  for (const word of words)
    if (!isOneLine(word))
      throw new CrosstalkError(
        'usage',
        `${shown(word)} is no alias, expected a word under which the note should be found`,
      );
}

/** @throws CrosstalkError `refused` for a note that is not in force */
function inForce(
  { memories }: Memories,
  given: StoredMemory,
  change: 'forget' | 'alias',
): StoredMemory {
  if (isInForce(given)) return given;
  const { file, superseded_by: by } = given;
  const next = memories.find((one) => one.file === by);
  if (next === undefined || next.memory.change === 'forget')
    throw new CrosstalkError(
      'refused',
      `${file} is forgotten already${by === null ? '' : `, by ${by}`}; bring it back with: crosstalk memory restore ${file}`,
    );
  throw new CrosstalkError(
    'refused',
    `${file} is not in force, ${next.file} has replaced it; you may mean: crosstalk memory ${change} ${next.file}`,
  );
}

/** Returns the note to restore; for one that only forgets, the forgotten note. */
function lost({ memories }: Memories, given: StoredMemory): StoredMemory {
  if (isInForce(given))
    throw new CrosstalkError('refused', `${given.file} is in force already; nothing was written`);
  if (given.memory.change !== 'forget') return given;
  const [first] = given.memory.supersedes;
  const found = memories.find(({ file }) => file === first);
  if (found !== undefined) return found;
  throw new CrosstalkError(
    'refused',
    `what ${given.file} has forgotten is not in this transport; nothing can be brought back`,
  );
}

/** Maximum characters of a subject, which may be as long as a file; its copy has to stay readable. */
const MAX_SUBJECT = 300;

function clip(subject: string): string {
  if (subject.length <= MAX_SUBJECT) return subject;
  // Half of a character at the end is left out.
  return `${subject.slice(0, MAX_SUBJECT).replace(/[\uD800-\uDBFF]$/, '')}\u2026`;
}

function forgotten(
  all: Memories,
  { file, memory: { subject, scope, name } }: StoredMemory,
  { by, at, reason = '' }: { by: string; at: Date; reason: string | undefined },
): Memory {
  const chosen = all.memories.filter((one) => one.file === file);
  return {
    from: by,
    timestamp: at.toISOString(),
    subject: `Forgotten: ${clip(subject)}`,
    scope,
    supersedes: withNamed(all, chosen, name === undefined ? undefined : { name, scope }),
    alias: [],
    ...(name !== undefined && { name }),
    change: 'forget',
    extra: {},
    body: `${reason.trim() === '' ? 'No reason was given.' : reason.trim()}\n`,
  };
}

/** Returns a copy of a note that replaces its present replacement. */
async function copied(
  context: Context,
  all: Memories,
  old: StoredMemory,
  { change, by, words }: { change: 'alias' | 'restore'; by: string; words: readonly string[] },
): Promise<Memory> {
  const memory = await wholeMemory(context, old);
  const alias = [...new Set([...memory.alias, ...words])];
  if (change === 'alias' && alias.length === memory.alias.length)
    throw new CrosstalkError(
      'refused',
      `${old.file} is found under ${words.map(shown).join(', ')} already; nothing was written`,
    );
  const { name, scope } = memory;
  const end = endOf(all, old);
  if (change === 'restore') await assertOther(context, { old, memory }, end);
  const instead = change === 'alias' ? [old] : standsFor(context, old, end);
  const named = withNamed(all, instead, name === undefined ? undefined : { name, scope });
  // Its covered messages, unknown fields and everything else stay; the notes that it had replaced stay
  // replaced.
  return { ...memory, alias, change, changedBy: by, supersedes: named.slice(0, MAX_SUPERSEDED) };
}

/** Returns the last one in the chain of a note's replacements. */
function endOf({ memories }: Memories, old: StoredMemory): StoredMemory {
  const byFile = new Map(memories.map((one) => [one.file, one]));
  let end = old;
  for (let next = byFile.get(old.superseded_by ?? ''); next !== undefined;) {
    end = next;
    next = byFile.get(next.superseded_by ?? '');
  }
  return end;
}

/** @throws CrosstalkError `refused` for a note that was restored already, as a copy that is in force */
async function assertOther(
  context: Context,
  { old, memory }: { old: StoredMemory; memory: Memory },
  end: StoredMemory,
): Promise<void> {
  if (end.memory.change !== 'restore') return;
  const copy = await wholeMemory(context, end);
  const said = ({ subject, body, alias, kind }: Memory): string =>
    JSON.stringify([subject, body, alias, kind]);
  if (said(copy) !== said(memory)) return;
  throw new CrosstalkError(
    'refused',
    `${old.file} is in force already, as ${end.file}; nothing was written`,
  );
}

/**
 * Returns the note in force instead of another one, unless that replaces others too: the merge of two
 * notes stays when one of them is restored.
 */
function standsFor(context: Context, old: StoredMemory, end: StoredMemory): StoredMemory[] {
  const { memory, file } = end;
  const isOfName = old.memory.name !== undefined && memory.name === old.memory.name;
  if (isOfName || memory.change === 'forget' || memory.supersedes.length < 2) return [end];
  context.note(
    `${file} replaces ${String(memory.supersedes.length)} notes, and stays in force beside this one`,
  );
  return [];
}
