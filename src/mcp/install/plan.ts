import { readFile, realpath } from 'node:fs/promises';
import { CrosstalkError, hasCode, reasonOf } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import {
  CLIENTS,
  type Client,
  type ServerCommand,
  type SettingsPlaces,
  type Scope,
} from './clients.ts';
import { diffOf } from './diff.ts';

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
 * The client with this name.
 *
 * @throws CrosstalkError `usage`, listing all names
 */
export function clientOf(name: string): Client {
  const found = CLIENTS.find((client) => client.name === name);
  if (found !== undefined) return found;
  throw new CrosstalkError(
    'usage',
    `--install is ${shown(name)}, expected one of ${CLIENTS.map((client) => client.name).join(', ')}; for any other client see docs/mcp.md`,
  );
}

/**
 * Reads a client's settings and determines how they change. Nothing is written.
 *
 * @throws CrosstalkError `invalid` and `refused` for settings that cannot be read or edited
 */
export async function planSettings(
  client: Client,
  places: SettingsPlaces,
  launch: ServerCommand,
  scope: Scope = client.scope,
): Promise<SettingsPlan> {
  const files = client.files(scope, places);
  const contents = await Promise.all(files.map(contentOf));
  const index = Math.max(
    0,
    contents.findIndex((content) => content !== undefined),
  );
  const [file = '', before] = [files[index], contents[index]];
  const edited = (text: string): string => {
    try {
      return client.edit(text, launch);
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

/** @throws CrosstalkError `invalid` for a file that is not text in UTF-8 */
async function contentOf(file: string): Promise<string | undefined> {
  try {
    const bytes = await readFile(await realpath(file));
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
