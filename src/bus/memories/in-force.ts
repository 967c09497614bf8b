import { actorScope, memorySuffix, type Memory } from '../../protocol/files/memory.ts';
import { supersededBy } from '../../protocol/files/memory-links.ts';
import type { Located } from '../../protocol/message.ts';
import { placeOfRef } from '../../protocol/reference.ts';
import type { NoteInPrompt } from '../../protocol/text/notes-prompt.ts';
import type { ArchiveInPrompt } from '../../protocol/prompt/prompt-thread.ts';
import type { Transport } from '../../transport/transport.ts';
import { contentsOf, filesOfMemories } from './files.ts';

/** The notes in force at a commit, newest first by file name; files that cannot be read are none. */
async function notesAt(
  transport: Transport,
  tip: string,
): Promise<{ file: string; memory: Memory }[]> {
  const found = new Map<string, Memory>();
  const entries = await filesOfMemories(transport, tip);
  if (entries.length === 0) return [];
  for await (const { file, parsed } of contentsOf(transport, entries))
    if (parsed.ok) found.set(file, parsed.value);
  const by = supersededBy(found);
  return [...found]
    .filter(([file, { change }]) => !by.has(file) && change !== 'forget')
    .sort(([a], [b]) => (a > b ? -1 : 1))
    .map(([file, memory]) => ({ file, memory }));
}

/**
 * The notes that a prompt names: those for the actor alone, then those for its channel, then those for all, the newest
 * first. Sums of threads are not among them: they stand where a thread is cut.
 */
export async function notesForPrompt(
  transport: Transport,
  { tip, actor, channel }: { tip: string; actor: string; channel: string },
): Promise<NoteInPrompt[]> {
  const notes = (await notesAt(transport, tip)).filter(({ memory }) => memory.kind !== 'archive');
  const scopes = [
    [actorScope(actor), 'you'],
    [channel, 'this channel'],
    ['global', 'all'],
  ] as const;
  return scopes.flatMap(([of, scope]) =>
    notes
      .filter(({ memory }) => memory.scope === of)
      .map(({ file, memory: { kind, name, subject, timestamp } }) => ({
        suffix: memorySuffix(file),
        day: timestamp.slice(0, 10),
        ...(kind !== undefined && { kind }),
        ...(name !== undefined && { name }),
        scope,
        subject,
      })),
  );
}

/** The most notes that are compared for what was left out of one thread. */
const MAX_ARCHIVES = 100;

/**
 * The notes that sum up some of these messages.
 *
 * @param messages by their names in the channel `home`
 */
export async function archivesOf(
  transport: Transport,
  { tip, home }: { tip: string; home: string },
  messages: readonly Located[],
): Promise<ArchiveInPrompt[]> {
  const wanted = new Map(
    messages.map(({ relPath: ref }) => {
      const { channel, relPath } = placeOfRef(home, ref);
      return [`${channel}/${relPath}`, ref];
    }),
  );
  const found: ArchiveInPrompt[] = [];
  for (const { file, memory } of await notesAt(transport, tip)) {
    if (memory.kind !== 'archive') continue;
    const covers = new Set((memory.covers ?? []).flatMap((origin) => wanted.get(origin) ?? []));
    if (covers.size === 0) continue;
    found.push({ suffix: memorySuffix(file), from: memory.from, covers, body: memory.body });
    if (found.length === MAX_ARCHIVES) break;
  }
  return found;
}
