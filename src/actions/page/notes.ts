import type {
  WebNote,
  WebNoteChange,
  WebNoteHit,
  WebNoteLog,
  WebNoteScope,
  WebNotes,
  WebNoteWhole,
} from '../../api/api.ts';
import { excerptOf } from '../../protocol/text/excerpt.ts';
import type { Context } from '../context.ts';
import { channelNames, scoresOf, shownOf } from '../memory/list.ts';
import { logOf, type LoggedMemory } from '../memory/log.ts';
import {
  type KeptMemories,
  isInForce,
  memoryFiles,
  type Memories,
  type StoredMemory,
} from '../memory/memories.ts';
import { EXCERPT_BYTES } from '../reading/search.ts';
import { loggedMemoryJson, memoryJson } from '../shapes/as-json.ts';

/** The states by which notes may be chosen. */
export const NOTE_STATES = ['in_force', 'replaced', 'forgotten', 'all'] as const;

export interface NotesInput {
  /** Words by which they are found, best first; without any, all of them, newest first. */
  words?: string;
  /** Only those of this scope: `global`, the id of a channel, or `actor:<name>`. */
  scope?: string;
  kind?: WebNote['kind'];
  state: (typeof NOTE_STATES)[number];
  limit: number;
  skip: number;
}

/** The most scopes, and files that cannot be read, that are named. */
const MOST_SCOPES = 100;
const MOST_UNREADABLE = 20;
/** The most changes of one note that are shown with it. */
const MOST_CHANGES = 50;

/**
 * Returns a part of the shared notes known locally, for the page.
 *
 * @throws CrosstalkError `usage` for words that cannot match anything
 */
export async function notesPage(
  context: Context,
  kept: KeptMemories,
  input: NotesInput,
): Promise<WebNotes> {
  const all = await kept.get(context);
  const stateOf = statesOf(all);
  const count = (state: WebNote['state']): number =>
    all.memories.filter((one) => stateOf(one) === state).length;
  const { words, scope, kind, state, limit, skip } = input;
  const chosen = (await found(context, all.memories, words)).filter(
    (one) =>
      (state === 'all' || stateOf(one) === state) &&
      (scope === undefined || one.memory.scope === scope) &&
      (kind === undefined || (one.memory.kind ?? 'note') === kind),
  );
  const shown = chosen.slice(skip, skip + limit);
  const scopes = scopesOf(all.memories);
  const channelOf = await channelNames(context, [...shown, ...scopes.map(({ first }) => first)]);
  const excerpts = words === undefined ? undefined : await excerptsOf(context, shown, words);
  return {
    memories: shown.map((one): WebNoteHit => ({
      ...memoryJson({ ...one, channel: channelOf(one) }),
      state: stateOf(one),
      excerpt: excerpts?.get(one.file) ?? '',
    })),
    total: chosen.length,
    counts: {
      in_force: count('in_force'),
      replaced: count('replaced'),
      forgotten: count('forgotten'),
    },
    scopes: scopes.map(({ first, notes }): WebNoteScope => ({
      scope: first.memory.scope,
      channel: channelOf(first),
      notes,
    })),
    unreadable: all.unreadable.slice(0, MOST_UNREADABLE),
    unreadable_total: all.unreadable.length,
  };
}

/** Returns the notes that have the words, best first; all, newest first, without words. */
async function found(
  context: Context,
  all: readonly StoredMemory[],
  words: string | undefined,
): Promise<readonly StoredMemory[]> {
  if (words === undefined) return all;
  const scores = await scoresOf(context, words);
  return all
    .flatMap((one) => {
      const score = scores(one);
      return score === undefined ? [] : [{ one, score }];
    })
    .sort((a, b) => b.score - a.score)
    .map(({ one }) => one);
}

/** Returns the part of each of some notes that has the words, by file name. */
async function excerptsOf(
  context: Context,
  notes: readonly StoredMemory[],
  words: string,
): Promise<Map<string, string>> {
  const wanted = new Set(notes.map(({ file }) => file));
  const excerpts = new Map<string, string>();
  for await (const { file, parsed } of memoryFiles(context, (name) => wanted.has(name)))
    if (parsed.ok) excerpts.set(file, excerptOf(parsed.value.body, words, EXCERPT_BYTES).text);
  return excerpts;
}

/** Returns the scopes that have notes, each with one of them, those with most first. */
function scopesOf(all: readonly StoredMemory[]): { first: StoredMemory; notes: number }[] {
  const scopes = new Map<string, { first: StoredMemory; notes: number }>();
  for (const one of all) {
    const known = scopes.get(one.memory.scope);
    if (known === undefined) scopes.set(one.memory.scope, { first: one, notes: 1 });
    else known.notes++;
  }
  return [...scopes.values()].sort((a, b) => b.notes - a.notes).slice(0, MOST_SCOPES);
}

/** Determines the state of each note. */
function statesOf({ memories }: Memories): (one: StoredMemory) => WebNote['state'] {
  const forgetting = new Set(
    memories.flatMap(({ file, memory }) => (memory.change === 'forget' ? [file] : [])),
  );
  return (one) => {
    if (one.memory.change === 'forget') return 'forgets';
    if (isInForce(one)) return 'in_force';
    return forgetting.has(one.superseded_by ?? '') ? 'forgotten' : 'replaced';
  };
}

/**
 * Returns one note with its text and its history.
 *
 * @param given its file name, a unique hex suffix or its name
 * @throws CrosstalkError as `memory show` does
 */
export async function notePage(
  context: Context,
  kept: KeptMemories,
  given: string,
): Promise<WebNoteWhole> {
  const all = await kept.get(context);
  const note = await shownOf(context, all, given);
  const { entries, more } = await logOf(context, all, { memory: note.file, limit: MOST_CHANGES });
  const stateOf = statesOf(all);
  return {
    ...memoryJson(note),
    state: stateOf(note),
    body: note.memory.body,
    covers: note.memory.covers ?? [],
    log: entries.map((entry) => changeOf(entry, stateOf)),
    log_more: more,
  };
}

/** Returns who changed the notes, newest first. */
export async function notesLog(
  context: Context,
  kept: KeptMemories,
  limit: number,
): Promise<WebNoteLog> {
  const all = await kept.get(context);
  const { entries, more } = await logOf(context, all, { limit });
  const stateOf = statesOf(all);
  return { changes: entries.map((entry) => changeOf(entry, stateOf)), more };
}

function changeOf(
  entry: LoggedMemory,
  stateOf: (one: StoredMemory) => WebNote['state'],
): WebNoteChange {
  return { ...loggedMemoryJson(entry), state: stateOf(entry) };
}
