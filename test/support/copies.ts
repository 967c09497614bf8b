import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { git } from './git.ts';
import { putItem, recordIn } from './sealed.ts';

/*
 * A machine takes most of a second to make, and most tests want the same ones. The first test of a
 * run that wants one has it made by `init`; the others get a copy, in which the paths are theirs.
 */

/** Makes the machines of these names by `init` in an empty folder, in this order. */
type Make = (root: string, aliases: readonly string[]) => Promise<void>;

/** What a joining committed. */
interface Commit {
  message: string;
  files: Record<string, string>;
}

/** Is made anew in a copy, since its commits have other names. */
const OBJECTS = new Set(['objects', 'refs', 'logs', 'index', 'COMMIT_EDITMSG']);

/** Puts a machine beside those that joined a bus before, as `init` would have. */
export async function copyMachine(
  root: string,
  aliases: readonly string[],
  alias: string,
  make: Make,
): Promise<void> {
  const model = await modelOf([...aliases, alias], make);
  const from = readFileSync(join(model, 'root'), 'utf8');
  const hub = join(root, 'hub.git');
  const dir = join(root, alias);
  const { message, files } = JSON.parse(
    readFileSync(join(model, 'commit.json'), 'utf8').replaceAll(from, root),
  ) as Commit;
  commitTo(hub, files, { message });
  cpSync(join(model, 'git'), join(dir, '.git'), { recursive: true });
  cpSync(join(model, 'state'), `${dir}-state`, { recursive: true });
  for (const folder of [join(dir, '.git'), `${dir}-state`]) replaceIn(folder, from, root);
  cpSync(join(hub, 'objects'), join(dir, '.git/objects'), { recursive: true });
  const tip = readFileSync(join(hub, 'refs/heads/main'), 'utf8');
  for (const ref of ['refs/heads', 'refs/remotes/origin']) {
    mkdirSync(join(dir, '.git', ref), { recursive: true });
    writeFileSync(join(dir, '.git', ref, 'main'), tip);
  }
  git(dir, 'reset', '--quiet', '--hard');
}

/** Commits files to a branch of a bare repository, as a push does; a path without content goes. */
export function commitTo(
  hub: string,
  files: Record<string, string | Buffer | undefined>,
  { message = 'by hand', branch = 'main' } = {},
): void {
  const ref = `refs/heads/${branch}`;
  const there = existsSync(join(hub, ref)) || existsSync(join(hub, 'packed-refs'));
  const parts: (string | Buffer)[] = [
    `commit ${ref}\n`,
    `committer Somebody <somebody@example.com> ${String(Math.floor(Date.now() / 1000))} +0000\n`,
    ...data(message),
    there ? `from ${ref}^0\n` : '',
  ];
  for (const [path, content] of Object.entries(files)) {
    const quoted = `"${path.replace(/["\\\p{Cc}]/gu, octal)}"`;
    if (content === undefined) parts.push(`D ${quoted}\n`);
    else parts.push(`M 100644 inline ${quoted}\n`, ...data(content));
  }
  execFileSync('git', ['-C', hub, 'fast-import', '--quiet', '--date-format=raw-permissive'], {
    input: Buffer.concat(parts.map((part) => Buffer.from(part))),
  });
}

/** A character below 256 as git writes it within quotes. */
function octal(character: string): string {
  return `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`;
}

function data(content: string | Buffer): (string | Buffer)[] {
  return [`data ${String(Buffer.byteLength(content))}\n`, content, '\n'];
}

/** The folder of what a machine is copied from, made if this run of the tests has none yet. */
async function modelOf(aliases: readonly string[], make: Make): Promise<string> {
  const model = join(process.env['TEST_ROOM'] ?? tmpdir(), `machine-${aliases.join('-')}`);
  if (existsSync(model)) return model;
  const made = mkdtempSync(join(tmpdir(), 'model-'));
  await make(made, aliases);
  const parts = mkdtempSync(`${model}.`);
  const dir = join(made, aliases.at(-1) ?? '');
  cpSync(join(dir, '.git'), join(parts, 'git'), {
    recursive: true,
    filter: (path) => !OBJECTS.has(basename(path)) && !path.endsWith('.sample'),
  });
  cpSync(`${dir}-state`, join(parts, 'state'), { recursive: true });
  writeFileSync(join(parts, 'commit.json'), JSON.stringify(lastCommit(join(made, 'hub.git'))));
  writeFileSync(join(parts, 'root'), made);
  rmSync(made, { recursive: true });
  try {
    renameSync(parts, model);
  } catch {
    // Another test file had the same made meanwhile.
    rmSync(parts, { recursive: true });
  }
  return model;
}

function lastCommit(hub: string): Commit {
  const paths = git(hub, 'show', '--format=', '--name-only', '-z', 'main').split('\0');
  const files = paths.filter(Boolean).map((path) => [path, git(hub, 'show', `main:${path}`)]);
  return {
    message: git(hub, 'log', '-1', '--format=%B', 'main').trim(),
    files: Object.fromEntries(files) as Record<string, string>,
  };
}

/** Replaces a path in all files of a folder, and seals again those that were. */
function replaceIn(folder: string, from: string, to: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) replaceIn(path, from, to);
    else {
      const text = readFileSync(path, 'utf8');
      if (!text.includes(from)) continue;
      writeFileSync(path, text.replaceAll(from, to));
      if (text.includes('"seal":')) putItem(path, recordIn(path));
    }
  }
}
