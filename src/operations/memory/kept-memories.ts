import { MEMORIES } from '../../protocol/layout.ts';
import { tipOf, type Context } from '../context.ts';
import { queuedMemories, readMemories, type Memories } from './memories.ts';

/**
 * The memories known locally, without their texts, kept as long as nothing changes: a server is asked for them
 * again and again, and reading ten thousand takes seconds.
 */
export class KeptMemories {
  #kept: { key: string; memories: Promise<Memories> } | undefined;

  /** @param context that of the server, in whatever copy */
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

/** The folder of the memories at the newest commit, and what waits in the outbox. */
async function keyOf(context: Context): Promise<string> {
  const [parent = ''] = MEMORIES.split('/');
  const folders = await context.transport.list(await tipOf(context), [parent]);
  const oid = folders.find(({ path }) => path === MEMORIES)?.oid ?? '';
  return [oid, ...(await queuedMemories(context)).keys()].join(' ');
}
