import { watch, type FSWatcher } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { renewedLogin, type Login } from '../../agents/login.ts';
import { reasonOf } from '../../errors.ts';
import { plainFileAt, writeNewFile } from '../../plain-file.ts';
import { folderBelow, pathOf } from '../../state/place/below.ts';
import { isRecord, writeDurably, writeWhole } from '../../state/files.ts';

/** Bytes. */
const LONGEST = 256 * 1024;
/** A login is looked at so long after it was written, in milliseconds: a run may write without end. */
const SETTLING_MS = 500;

interface Loan {
  /** The folders of the run. */
  dir: string;
  login: Login;
  now: () => Date;
  /** Called with the reason where a login cannot be written. */
  failed: (reason: string) => void;
}

/**
 * Gives a run a copy of the operator's login. A renewal there comes back at once, and a renewal elsewhere gets to it:
 * the token that renewed a login before is often not valid any more.
 *
 * @param file the operator's, without symlinks
 */
export async function lendLogin(
  file: string,
  { dir, login: { file: path, renewal }, now, failed }: Loan,
): Promise<{ close: () => Promise<void> }> {
  const nothing = { close: () => Promise.resolve() };
  let lent = textAt(file);
  if (lent === undefined) return nothing;
  await writeNewFile(join(dir, path), Buffer.from(lent), 0o600);
  let given = jsonOf(lent);
  if (renewal === undefined || given === undefined) return nothing;

  async function settle(): Promise<void> {
    const folder = await folderBelow(dir, dirname(path).split('/'));
    if (folder === undefined || renewal === undefined || given === undefined) return;
    try {
      const mine = join(pathOf(folder), basename(path));
      const [theirs, written] = [textAt(file), textAt(mine)];
      const login = jsonOf(theirs);
      if (theirs === undefined || login === undefined || written === undefined) return;
      if (written === lent) {
        if (theirs === lent) return;
        await writeWhole(mine, theirs);
        [lent, given] = [theirs, login];
        return;
      }
      const copy = jsonOf(written);
      const renewed = copy && renewedLogin(renewal, { login, given, copy }, now().getTime());
      if (renewed === undefined) return;
      await writeDurably(file, `${JSON.stringify(renewed, undefined, 2)}\n`);
      [lent, given] = [written, renewed];
    } finally {
      await folder.close();
    }
  }
  let last = Promise.resolve();
  const again = (): Promise<void> =>
    (last = last.then(settle).catch((error: unknown) => {
      failed(reasonOf(error));
    }));
  let timer: NodeJS.Timeout | undefined;
  const watched = [file, join(dir, path)].flatMap((one): FSWatcher[] => {
    try {
      const watcher = watch(dirname(one), { persistent: false }, (_, name) => {
        if (name === basename(one)) timer ??= setTimeout(onTime, SETTLING_MS).unref();
      });
      return [watcher.on('error', () => undefined)];
    } catch {
      // A renewed login comes back when the run has ended.
      return [];
    }
  });
  function onTime(): void {
    timer = undefined;
    void again();
  }
  return {
    close: async () => {
      clearTimeout(timer);
      for (const watcher of watched) watcher.close();
      await again();
    },
  };
}

function textAt(path: string): string | undefined {
  const found = plainFileAt(path, LONGEST, { follow: false });
  return found.kind === 'text' ? found.text : undefined;
}

function jsonOf(text: string | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
