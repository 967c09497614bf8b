import { EVERYONE } from '../../protocol/address.ts';
import { CrosstalkError } from '../../errors.ts';
import { isName, toName } from '../../protocol/layout.ts';
import { sameButCase } from '../../protocol/text/nearest.ts';
import { shown } from '../../protocol/text/result.ts';
import { withoutTrailing } from '../../protocol/text/quoted.ts';
import { Git } from '../../transport/git/git.ts';
import type { Surroundings } from '../locate.ts';

/** Logins that do not identify a person; two people with such a login would share a mailbox. */
const GENERIC =
  /^(?:admin|administrator|azureuser|centos|cloud-user|codespace|coder|debian|docker|ec2-user|fedora|git|gitpod|guest|jenkins|node|nobody|opc|pi|root|runner|test|ubuntu|user|vagrant|vscode|www-data)$/i;

/** The options of `init` about the writer in the new clone. */
export interface WriterInput {
  /** The name of the person. */
  from?: string;
}

/**
 * Chooses the writer in a new clone: `--from`, otherwise the one in the surroundings.
 *
 * @param input `inProject`: git's name of the person is used instead of a login that does not identify
 *   them, since a key is pinned under the name
 * @returns undefined when the clone needs no name: the environment, the user's own git configuration or
 *   the login gives one
 * @throws CrosstalkError `usage` for a `--from` under which nobody can write
 */
export async function chooseWriter(
  surroundings: Surroundings,
  input: WriterInput & {
    inProject?: boolean;
    actor: string;
    login: string;
    note: (line: string) => void;
  },
): Promise<string | undefined> {
  const { from, inProject = false, actor, login, note } = input;
  if (from !== undefined) {
    const problem = nameProblem(from, actor);
    if (problem !== undefined) throw new CrosstalkError('usage', `--from ${problem}`);
    noteTwin(from, input);
    return from;
  }
  const { said, proposal } = await writerHere(surroundings, input);
  const usual = toName(login) ?? 'operator';
  if (said === undefined && inProject && isShared(login) && !isShared(proposal)) return proposal;
  assertOther(said ?? usual, input);
  if (said === undefined && isShared(login))
    note(
      `you write as ${usual} here, and so does everybody else who is logged in as ${usual} anywhere; say who you are with: git config crosstalk.from ${proposal === usual ? '<your name>' : proposal}`,
    );
  return undefined;
}

/**
 * Determines the writer in a new clone from the surroundings.
 *
 * @returns `said`: the name in the environment or in the user's git configuration; `proposal`: git's
 *   `user.name` as a name on the bus, otherwise the login
 */
export async function writerHere(
  { env, cwd }: Surroundings,
  { actor, login }: { actor: string; login: string },
): Promise<{ said: string | undefined; proposal: string }> {
  const git = new Git(cwd, env);
  const { CROSSTALK_FROM: inForce = '' } = env;
  const said = inForce === '' ? await setting(git, 'crosstalk.from') : inForce;
  const known = nameFrom((await setting(git, 'user.name')) ?? '');
  const isFit = known !== undefined && nameProblem(known, actor) === undefined;
  return { said, proposal: isFit ? known : (toName(login) ?? 'operator') };
}

/** Whether two people with the same login would share a mailbox, because it does not identify a person. */
export function isShared(login: string): boolean {
  return GENERIC.test(login);
}

type Others = Pick<Parameters<typeof chooseWriter>[1], 'actor' | 'note'>;

/** @throws CrosstalkError `refused` for a person who writes under the name of the actor */
function assertOther(name: string, others: Others): void {
  const { actor } = others;
  if (name === actor)
    throw new CrosstalkError(
      'refused',
      `you write as ${name} here, which is the name of the actor, and your mail would be its own; choose another with --actor <name>, or say who you are with --from <name>`,
    );
  noteTwin(name, others);
}

function noteTwin(name: string, { actor, note }: Others): void {
  const twin = sameButCase(name, [actor]);
  if (twin !== undefined) note(twin);
}

/** Returns the reason why a person cannot have a name besides an actor; undefined for a valid one. */
export function nameProblem(name: string, actor: string): string | undefined {
  if (!isName(name))
    return `${shown(name)} is not a name (letters, digits, . _ -, at most 64, a letter or digit first); choose another`;
  if (name === EVERYONE) return `${name} means everybody; choose another name`;
  if (name === actor)
    return `${name} is the name of the actor, and your mail would be its own; choose another name`;
  return undefined;
}

/** Converts a person's full name to a name on the bus: `Zoë Müller` to `zoe-muller`. */
function nameFrom(text: string): string | undefined {
  const plain = text.normalize('NFKD').replace(/\p{M}+/gu, '');
  const name = toName(plain.trim().toLowerCase());
  return name === undefined ? undefined : withoutTrailing(name, /-/);
}

async function setting(git: Git, name: string): Promise<string | undefined> {
  const got = await git.run(['config', '--global', '--get', name]);
  const text = got.ok ? got.stdout.toString('utf8').trim() : '';
  return text === '' ? undefined : text;
}
