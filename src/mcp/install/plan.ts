import { readFile, realpath, stat } from 'node:fs/promises';
import { CrosstalkError, hasCode, reasonOf } from '../../errors.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { shown } from '../../protocol/text/result.ts';
import {
  CLIENTS,
  withoutEntry,
  type Client,
  type ServerCommand,
  type SettingsPlaces,
  type Scope,
} from './clients.ts';
import { parseJsonc } from '../../protocol/text/jsonc.ts';

/** The change that would be written, in a form that can be shown first. */
export interface SettingsPlan {
  client: Client;
  scope: Scope;
  /** The path of the settings file. */
  file: string;
  /** Undefined if the file does not exist yet. */
  before: string | undefined;
  after: string;
  /** In the format of `diff -u`; empty when everything is already set. */
  diff: string;
}

/**
 * Returns the client with this name.
 *
 * @param option the one that names it, for the error
 * @throws CrosstalkError `usage`, listing all names
 */
export function clientOf(name: string, option: '--install' | '--uninstall'): Client {
  const found = CLIENTS.find((client) => client.name === name);
  if (found !== undefined) return found;
  const names = CLIENTS.map((client) => client.name);
  throw new CrosstalkError(
    'usage',
    `${option} is ${shown(name)}, expected one of ${names.join(', ')}${didYouMean(name, names)}; for any other client see docs/mcp.md`,
  );
}

/**
 * Reads a client's settings and determines how they change. Nothing is written.
 *
 * @param launch how the server is started, or that its entry is removed
 * @throws CrosstalkError `invalid` and `refused` for settings that cannot be read or edited
 */
export async function planSettings(
  client: Client,
  places: SettingsPlaces,
  launch: ServerCommand | 'removed',
  scope: Scope = client.scope,
): Promise<SettingsPlan> {
  const files = client.files(scope, places);
  const contents = await Promise.all(files.map(contentOf));
  const isMeant = (content: string | undefined): boolean =>
    content !== undefined && (launch !== 'removed' || isChangedBy(client, content));
  const index = Math.max(0, contents.findIndex(isMeant));
  const [file = '', before] = [files[index], contents[index]];
  if (launch === 'removed' && before === undefined)
    return { client, scope, file, before, after: '', diff: '' };
  const edited = (text: string): string => {
    try {
      if (client.isStrict === true) assertStrict(client, text);
      return launch === 'removed' ? withoutEntry(client, text) : client.edit(text, launch);
    } catch (error) {
      if (!(error instanceof CrosstalkError)) throw error;
      throw new CrosstalkError(
        error.code,
        `${file} cannot be edited, ${error.message}; nothing was written: fix it, or add the server by hand (docs/mcp.md)`,
        { cause: error },
      );
    }
  };
  const after = edited(before ?? '');
  // If a second edit would change something, the first one was not correct.
  if (edited(after) !== after)
    throw new CrosstalkError('internal', `${file} cannot be edited safely; nothing was written`);
  return { client, scope, file, before, after, diff: diffOf(before ?? '', after) };
}

/** Whether our entry is in a text; a text that cannot be edited is in question too. */
function isChangedBy(client: Client, content: string): boolean {
  try {
    return withoutEntry(client, content) !== content;
  } catch {
    return true;
  }
}

/** @throws CrosstalkError `invalid` for settings that the client itself could not read */
function assertStrict({ title }: Client, text: string): void {
  if (parseJsonc(text) === undefined) return;
  try {
    JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (error) {
    throw new CrosstalkError(
      'invalid',
      `${title} reads no comments and no trailing commas: ${reasonOf(error)}`,
      { cause: error },
    );
  }
}

/** @throws CrosstalkError `invalid` for a file that is not text in UTF-8 */
async function contentOf(file: string): Promise<string | undefined> {
  try {
    const path = await realpath(file);
    const found = await stat(path);
    // A named pipe or a device would be read without end.
    if (!found.isFile() && !found.isDirectory()) throw new Error('it is no plain file');
    const bytes = await readFile(path);
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new CrosstalkError(
      'invalid',
      `${file} cannot be read: ${reasonOf(error)}; nothing was written: fix it, or move it away`,
      { cause: error },
    );
  }
}

const CONTEXT = 3;

/**
 * Returns the difference of two texts in the format of `diff -u`: one piece from the first line that differs to the
 * last one, with three lines around it.
 *
 * @returns an empty text when nothing changes
 */
export function diffOf(before: string, after: string): string {
  if (before === after) return '';
  const [old, fresh] = [linesOf(before), linesOf(after)];
  let top = 0;
  while (top < old.length && top < fresh.length && old[top] === fresh[top]) top++;
  let bottom = 0;
  const most = Math.min(old.length, fresh.length) - top;
  while (bottom < most && old.at(-1 - bottom) === fresh.at(-1 - bottom)) bottom++;
  const from = Math.max(0, top - CONTEXT);
  const lead = old.slice(from, top);
  const gone = old.slice(top, old.length - bottom);
  const come = fresh.slice(top, fresh.length - bottom);
  const trail = old.slice(old.length - bottom).slice(0, CONTEXT);
  const around = lead.length + trail.length;
  return [
    `@@ -${place(from, around + gone.length)} +${place(from, around + come.length)} @@`,
    ...lead.map((line) => ` ${line}`),
    ...gone.map((line) => `-${line}`),
    ...come.map((line) => `+${line}`),
    ...trail.map((line) => ` ${line}`),
  ].join('\n');
}

function place(from: number, count: number): string {
  return `${String(count === 0 ? from : from + 1)},${String(count)}`;
}

function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
