import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { Seal } from '../../src/store/seal.ts';

/** What a file of the state holds, sealed or not. */
export function recordIn(path: string): Record<string, unknown> {
  if (!existsSync(path)) throw new Error(`there is no ${path}`);
  const record = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  delete record['seal'];
  return record;
}

/** Writes an item of a folder of the state as this machine does. */
export function putItem(path: string, item: object): void {
  const id = basename(path, '.json');
  writeFileSync(path, Seal.of(dirname(path)).close(id, item));
}
