import type { DispatcherApp } from '../../bus/app.ts';
import { messageFile } from '../../protocol/layout.ts';
import type { Scan } from './scan.ts';

/** Messages under this machine's alias that this machine did not write. */
export interface SharedAlias {
  alias: string;
  count: number;
  /** The path of the newest of them. */
  newest: string;
}

/**
 * Detects messages under the alias of this machine of which its state has no record: another machine answers
 * under it (a copy of this one with its state, or one clone with two state directories; both answer everything
 * twice), or the state was put back from a backup. Anybody who can push can also write such a message, so it
 * is only reported.
 */
export class SharedAliasCheck {
  readonly #app: Pick<DispatcherApp, 'written' | 'settled' | 'log'>;
  /** Several scans may find the same message, each from another cursor. */
  readonly #paths = new Set<string>();
  #found: SharedAlias | undefined;

  constructor(app: Pick<DispatcherApp, 'written' | 'settled' | 'log'>) {
    this.#app = app;
  }

  /** Finding since the start; undefined if there is none. */
  get found(): SharedAlias | undefined {
    return this.#found;
  }

  /** Examines the messages that actors of this host appear to have written. */
  async look(alias: string, { own }: Scan): Promise<void> {
    const places = [...own].flatMap(([channel, messages]) =>
      messages.map(({ relPath }) => ({ channel, relPath, path: messageFile(channel, relPath) })),
    );
    const { written, settled, log } = this.#app;
    const ours = await written.look(places.map(({ path }) => path));
    const unknown = places.filter(({ path }) => !ours.has(path));
    const back = await settled.back(unknown);
    const foreign = unknown.filter((one) => !back.has(one) && !this.#paths.has(one.path));
    const newest = foreign.at(-1)?.path;
    if (newest === undefined) return;
    for (const { path } of foreign) this.#paths.add(path);
    this.#found = { alias, count: this.#paths.size, newest };
    log('alias_shared', { ...this.#found });
  }
}
