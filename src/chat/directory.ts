import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { tipOf, type Context } from '../actions/context.ts';
import { listMemories, searchMemories } from '../actions/memory/list.ts';
import {
  assertFiles,
  attachmentOf,
  type Attachment,
  bytesOnDisk,
} from '../actions/sending/attached.ts';
import { listActors } from '../actions/setup/actors.ts';
import { lastHeard } from '../actions/lookup/heard.ts';
import { HIGHEST_BYTES } from '../protocol/attached.ts';
import { memorySuffix } from '../protocol/files/memory.ts';
import { oneLine } from './clean.ts';
import { wroteWords } from '../present/hosts.ts';

/** The most notes that are shown. */
const NOTES = 10;
/** The lines shown of a note. */
const LINES = 3;

/** Returns the actors one can write to, with the hosts that serve each and when these last wrote something. */
export async function actorLines(context: Context): Promise<string[]> {
  const actors = await listActors(context);
  if (actors.length === 0) return ['no actors; add one with: crosstalk actor add'];
  const hosts = new Set(actors.flatMap((actor) => actor.hosts.map(({ alias }) => alias)));
  const heard = await lastHeard(context, await tipOf(context), hosts);
  return actors.flatMap(({ name, description, hosts: serving }) => [
    `${name}${description === '' ? '' : `  ${oneLine(description)}`}`,
    ...(serving.length === 0 ? ['  no host serves it; messages wait until one does'] : []),
    ...serving.map(({ alias }) => {
      const said = wroteWords(heard.get(alias) ?? null, context.now().getTime());
      return `  ${name}@${alias}  ${said}`;
    }),
  ]);
}

/** Returns the shared notes with some words, best first; without words the newest ones. */
export async function memoryLines(context: Context, words: string): Promise<string[]> {
  const found =
    words === ''
      ? (await listMemories(context, { all: false })).map((one) => ({ ...one, excerpt: '' }))
      : await searchMemories(context, { words, all: false });
  if (found.length === 0) return [words === '' ? 'no shared notes yet' : 'nothing found'];
  return found.slice(0, NOTES).flatMap(({ file, memory, excerpt }) => [
    `${memorySuffix(file).slice(0, 8)}  ${oneLine(memory.subject)}  (${oneLine(memory.from)})`,
    ...excerpt
      .split('\n')
      .filter((line) => line.trim() !== '')
      .slice(0, LINES)
      .map((line) => `  ${oneLine(line)}`),
  ]);
}

/**
 * Reads a file that a message is to bring along, besides others that wait.
 *
 * @throws CrosstalkError `usage` for a file that could not be sent
 */
export async function attach(
  context: Context,
  given: string,
  waiting: readonly Attachment[],
): Promise<Attachment> {
  const file = given.startsWith('~/')
    ? join(context.env['HOME'] ?? homedir(), given.slice(2))
    : given;
  const left = waiting.reduce((sum, one) => sum - one.bytes.length, HIGHEST_BYTES);
  const bytes = await bytesOnDisk(context.cwd, file, { asked: '/attach', limit: left });
  const attachment = attachmentOf(basename(file), bytes);
  assertFiles(
    context,
    [...waiting, attachment].map((one) => one.file),
  );
  return attachment;
}
