import type { Commit } from '../../protocol/commit.ts';
import type { Failure } from '../git/failure.ts';
import { writeCrowded, type Crowded } from './crowded.ts';
import { writeLoose } from './loose.ts';
import type { Objects } from '../objects/objects.ts';
import { BRANCH_OF_PROJECT } from '../clone/handle.ts';
import type { Repository } from '../clone/handle.ts';

let serial = 0;

/** Asks the builders of forges to pass a commit over: they look at every branch of a project. */
function withoutCi(commit: Commit): Commit {
  return { ...commit, subject: `[skip ci] ${commit.subject}` };
}

/** More files than this are left to fast-import, which packs what it writes. */
const MAX_LOOSE_FILES = 4;

/**
 * Writes commits one on another, the first on `tip`, without index or checkout.
 *
 * @returns the last one's id
 */
export async function build(
  repository: Repository,
  objects: Objects,
  tip: string | undefined,
  given: readonly Commit[],
): Promise<{ ok: true; oid: string } | { ok: false; failure: Failure }> {
  const { objectsDir, committer, branch } = repository;
  const commits = branch === BRANCH_OF_PROJECT ? given.map(withoutCi) : given;
  const files = commits.reduce(
    (sum, { files, blobs = [] }) => sum + files.length + blobs.length,
    0,
  );
  const few = files <= MAX_LOOSE_FILES && commits.every(({ clear }) => clear === undefined);
  if (few && tip !== undefined && objectsDir !== undefined) {
    // What this cannot do, git does, or says why it cannot be done.
    const oid = await writeLoose(objectsDir, objects, tip, commits, committer).catch(
      () => undefined,
    );
    if (oid !== undefined) return { ok: true, oid };
  }
  const crowded =
    tip === undefined || objectsDir === undefined
      ? undefined
      : await writeCrowded(objectsDir, objects, tip, commits).catch(() => undefined);
  const imported = (finished?: readonly Crowded[]) => {
    const commands = (ref: string): string =>
      commits
        .map((commit, index) =>
          importCommand(ref, { commit, index, crowded: finished?.[index] }, committer, tip),
        )
        .join('');
    return fastImport(repository, commands, commits.length);
  };
  const built = await imported(crowded);
  // A tree that somebody removed in between is no reason to fail.
  return built.ok || crowded === undefined ? built : imported();
}

/**
 * Writes commits by `fast-import`, which reads of the trees what lies on the way to what it changes.
 *
 * @param commands its commands, of which each commit goes to `ref` and has a mark, counted from 1
 * @param last the mark of the last one
 * @param timeout milliseconds, where it may take longer than git commands do
 * @returns the last one's id
 */
export async function fastImport(
  repository: Repository,
  commands: (ref: string) => string,
  last: number,
  timeout?: number,
): Promise<{ ok: true; oid: string } | { ok: false; failure: Failure }> {
  // fast-import wants a ref to build on. The ref belongs to this attempt alone, so no lock of a
  // dead process is in its way, and it is reset before it is written.
  const ref = `refs/crosstalk/staging-${String(process.pid)}-${String(serial++)}`;
  // What git calls a ref's value when there is none.
  const none = '0'.repeat(repository.isSha256 === true ? 64 : 40);
  const end = `get-mark :${String(last)}\nreset ${ref}\nfrom ${none}\n\ndone\n`;
  const outcome = await repository.git.run(
    ['fast-import', '--quiet', '--force', '--date-format=raw'],
    {
      input: `feature done\n${commands(ref)}${end}`,
      ...(timeout !== undefined && { timeout }),
    },
  );
  return outcome.ok
    ? { ok: true, oid: outcome.stdout.toString('utf8').trim() }
    : { ok: false, failure: outcome.failure };
}

function importCommand(
  ref: string,
  { commit, index, crowded }: { commit: Commit; index: number; crowded: Crowded | undefined },
  committer: { name: string; email: string },
  tip: string | undefined,
): string {
  const time = `${String(Math.floor(Date.parse(commit.at) / 1000))} +0000`;
  const parent = index > 0 ? `from :${String(index)}\n` : tip === undefined ? '' : `from ${tip}\n`;
  const blobs = crowded && commit.files.map(({ content }) => `blob\n${data(content)}`);
  return [
    ...(blobs ?? []),
    `commit ${ref}\nmark :${String(index + 1)}\n`,
    `author ${commit.author.name} <${commit.author.email}> ${time}\n`,
    `committer ${committer.name} <${committer.email}> ${time}\n`,
    data(`${commit.subject}\n`),
    parent,
    commit.clear === undefined ? '' : `D ${commit.clear}\n`,
    ...(commit.blobs ?? []).map(({ path, oid = '' }) => `M 100644 ${oid} ${path}\n`),
    ...(crowded
      ? [`M 040000 ${crowded.tree} ${crowded.folder}\n`]
      : commit.files.map(({ path, content }) => `M 100644 inline ${path}\n${data(content)}`)),
    '\n',
  ].join('');
}

/** Text as a command of `fast-import` takes it. */
export function data(text: string): string {
  return `data ${String(Buffer.byteLength(text))}\n${text}\n`;
}
