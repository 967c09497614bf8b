import { join } from 'node:path';
import { isRecord, readJson, writeDurably } from '../files.ts';

/** Up to where a machine has looked for answers of other hosts. Stored under these names. */
export interface Looked {
  /** The commit. */
  until: string;
  /** The subscriptions for which it was done. */
  names: string[];
}

const FILE = 'subscriptions.json';

/** What this machine remembers of the subscriptions that it fires for other hosts. */
export class SubscriptionRecord {
  readonly #path: string;

  /** @param folder the state directory */
  constructor(folder: string) {
    this.#path = join(folder, FILE);
  }

  /** Undefined where nothing is known; a file that is damaged counts as none. */
  async load(): Promise<Looked | undefined> {
    const { value } = (await readJson(this.#path)) ?? {};
    if (!isRecord(value)) return undefined;
    const { until, names } = value;
    const isList = Array.isArray(names) && names.every((name) => typeof name === 'string');
    return typeof until === 'string' && isList ? { until, names } : undefined;
  }

  save(looked: Looked): Promise<void> {
    return writeDurably(this.#path, `${JSON.stringify(looked)}\n`);
  }
}
