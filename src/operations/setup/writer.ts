import { EVERYONE } from '../../protocol/address.ts';
import { CrosstalkError } from '../../errors.ts';
import { isName, toName } from '../../protocol/names.ts';
import { sameButCase } from '../../protocol/text/nearest.ts';
import { shown } from '../../protocol/text/result.ts';
import { withoutTrailing } from '../../protocol/text/trailing.ts';
import { Git } from '../../transport/git/git.ts';
import type { Surroundings } from '../locate.ts';

/** Logins that say nothing about who sits there; two people who have one would share a mailbox. */
const GENERIC =
  /^(?:admin|administrator|azureuser|centos|cloud-user|codespace|coder|debian|docker|ec2-user|fedora|git|gitpod|guest|jenkins|node|nobody|opc|pi|root|runner|test|ubuntu|user|vagrant|vscode|www-data)$/i;

/** The options of `init` about who writes in the new clone. */
export interface WriterInput {
  /** The name that the person goes by. */
  from?: string;
  /** Asks for it if nothing says it; an empty answer takes the proposal. */
  askName?: (proposal: string) => Promise<string>;
}

/**
 * Who writes in a new clone: `--from`, otherwise the answer to the question if there is somebody to
 * ask. Git's `user.name` is proposed, otherwise the login.
 *
 * @param input `inProject`: without anybody to ask, the proposal is taken instead of a login that says nothing, since
 *   a key is pinned under the name
 * @returns undefined where the clone needs no name: the environment or the user's own git
 *   configuration says one, or the login does
 * @throws CrosstalkError `usage` for a `--from` under which nobody can write
 */
export async function chooseWriter(
  { env, cwd }: Surroundings,
  input: WriterInput & {
    inProject?: boolean;
    actor: string;
    login: string;
    note: (line: string) => void;
  },
): Promise<string | undefined> {
  const { from, askName, inProject = false, actor, login, note } = input;
  if (from !== undefined) {
    const problem = nameProblem(from, actor);
    if (problem !== undefined) throw new CrosstalkError('usage', `--from ${problem}`);
    noteTwin(from, input);
    return from;
  }
  const git = new Git(cwd, env);
  const { CROSSTALK_FROM: inForce = '' } = env;
  const said = inForce === '' ? await setting(git, 'crosstalk.from') : inForce;
  const usual = toName(login) ?? 'operator';
  if (said !== undefined || askName === undefined) assertOther(said ?? usual, input);
  if (said !== undefined) return undefined;
  const isGeneric = GENERIC.test(login);
  if (askName === undefined && !isGeneric) return undefined;
  const known = nameFrom((await setting(git, 'user.name')) ?? '');
  const proposal = known === undefined || nameProblem(known, actor) !== undefined ? usual : known;
  if (askName === undefined && inProject && !GENERIC.test(proposal)) return proposal;
  if (askName === undefined) {
    note(
      `you write as ${usual} here, and so does everybody else who is logged in as ${usual} anywhere; say who you are with: git config crosstalk.from ${proposal === usual ? '<your name>' : proposal}`,
    );
    return undefined;
  }
  for (;;) {
    const answer = (await askName(proposal)).trim();
    const name = answer === '' ? proposal : answer;
    const problem = nameProblem(name, actor);
    if (problem !== undefined) {
      note(problem);
      continue;
    }
    if (GENERIC.test(name))
      note(
        `everybody who goes by ${name} shares one mailbox; change yours with: git config crosstalk.from <your name>`,
      );
    noteTwin(name, input);
    return name;
  }
}

type Others = Pick<Parameters<typeof chooseWriter>[1], 'actor' | 'note'>;

/** @throws CrosstalkError `refused` for somebody who writes under the name of the actor */
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

function nameProblem(name: string, actor: string): string | undefined {
  if (!isName(name))
    return `${shown(name)} is not a name (letters, digits, . _ -, at most 64, a letter or digit first); choose another`;
  if (name === EVERYONE) return `${name} means everybody; choose another name`;
  if (name === actor)
    return `${name} is the name of the actor, and your mail would be its own; choose another name`;
  return undefined;
}

/** A person's full name as a name on the bus: `Zoë Müller` as `zoe-muller`. */
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
