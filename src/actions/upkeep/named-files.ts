import type { Split } from '../../protocol/epoch.ts';
import type { Located } from '../../protocol/message.ts';

/** The attached files that the messages of a bus name; several messages may name the same file. */
export class NamedFiles {
  readonly #named: { channel: string; relPath: string; sha256s: string[] }[] = [];

  note(channel: string, messages: readonly Located[]): void {
    for (const { relPath, message } of messages) {
      const sha256s = (message.files ?? []).map(({ sha256 }) => sha256);
      if (sha256s.length > 0) this.#named.push({ channel, relPath, sha256s });
    }
  }

  /** Returns the files that only ended messages name, and no message that stays. */
  onlyIn(splits: ReadonlyMap<string, Split>): string[] {
    const ended = new Map([...splits].map(([id, split]) => [id, new Set(split.ended)]));
    const leaving = new Set<string>();
    const staying = new Set<string>();
    for (const { channel, relPath, sha256s } of this.#named) {
      const some = ended.get(channel)?.has(relPath) === true ? leaving : staying;
      for (const sha256 of sha256s) some.add(sha256);
    }
    return [...leaving].filter((sha256) => !staying.has(sha256));
  }
}
