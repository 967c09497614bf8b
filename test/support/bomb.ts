import { execFileSync } from 'node:child_process';
import { git } from './git.ts';

/** An entry of a tree, in the form that `git mktree` reads. */
export interface Entry {
  mode: '100644' | '040000';
  oid: string;
  name: string;
}

function piped(dir: string, input: string | Buffer, ...args: string[]): string {
  return execFileSync('git', ['-C', dir, ...args], {
    input,
    maxBuffer: 512 * 1024 * 1024,
  })
    .toString()
    .trim();
}

export function blob(dir: string, content: string | Buffer): string {
  return piped(dir, content, 'hash-object', '-w', '--stdin');
}

export function tree(dir: string, entries: readonly Entry[]): string {
  const lines = entries.map(({ mode, oid, name }) => {
    return `${mode} ${mode === '040000' ? 'tree' : 'blob'} ${oid}\t${name}\0`;
  });
  return piped(dir, lines.join(''), 'mktree', '-z');
}

/**
 * `levels` nested folders, each contained `width` times in the one above: a kilobyte, and width **
 * levels paths.
 */
export function nested(dir: string, leaf: string, levels: number, width: number): string {
  let oid = leaf;
  for (let level = 0; level < levels; level++) {
    const names = Array.from({ length: width }, (_, n) => `n${String(n)}`);
    oid = tree(
      dir,
      names.map((name) => ({ mode: '040000', oid, name })),
    );
  }
  return oid;
}

/** Commits a tree with these entries at these paths to `main` of a bare repository. */
export function plant(dir: string, files: Readonly<Record<string, Omit<Entry, 'name'>>>): void {
  let root = git(dir, 'rev-parse', 'main^{tree}').trim();
  for (const [path, entry] of Object.entries(files))
    root = placed(dir, root, path.split('/'), entry);
  const commit = git(dir, 'commit-tree', '-p', 'main', '-m', 'by hand', root).trim();
  git(dir, 'update-ref', 'refs/heads/main', commit);
}

function placed(
  dir: string,
  folder: string | undefined,
  [name = '', ...rest]: readonly string[],
  entry: Omit<Entry, 'name'>,
): string {
  const listed = folder === undefined ? '' : git(dir, 'ls-tree', '-z', folder);
  const entries = listed.split('\0').flatMap((line): Entry[] => {
    const [, mode, oid = '', other = ''] = /^(\d+) \w+ (\w+)\t(.*)$/s.exec(line) ?? [];
    return other === '' ? [] : [{ mode: mode as Entry['mode'], oid, name: other }];
  });
  const inner = entries.find((one) => one.name === name && one.mode === '040000');
  const added: Entry =
    rest.length === 0
      ? { ...entry, name }
      : { mode: '040000', oid: placed(dir, inner?.oid, rest, entry), name };
  return tree(dir, [...entries.filter((one) => one.name !== name), added]);
}
