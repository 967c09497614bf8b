import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { takeFiles } from '../../bus/attached-files.ts';
import { passed } from '../../crash-points.ts';
import { reasonOf } from '../../errors.ts';
import { writeNewFile } from '../../plain-file.ts';
import { harmlessName, sizeInWords, type AttachedFile } from '../../protocol/attached.ts';
import type { Located } from '../../protocol/message.ts';
import type { BatchFiles, StagedFile } from '../../protocol/prompt/prompt-thread.ts';
import { moveWhole } from '../../state/sessions/agent-sessions.ts';
import type { Transport } from '../../transport/transport.ts';

/** Limits of the files of one run, whoever sent them: a batch may be of 3,000 messages. */
const MAX_STAGED = { files: 1000, bytes: 100 * 1024 * 1024 };

/** File of the batch, before it is staged. */
interface Wanted extends Omit<StagedFile, 'problem' | 'name'> {
  number: number;
}

/**
 * Stages the files of a batch in the directory of its run, read-only, each verified. One that cannot be staged is
 * reported with the reason, and does not hold up the run.
 *
 * @param at the commit at which the batch is read
 * @param runDir the directory of the run; the process of a session may reach it already
 */
export async function stageFiles(
  transport: Transport,
  at: string,
  batch: readonly Located[],
  runDir: string,
): Promise<BatchFiles | undefined> {
  const wanted = batch.flatMap(({ relPath, message: { files = [] } }) =>
    files.map((file) => ({ ref: relPath, file })),
  );
  const unreadable = batch
    .filter(({ message: { extra } }) => extra['files'] !== undefined)
    .map(({ relPath }) => relPath);
  if (wanted.length + unreadable.length === 0) return undefined;
  const numbered = wanted.map((one, index): Wanted => ({ ...one, number: index + 1 }));
  const { within, beyond } = limited(numbered);
  const waiting = new Map<AttachedFile, Wanted>(within.map((one) => [one.file, one]));
  const laid: (StagedFile & { number: number })[] = beyond.map((one) => ({
    ...one,
    problem: `is not here, because the files of these messages are more than ${String(MAX_STAGED.files)} or have more than ${sizeInWords(MAX_STAGED.bytes)}; get it with: crosstalk read ${one.ref} --files <dir>`,
  }));
  const files = within.map(({ file }) => file);
  let failure = 'could not be read';
  await moveWhole(runDir, ['files'], async (making) => {
    const folder = join(making, 'files');
    await mkdir(folder, { mode: 0o700 });
    try {
      for await (const taken of takeFiles(transport, at, files)) {
        const one = waiting.get(taken.file);
        if (one === undefined) continue;
        waiting.delete(taken.file);
        const name = harmlessName(one.number, one.file.name);
        const problem = taken.ok ? await stage(join(folder, name), taken.bytes) : taken.problem;
        laid.push({ ...one, ...(problem === undefined ? { name } : { problem }) });
      }
    } catch (error) {
      // Whatever somebody has pushed in place of the files, the message itself can be handled.
      failure = `could not be read: ${reasonOf(error)}`;
    }
  });
  for (const one of waiting.values()) laid.push({ ...one, problem: failure });
  passed('files_laid');
  return { dir: join(runDir, 'files'), unreadable, laid: laid.sort((a, b) => a.number - b.number) };
}

function limited(all: readonly Wanted[]): { within: Wanted[]; beyond: Wanted[] } {
  const [within, beyond]: [Wanted[], Wanted[]] = [[], []];
  let bytes = 0;
  for (const one of all) {
    const fits = within.length < MAX_STAGED.files && bytes + one.file.bytes <= MAX_STAGED.bytes;
    (fits ? within : beyond).push(one);
    if (fits) bytes += one.file.bytes;
  }
  return { within, beyond };
}

async function stage(path: string, bytes: Buffer): Promise<string | undefined> {
  try {
    await writeNewFile(path, bytes, 0o400);
    return undefined;
  } catch (error) {
    return `could not be laid here: ${reasonOf(error)}`;
  }
}
