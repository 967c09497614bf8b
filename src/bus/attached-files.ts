import { attachedPath } from '../protocol/layout.ts';
import { sizeInWords, type AttachedFile } from '../protocol/attached.ts';
import { sha256Of } from '../state/side-files.ts';
import type { FoundBlob, Transport } from '../transport/transport.ts';

/** An attached file with its verified bytes, or the reason why they are not available. */
export type TakenFile = { file: AttachedFile } & (
  { ok: true; bytes: Buffer } | { ok: false; problem: string }
);

/**
 * Reads attached files at a commit, one after the other in the order given, and verifies each: its size
 * before any of it is read, and then its SHA-256. No claim of a message or a tree is trusted.
 */
export async function* takeFiles(
  transport: Transport,
  commit: string,
  files: readonly AttachedFile[],
): AsyncGenerator<TakenFile> {
  const limits = transport.fileLimits;
  const small = files.filter(({ bytes }) => bytes <= limits.file);
  // One file may have claims of different sizes: at most one of them is true.
  const wanted = new Map(small.map(({ sha256, bytes }) => [attachedPath(sha256), bytes]));
  const problems = new Map<string, string>();
  const waiting = [...files];
  const read = transport.blobs(commit, wanted);
  for await (const found of read) {
    const problem = problemOf(found, wanted.get(found.path) ?? 0);
    if (problem !== undefined) problems.set(found.path, problem);
    else if (found.kind === 'here')
      for (const file of takeOut(waiting, found.path)) yield verified(file, found.bytes);
  }
  for (const file of waiting) {
    const problem =
      file.bytes > limits.file
        ? `is said to have ${String(file.bytes)} bytes, more than the ${sizeInWords(limits.file)} that this clone takes (crosstalk.maxFileBytes)`
        : (problems.get(attachedPath(file.sha256)) ?? 'could not be read');
    yield { file, ok: false, problem };
  }
}

function takeOut(waiting: AttachedFile[], path: string): AttachedFile[] {
  const found = waiting.filter(({ sha256 }) => attachedPath(sha256) === path);
  for (const file of found) waiting.splice(waiting.indexOf(file), 1);
  return found;
}

function verified(file: AttachedFile, bytes: Buffer): TakenFile {
  if (bytes.length !== file.bytes)
    return { file, ok: false, problem: sizeProblem(bytes.length, file.bytes) };
  return sha256Of(bytes) === file.sha256
    ? { file, ok: true, bytes }
    : {
        file,
        ok: false,
        problem: 'was altered: its SHA-256 is not the one that the message names',
      };
}

function problemOf(found: FoundBlob, expected: number): string | undefined {
  switch (found.kind) {
    case 'here':
      return undefined;
    case 'other_size':
      return sizeProblem(found.size, expected);
    case 'absent':
      return 'is not on the bus: it was never pushed, or somebody removed it';
    case 'missing':
      return 'is not in this clone, and could not be fetched';
    case 'no_file':
      return 'is no file on the bus: a symlink, a submodule or a folder stands in its place';
  }
}

function sizeProblem(size: number, expected: number): string {
  return `was altered: it has ${String(size)} bytes, and the message says ${String(expected)}`;
}
