import { randomUUID } from 'node:crypto';
import { appendFile, readdir, rename, rm, lstat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { passed } from '../../crash-points.ts';
import { CrosstalkError } from '../../errors.ts';
import { classify, type Failure } from '../git/failure.ts';
import { Git } from '../git/git.ts';
import { shown } from '../../protocol/text/result.ts';
import type { Clone } from '../clone/clone.ts';
import { configEntries } from '../clone/own-git.ts';
import { readRef, headOf } from '../clone/refs.ts';
import { startOf } from './source.ts';
import { ownGitOf, partsOf, type Tree } from './tree.ts';
import { accessOf, refusedRemote, type Setting } from '../clone/access.ts';
import { parseScoped, readClone, valueOf } from '../clone/settings.ts';

/** Push URL of a copy, which a failed `git push` shows: only the program moves branches of the original. */
const NO_PUSH = 'commits-here-are-fetched-after-the-run';
const HOUR_MS = 3_600_000;
/** Suffix of a copy's name until it is complete; an id of the attempt follows it. */
const MAKING = '.making';

/** Keeps git from running the operator's hooks while a copy is made. */
const NO_HOOKS = ['-c', 'core.hooksPath=/dev/null'];

/** The copy to be made. */
interface Making {
  /** The actor who works in it. */
  actor: string;
  /** Its future path; nothing is there yet. */
  dir: string;
  branch: string;
  /** A branch, a tag or a remote branch; by default the one checked out in the original. */
  from?: string | undefined;
}

/**
 * Makes a copy of a repository on a new branch, all of it or nothing.
 *
 * The objects are copied, not linked: whoever can write a linked file in the copy would change the
 * original. Borrowing them would let a `gc` in the original break the copy.
 *
 * @throws CrosstalkError `invalid` when there is no commit to start from, `git_failed` when git fails
 */
export async function makeTree(
  environment: NodeJS.ProcessEnv,
  source: Clone,
  { actor, dir, branch, from }: Making,
  signal: AbortSignal,
): Promise<Tree> {
  const start = await startOf(source, from);
  // The name is used once: a git that outlived the process that started it may still be working in the
  // folder of another attempt, and removes its files when it fails.
  const making = `${dir}${MAKING}${randomUUID()}`;
  await removeTree({ dir });
  try {
    const git = new Git(dirname(dir), environment);
    await copy(source, git, making, signal);
    const inside = git.elsewhere(making);
    const checkout = [...NO_HOOKS, ...['checkout', '--quiet', '--no-track', '-b', branch, start]];
    const { stderr } = await step(source, inside, checkout, signal);
    await checkWhole(source, inside, stderr, signal);
    const settings = await settingsAsIn(environment, source, inside, actor);
    await appendFile(join(making, '.git', 'config'), configEntries(settings));
    const base = (await readRef(await partsOf({ dir: making }), `refs/heads/${branch}`)) ?? start;
    passed('tree_cloned');
    await rename(making, dir);
    passed('tree_made');
    return { dir, branch, base };
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Copies the repository as files, which is fast and changes nothing in it. A concurrent `gc` may remove
 * files before they are copied, and git does not always notice: but `gc` then also adds and removes
 * packs, and in that case the objects are fetched from the repository instead.
 */
async function copy(source: Clone, git: Git, to: string, signal: AbortSignal): Promise<void> {
  const clone = (...how: string[]): string[] => [
    ...[...NO_HOOKS, 'clone', '--quiet', ...how, '--no-checkout', '--template='],
    ...['--config', `remote.origin.pushurl=${NO_PUSH}`],
    ...['--', source.dir, to],
  ];
  const before = await packsOf(source);
  const limits = { signal, timeout: HOUR_MS };
  const copied = await git.run(clone('--local', '--no-hardlinks', '--dissociate'), limits);
  if ((await packsOf(source)) === before) {
    if (!copied.ok) throw noCopy(source, git, copied.failure);
    return;
  }
  await rm(to, { recursive: true, force: true });
  await step(source, git, clone('--no-local'), signal);
}

async function packsOf({ objectsDir }: Clone): Promise<string> {
  const names = await readdir(join(objectsDir, 'pack')).catch(() => []);
  return names
    .filter((name) => name.endsWith('.pack'))
    .sort()
    .join(' ');
}

/**
 * Runs a step of making a copy.
 *
 * @throws CrosstalkError `git_failed`
 */
async function step(
  source: Clone,
  git: Git,
  args: readonly string[],
  signal: AbortSignal,
): Promise<{ stdout: Buffer; stderr: string }> {
  const outcome = await git.run(args, { signal, timeout: HOUR_MS });
  if (!outcome.ok) throw noCopy(source, git, outcome.failure);
  return outcome;
}

/** Builds the error, which names the repository, as nothing is left of the copy. */
function noCopy(source: Clone, git: Git, { kind, reason }: Failure): CrosstalkError {
  return new CrosstalkError(
    'git_failed',
    `no copy of the repository ${source.dir} can be made: ${reason || 'git gave no reason'}; ${whatToDo()}`,
    { data: { kind } },
  );

  function whatToDo(): string {
    if (kind === 'no_space') return `make room for it at ${dirname(git.dir)}`;
    if (reason.includes('dubious ownership'))
      return `if you trust whom it belongs to, allow git to use it with: git config --global --add safe.directory ${source.gitDir}`;
    return `check the repository with: git -C ${source.dir} fsck`;
  }
}

/** Messages of git about a file that it could not write completely. */
const NOT_WRITTEN = /^error: unable to (?:write|create|open) /m;

/**
 * Makes sure that all files are there. Git ends a checkout successfully although it could not write some,
 * because a partial clone does not have them or the disk is full. A run would treat them as deleted or
 * changed, and commit that.
 *
 * @param said git's output of the checkout
 */
async function checkWhole(
  source: Clone,
  inside: Git,
  said: string,
  signal: AbortSignal,
): Promise<void> {
  const listed = await step(source, inside, ['ls-files', '--deleted', '-z'], signal);
  const paths = listed.stdout.toString('utf8').split('\0').slice(0, -1);
  const [first] = paths;
  const { kind, reason } = classify(said);
  // Git does not print the reason, as it leaves the number of the error out.
  if (kind === 'no_space' || NOT_WRITTEN.test(said))
    throw noCopy(source, inside, { kind: 'no_space', reason });
  if (first === undefined) return;
  const others = paths.length === 1 ? '' : ` and ${String(paths.length - 1)} more`;
  const at = `git -C ${source.dir}`;
  throw new CrosstalkError(
    'git_failed',
    `no copy of the repository ${source.dir} can be made: the content of ${shown(first)}${others} is not there (${reason || 'git gave no reason'}); if it is a partial clone, complete it with: ${at} fetch --refetch --no-filter; otherwise check it with: ${at} fsck`,
  );
}

/** Removes a copy with everything that was kept for it. */
export async function removeTree({ dir }: Pick<Tree, 'dir'>): Promise<void> {
  const begun = `${basename(dir)}${MAKING}`;
  const names = await readdir(dirname(dir)).catch(() => []);
  const attempts = names.filter((name) => name.startsWith(begun));
  for (const path of [...attempts.map((name) => join(dirname(dir), name)), dir, ownGitOf({ dir })])
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
}

/** The domain of an address that nobody has. */
const NOBODY = 'crosstalk.local';

/**
 * Returns the settings with which a new copy commits, and finds its submodules, like the repository. No
 * other setting of it is copied: these hold a name or an address, and none of them is ever executed.
 *
 * @param inside git in the copy, before any run has worked there
 * @param actor who works in it: commits have its name when the repository would refuse to commit
 */
async function settingsAsIn(
  environment: NodeJS.ProcessEnv,
  source: Clone,
  inside: Git,
  actor: string,
): Promise<Setting[]> {
  const git = new Git(source.dir, environment);
  const [author, committer] = await Promise.all([
    identOf(git, source, 'AUTHOR'),
    identOf(git, source, 'COMMITTER'),
  ]);
  const known = author !== undefined && committer !== undefined;
  const who = known ? committer : { name: actor, email: `${actor}@${NOBODY}` };
  const isOther = known && (author.name !== who.name || author.email !== who.email);
  return [
    ...settings('user', who),
    ...(isOther ? settings('author', author) : []),
    // A signature would be the operator's, and the program that makes it may ask for a passphrase that
    // nobody can type.
    ...['commit.gpgsign', 'tag.gpgsign', 'tag.forcesignannotated'].map((name): Setting => [
      name,
      'false',
    ]),
    ...(await submoduleAddresses(git, source, inside)),
  ];
}

interface Ident {
  name: string;
  email: string;
}

function settings(section: string, { name, email }: Ident): Setting[] {
  return [
    [`${section}.name`, name],
    [`${section}.email`, email],
  ];
}

/**
 * Returns the identity that git would put into a commit in a repository; undefined when it would refuse
 * to commit. This executes nothing.
 */
async function identOf(
  git: Git,
  { gitDir }: Clone,
  role: 'AUTHOR' | 'COMMITTER',
): Promise<Ident | undefined> {
  const said = await git.run(['var', `GIT_${role}_IDENT`], { env: { GIT_DIR: gitDir } });
  const [, name, email] =
    /^(.+) <([^<>]+)> \d+ [+-]\d+\n$/.exec(said.stdout.toString('utf8')) ?? [];
  return said.ok && name !== undefined && email !== undefined ? { name, email } : undefined;
}

/**
 * Returns the addresses of the submodules of a copy that git would resolve differently than in the
 * repository: those relative to its remote, and those configured in it. They hold no password.
 */
async function submoduleAddresses(git: Git, source: Clone, inside: Git): Promise<Setting[]> {
  const path = join(inside.dir, '.gitmodules');
  if ((await lstat(path).catch(() => undefined))?.isFile() !== true) return [];
  const listed = await git.run([
    'config',
    '-z',
    '--show-scope',
    '--no-includes',
    '--file',
    path,
    '--list',
  ]);
  const theirs = (await readClone(git, source)).map(({ setting }) => setting);
  const branch = (await headOf(source))?.replace('refs/heads/', '') ?? '';
  const remote = valueOf(theirs, `branch.${branch}.remote`) ?? 'origin';
  const origin = valueOf(theirs, `remote.${remote}.url`);
  return parseScoped(listed.stdout.toString('utf8')).flatMap(
    ({ setting: [name, url] }): Setting[] => {
      if (!/^submodule\..*\.url$/s.test(name)) return [];
      const base = origin === undefined ? undefined : accessOf(origin, source.dir).url;
      const there = valueOf(theirs, name) ?? (base && relativeTo(base, url));
      if (there === undefined || there === '' || there === url) return [];
      const { url: address } = accessOf(there, source.dir);
      return refusedRemote(address) === undefined ? [[name, address]] : [];
    },
  );
}

/**
 * Resolves an address relative to another one, like git (gitmodules(5)); undefined for one that is not
 * relative.
 */
function relativeTo(base: string, url: string): string | undefined {
  if (!/^\.\.?\//.test(url)) return undefined;
  let [at, rest, between] = [base.replace(/\/$/, ''), url, '/'];
  for (;;) {
    if (rest.startsWith('./')) rest = rest.slice(2);
    else if (rest.startsWith('../')) {
      const end = at.includes('/') ? at.lastIndexOf('/') : at.lastIndexOf(':');
      if (end < 0) return undefined;
      [at, rest, between] = [at.slice(0, end), rest.slice(3), at.charAt(end)];
    } else return `${at}${between}${rest}`.replace(/\/$/, '');
  }
}
