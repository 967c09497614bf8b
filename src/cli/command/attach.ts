import { type Attachment, attachmentOf, bytesOnDisk } from '../../actions/sending/attached.ts';
import { list, type Call, flag, inTransport, isYes } from './command.ts';
import { basename } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { bytesInRun } from '../../actions/run-files.ts';
import { HIGHEST_BYTES, MAX_FILES } from '../../protocol/attached.ts';
import { skillAskedFor } from '../../protocol/text/skill-call.ts';

/**
 * Returns the files of `--attach`; a command without them loads nothing for that.
 *
 * @throws CrosstalkError `usage` for a path that is not a regular file, or too many bytes
 */
export async function readAttachments(call: Call): Promise<Attachment[]> {
  const given = list(call, 'attach');
  if (given.length === 0) return [];
  return readFiles(call, given);
}

/**
 * Reads the files that `--attach` names, with their bytes as they are now. A symlink is followed to a regular file,
 * which keeps the given name; a run may attach only files that it could read itself (trust.md §3). The limits of a
 * clone are applied later, when the message is written.
 *
 * @throws CrosstalkError `usage` for a path that is not a regular file, or too many bytes
 */
async function readFiles(call: Call, given: readonly string[]): Promise<Attachment[]> {
  if (given.length > MAX_FILES)
    throw new CrosstalkError(
      'usage',
      `--attach was given ${String(given.length)} times, and a message takes ${String(MAX_FILES)} files; pack them into one archive, or send several messages`,
    );
  const found: Attachment[] = [];
  let left = HIGHEST_BYTES;
  for (const file of given) {
    const bytes = await contentOf(call, file, left);
    left -= bytes.length;
    found.push(attachmentOf(basename(file), bytes));
  }
  return found;
}

function contentOf({ io }: Call, file: string, limit: number): Promise<Buffer> {
  const { agentMode: mode, cwd } = io;
  return mode === undefined
    ? bytesOnDisk(cwd, file, { asked: '--attach', limit })
    : bytesInRun(mode, cwd, file, { option: '--attach', limit });
}

/**
 * Asks on a terminal whether a text that begins like a call of a skill, but with a name that no skill has, is meant
 * as it is.
 *
 * @throws CrosstalkError `refused` when it is not
 */
export async function assertText(call: Call, body: string): Promise<void> {
  const { ask, agentMode } = call.io;
  const name = skillAskedFor(body);
  if (name === undefined || ask === undefined || agentMode !== undefined || flag(call, 'anyway'))
    return;
  const hint = await inTransport(call, async (context) => {
    const { listSkills, namesOfSkills } = await import('../../actions/skills/list.ts');
    const { didYouMean } = await import('../../protocol/text/nearest.ts');
    if ((await namesOfSkills(context)).includes(name)) return undefined;
    const names = (await listSkills(context)).map((skill) => skill.name);
    return names.includes(name) ? undefined : didYouMean(name, names);
  });
  if (hint === undefined) return;
  const question = `there is no skill ${name}${hint === '' ? '.' : hint} Send it as plain text? [y/N] `;
  if (isYes(await ask(question))) return;
  throw new CrosstalkError(
    'refused',
    'nothing was sent; see the skills with: crosstalk skill list',
  );
}
