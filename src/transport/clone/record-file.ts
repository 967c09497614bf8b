import { open, readFile, rename } from 'node:fs/promises';
import type { Recording } from './settings.ts';

/** The file that keeps what was recorded of a clone, and by which it counts as written by this machine. */
export interface RecordFile {
  record: string;
  seal: {
    close: (id: string, value: object) => string;
    open: (id: string, text: string) => string | undefined;
  };
}

/** The recorded settings in a file; undefined without one that this machine wrote. */
export async function loadRecord({ record, seal }: RecordFile): Promise<Recording | undefined> {
  try {
    const text = seal.open('', await readFile(record, 'utf8'));
    const value = JSON.parse(text ?? '') as Recording;
    return Array.isArray(value.recorded) && Array.isArray(value.seen.live) ? value : undefined;
  } catch {
    return undefined;
  }
}

let serial = 0;

/** Complete at any moment and safe on disk: a record that is lost is not made anew without asking. */
export async function saveRecord(
  { record: path, seal }: RecordFile,
  value: Recording,
): Promise<void> {
  const temporary = `${path}.${String(process.pid)}.${String(serial++)}.tmp`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(seal.close('', value));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
