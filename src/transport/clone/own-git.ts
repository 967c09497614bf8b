import { chmod, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../folder.ts';
import { accessOf, accessSettings, credentialsText, type Setting } from './access.ts';
import { readPlainFile } from '../../plain-file.ts';
import type { Clone } from './clone.ts';
import { listText } from './clone-file.ts';
import { movesSince } from './ref-log.ts';
import { OID, readRef } from './refs.ts';

/**
 * Settings of git for the bus that do not depend on the clone. The directory is bare: the calls that need
 * a work tree name one.
 */
const FIXED: readonly Setting[] = [
  ['core.bare', 'true'],
  // Nobody else may read what git writes here, whatever the umask is.
  ['core.sharedrepository', '0600'],
  ['core.hookspath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.untrackedcache', 'false'],
  ['core.logallrefupdates', 'true'],
  // Every arriving file is a plain one in the checkout, whatever its mode.
  ['core.filemode', 'false'],
  ['core.symlinks', 'false'],
  ['core.autocrlf', 'false'],
  ['core.attributesfile', '/dev/null'],
  // Git overwrites ignored files without a warning.
  ['core.excludesfile', '/dev/null'],
  // An operator may have a file of their own where the bus has one that is not shown: git would
  // otherwise remove it.
  ['sparse.expectfilesoutsideofpatterns', 'false'],
  ['protocol.ext.allow', 'never'],
  ['protocol.fd.allow', 'never'],
  ['submodule.recurse', 'false'],
  ['fetch.recursesubmodules', 'false'],
  ['push.recursesubmodules', 'no'],
];

/**
 * The end of our configuration, by which a complete file is recognised. It configures no branch to fetch:
 * a push would then move our tracking branch, even back; see `notePushed`.
 */
const LAST: Setting = ['remote.origin.tagopt', '--no-tags'];

/** Attributes that override every .gitattributes: no filter, no encoding, no change of line ends. */
const ATTRIBUTES = '* -text !eol !crlf -filter -ident -working-tree-encoding\n';

const MAX_OWN_FILE = 4 * 1024 * 1024;

/** The paths of our own git directory. */
export interface OwnGit {
  /** The git directory that git for the bus runs with. */
  gitDir: string;
  /** The file with the credentials of the remote's URL. */
  credentials: string;
}

/** Returns the own git directory in a folder, with the credentials that are stored there. */
export function ownGitAt(folder: string): OwnGit {
  return { gitDir: folder, credentials: credentialsIn(folder) };
}

/** Values of HEAD that git accepts. */
const HEAD = /^(ref: refs\/\S+|[0-9a-f]{40}([0-9a-f]{24})?)\n$/;
const CREDENTIALS = /^username=.*\npassword=.*\n$/;

/**
 * Whether the directory exists and is complete. After a power failure or on a full disk a file may
 * have lost its content, or its end.
 */
export async function isMade({ gitDir, credentials }: OwnGit): Promise<boolean> {
  const [head, config, attributes, secret] = await Promise.all([
    ownText(join(gitDir, 'HEAD')),
    ownText(join(gitDir, 'config')),
    ownText(join(gitDir, 'info', 'attributes')),
    ownText(credentials),
  ]);
  return (
    HEAD.test(head) &&
    config.startsWith('[core]\n') &&
    config.includes(configEntries(FIXED)) &&
    config.endsWith(configEntries([LAST])) &&
    !config.includes('\0') &&
    attributes === ATTRIBUTES &&
    (CREDENTIALS.test(secret) || !config.includes(`/credentials'; }; f"\n`))
  );
}

/** Reads a file of our own git directory; empty without one that may be read. */
async function ownText(path: string): Promise<string> {
  const found = await readPlainFile(path, MAX_OWN_FILE);
  return found.kind === 'text' ? found.text : '';
}

/**
 * Creates our own git directory, or rewrites its configuration. Objects stay in the clone; refs start as
 * in the clone.
 *
 * @param recorded the settings of the clone that are in force
 * @param branch the bus, once it is known
 */
export async function writeOwnGit(
  own: OwnGit,
  clone: Clone,
  recorded: readonly Setting[],
  branch = 'main',
): Promise<void> {
  const { gitDir } = own;
  for (const folder of ['refs/heads', 'info', 'objects'])
    await makeFolder(join(gitDir, folder), 0o700);
  await chmod(gitDir, 0o700);
  const settings = [...FIXED, ...(await forOwn(own, clone, recorded)), LAST];
  await replace(join(gitDir, 'info', 'attributes'), ATTRIBUTES);
  await replace(join(gitDir, 'config'), configText(settings, recorded));
  const head = join(gitDir, 'HEAD');
  if (!HEAD.test(await ownText(head))) await replace(head, headOn(branch));
  await seed(gitDir, clone, `refs/remotes/origin/${branch}`);
}

/** Sets our tracking branch to the clone's, when we have none. */
async function seed(gitDir: string, clone: Clone, ref: string): Promise<void> {
  const path = join(gitDir, ref);
  if ((await ownText(path)) !== '') return;
  const packed = await ownText(join(gitDir, 'packed-refs'));
  const oid = (await loggedTip(gitDir, ref)) ?? (await readRef(clone, ref).catch(() => undefined));
  if (oid === undefined || packed.includes(` ${ref}\n`)) return;
  await makeFolder(join(path, '..'), 0o700);
  await replace(path, `${oid}\n`);
}

/**
 * Repairs a ref of ours that names a missing object: it is set back to the last entry of its log, so that
 * the next fetch need not transfer everything, or removed when that object is missing too. HEAD is
 * written whenever it is needed.
 */
export async function mendRef(
  { gitDir, branch }: { gitDir: string; branch: string },
  name: string,
): Promise<void> {
  const path = join(gitDir, name);
  if (name === 'HEAD') return replace(path, headOn(branch));
  const oid = await loggedTip(gitDir, name);
  if (oid === undefined || (await ownText(path)).trim() === oid) await rm(path, { force: true });
  else await replace(path, `${oid}\n`);
}

function headOn(branch: string): string {
  return `ref: refs/heads/${branch}\n`;
}

/** Returns the last commit in the log of a ref of ours. */
async function loggedTip(gitDir: string, ref: string): Promise<string | undefined> {
  const { moves } = await movesSince(join(gitDir, 'logs', ref));
  return moves.findLast(({ to }) => OID.test(to) && !/^0+$/.test(to))?.to;
}

/**
 * Copies the boundary of a shallow clone's history from its git directory to ours, as both have to agree.
 * When git could not read that file, ours is unchanged.
 */
export async function followShallow({ gitDir }: OwnGit, { commonDir }: Clone): Promise<void> {
  const ours = join(gitDir, 'shallow');
  const [there, here] = await Promise.all([
    listText(join(commonDir, 'shallow')),
    readPlainFile(ours, MAX_OWN_FILE).then((own) => (own.kind === 'text' ? own.text : undefined)),
  ]);
  if (there === here) return;
  const lines = there?.split('\n') ?? [];
  if (!lines.every((line) => line === '' || OID.test(line))) return;
  if (there === undefined) await rm(ours, { force: true });
  else await replace(ours, there);
}

/** Returns the settings for our directory, without passwords and without paths that depend on the clone. */
async function forOwn(
  { credentials }: OwnGit,
  clone: Clone,
  recorded: readonly Setting[],
): Promise<Setting[]> {
  const settings: Setting[] = [];
  let secret: string | undefined;
  for (const [name, value] of recorded) {
    if (!/^remote\.origin\.(url|pushurl)$/.test(name)) {
      settings.push([name, value]);
      continue;
    }
    const access = accessOf(value, clone.dir);
    settings.push([name, access.url], ...accessSettings(access, credentials));
    const text = credentialsText(access);
    secret ??= text;
  }
  if (secret === undefined) await rm(credentials, { force: true });
  else await replace(credentials, secret);
  return settings;
}

/** Returns the text of a configuration file with these settings and nothing else. */
function configText(settings: readonly Setting[], recorded: readonly Setting[]): string {
  const needsExtensions = recorded.some(([name]) => name.startsWith('extensions.'));
  const version: Setting = ['core.repositoryformatversion', needsExtensions ? '1' : '0'];
  return configEntries([version, ...settings]);
}

/** Formats settings as the text of a configuration file. */
export function configEntries(settings: readonly Setting[]): string {
  return settings.map(entry).join('');
}

/** Returns the file with the credentials of a remote's URL, in a folder of ours. */
export function credentialsIn(folder: string): string {
  return join(folder, 'credentials');
}

function entry([name, value]: Setting): string {
  const first = name.indexOf('.');
  const last = name.lastIndexOf('.');
  const section = name.slice(0, first);
  const inner = first === last ? '' : ` ${quoted(name.slice(first + 1, last))}`;
  return `[${section}${inner}]\n\t${name.slice(last + 1)} = ${quoted(value)}\n`;
}

function quoted(text: string): string {
  const escaped = text
    .replace(/\0/g, '')
    .replace(/[\\"]/g, (letter) => `\\${letter}`)
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t');
  return `"${escaped}"`;
}

let serial = 0;

/**
 * Replaces a file so that it is complete at any moment, because another git may be reading it.
 *
 * @param options `safe`: the new file is on disk before it replaces the old one
 */
export async function replace(path: string, text: string, { safe = false } = {}): Promise<void> {
  const temporary = `${path}.${String(process.pid)}.${String(serial++)}.tmp`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(text);
    // Only Node from 20.10 on knows the option `flush`.
    if (safe) await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
