import { parseTree } from '../transport/objects/tree-object.ts';
import type { Transport } from '../transport/transport.ts';
import { Cache } from './cache.ts';

/** Maximum bytes of folders whose names are cached. */
const KEPT_BYTES = 4 * 1024 * 1024;
const PLAIN = '100';

/**
 * A finder of paths that are not files of their own: symlinks, whose content git returns like that of a
 * file when it is requested by path, and submodules. Neither is ever read as a message or a channel
 * (protocol.md §2), however it is found.
 */
export class OddFiles {
  readonly #transport: Transport;
  /** Names in a folder, by the id of the folder. */
  readonly #kept = new Cache<ReadonlySet<string>>(KEPT_BYTES);

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Selects the paths at which there is a symlink or a submodule at a commit. */
  async among(commit: string, paths: readonly string[]): Promise<ReadonlySet<string>> {
    const odd = new Set<string>();
    const byFolder = new Map<string, string[]>();
    for (const path of paths) {
      const folder = path.slice(0, path.lastIndexOf('/'));
      const list = byFolder.get(folder);
      if (list === undefined) byFolder.set(folder, [path]);
      else list.push(path);
    }
    for (const [folder, inside] of byFolder) {
      const names = await this.#oddIn(commit, folder, inside);
      for (const path of inside) if (names.has(path.slice(folder.length + 1))) odd.add(path);
    }
    return odd;
  }

  async #oddIn(
    commit: string,
    folder: string,
    paths: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const object = await this.#transport.objects.read(`${commit}:${folder}`);
    if (object?.type !== 'tree') return new Set();
    const { oid, content } = object;
    if (content === undefined) {
      const entries = await this.#transport.list(commit, paths);
      const odd = entries.filter(({ mode }) => !mode.startsWith(PLAIN));
      return new Set(odd.map(({ path }) => path.slice(folder.length + 1)));
    }
    const known = this.#kept.get(oid);
    if (known !== undefined) return known;
    const odd = [...parseTree(content, oid.length / 2)].filter(
      ([, { mode }]) => !mode.startsWith(PLAIN),
    );
    const names = new Set(odd.map(([name]) => name));
    return this.#kept.keep(oid, names, names.size * 64);
  }
}
