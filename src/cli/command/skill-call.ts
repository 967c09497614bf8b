import { CrosstalkError } from '../../errors.ts';
import { skillAskedFor } from '../../protocol/text/skill-call.ts';
import { flag, inTransport, isYes, type Call } from './command.ts';

/**
 * Asks on a terminal whether a text that begins as a call of a skill does, but with a name that no skill has, is meant
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
    const { listSkills, namesOfSkills } = await import('../../operations/skills/list.ts');
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
