import { MEMORIES } from '../../protocol/layout.ts';
import { tipOf, type Context } from '../context.ts';
import { queuedMemories, readMemories, type Memories } from './memories.ts';

/**
 * A cache of the memories known locally, without their texts, valid as long as nothing changes: a server
 * needs them repeatedly, and reading ten thousand takes seconds.
 */
export class KeptMemories {
  #kept: { key: string; memories: Promise<Memories> } | undefined;

  /** @param context that of the server, or a copy of it */
  async get(context: Context): Promise<Memories> {
    const key = await keyOf(context);
    if (this.#kept?.key === key) return this.#kept.memories;
    const made = { key, memories: readMemories(context, { bodies: false }) };
    this.#kept = made;
    made.memories.catch(() => {
      if (this.#kept === made) this.#kept = undefined;
    });
    return made.memories;
  }
}

/** Returns the cache key: the folder of the memories at the newest commit, and those in the outbox. */
async function keyOf(context: Context): Promise<string> {
  const [parent = ''] = MEMORIES.split('/');
  const folders = await context.transport.list(await tipOf(context), [parent]);
  const oid = folders.find(({ path }) => path === MEMORIES)?.oid ?? '';
  return [oid, ...(await queuedMemories(context)).keys()].join(' ');
}
