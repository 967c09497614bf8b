import { constants } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { readWhole } from '../../plain-file.ts';
import { filesIn, HIGHEST_BYTES, type AttachedFile } from '../../protocol/attached.ts';
import { sha256Of } from '../../state/side-files.ts';
import { droppedName } from '../../state/drop-folder.ts';
import type { Context } from '../context.ts';
import {
  filesNearby,
  filesOfMessage,
  folderFor,
  putFile,
  type PutFile,
  type PutFiles,
} from '../reading/message-files.ts';
import { shownMessage } from '../reading/read.ts';
import type { Surroundings } from '../locate.ts';
import { askDispatcher } from './in-run.ts';
import type { Marks } from './marks.ts';

/** What the dispatcher says of the files of a message that it has put into the drop folder of a run. */
interface Laid {
  relPath: string;
  files: readonly AttachedFile[];
  /** Why a file is not there, by its place in the list. */
  problems: Readonly<Record<string, string>>;
  /** As in {@link PutFiles}. */
  elsewhere: string[];
}

/**
 * Puts the files of a message where a run in a sandbox can take them, each verified. The dispatcher writes
 * to no path that a run names.
 *
 * @param gone aborted once nobody waits for them
 * @throws CrosstalkError as `shownMessage` does
 */
export async function laidFiles(
  context: Context,
  message: string,
  gone: AbortSignal,
  put: (sha256: string, bytes: Buffer) => Promise<void>,
): Promise<Laid> {
  const read = await shownMessage(context, message);
  const files = read.message.files ?? [];
  const problems: Record<string, string> = {};
  const laid = new Set<string>();
  for await (const taken of filesOfMessage(context, read)) {
    if (gone.aborted) break;
    const { sha256 } = taken.file;
    if (!taken.ok) problems[String(files.indexOf(taken.file))] = taken.problem;
    else if (!laid.has(sha256)) await put(sha256, taken.bytes);
    if (taken.ok) laid.add(sha256);
  }
  const elsewhere = files.length === 0 ? await filesNearby(context, read) : [];
  return { relPath: read.relPath, files, problems, elsewhere };
}

/**
 * Puts the files of a message into a folder, in a run in a sandbox: the dispatcher hands them over, and this
 * process verifies and writes them.
 *
 * @param dir the folder, made if it does not exist
 * @throws CrosstalkError `usage` for a folder that cannot be made, `timed_out` when no dispatcher answers,
 *   and whatever the dispatcher threw
 */
export async function takeLaidFiles(
  surroundings: Pick<Surroundings, 'agentMode' | 'cwd'> & { runDir: string },
  marks: Marks,
  { message, dir }: { message: string; dir: string },
  note: (line: string) => void,
): Promise<PutFiles> {
  const { runDir } = surroundings;
  const asked = await askDispatcher(runDir, { kind: 'files', ...marks, input: { message } }, note);
  if (asked === undefined)
    throw new CrosstalkError('timed_out', 'the dispatcher has not answered; try again');
  const { relPath, files: said, problems, elsewhere } = asked.result as Laid;
  const files = filesIn(said) ?? [];
  if (files.length === 0) return { files: [], elsewhere };
  const dropped = (sha256: string): string => join(runDir, 'drop', droppedName(marks.id, sha256));
  try {
    const { folder, names } = await folderFor(surroundings, { relPath, files, dir });
    const put: PutFile[] = [];
    try {
      for (const [index, file] of files.entries()) {
        const problem = problems[String(index)];
        const bytes = problem === undefined ? await taken(dropped(file.sha256), file) : undefined;
        if (bytes === undefined)
          put.push({ file, problem: problem ?? 'was not handed over; try again' });
        else put.push(await putFile(folder, names[index] ?? '', file, bytes));
      }
    } finally {
      await folder.close();
    }
    return { files: put, elsewhere: [] };
  } finally {
    for (const { sha256 } of files) await rm(dropped(sha256), { force: true });
  }
}

async function taken(path: string, { sha256, bytes }: AttachedFile): Promise<Buffer | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const { size } = await handle.stat();
    if (size !== bytes || size > HIGHEST_BYTES) return undefined;
    const whole = await readWhole(handle, size);
    return typeof whole !== 'string' && sha256Of(whole) === sha256 ? whole : undefined;
  } finally {
    await handle.close();
  }
}
