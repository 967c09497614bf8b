import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { accessOf, refusedRemote, type Setting } from '../clone/access.ts';
import type { Clone } from '../clone/clone.ts';
import { headOf } from '../clone/refs.ts';
import { parseScoped, readClone, valueOf } from '../clone/settings.ts';
import { Git } from '../git/git.ts';

/** The domain of an address that nobody has. */
const NOBODY = 'crosstalk.local';

/**
 * The settings by which a new copy commits, and finds its submodules, as the repository does. Of its settings
 * nothing else is taken over: these hold a name or an address, and none of them is ever executed.
 *
 * @param inside git in the copy, before any run has worked there
 * @param actor who works in it: commits bear its name where the repository would refuse to commit
 */
export async function settingsAsIn(
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
    // A signature would be the operator's, and the program that makes it may ask for a passphrase that nobody types.
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

/** Whom git would name in a commit in a repository; undefined where it would refuse to commit. This executes nothing. */
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
 * The addresses of the submodules of a copy that git would find otherwise than in the repository: those relative to
 * its remote, and those that it has been told itself. They hold no password.
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

/** An address relative to another one, as git takes it (gitmodules(5)); undefined for one that is not relative. */
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
