import { explain, type Explanation } from '../../actions/tracing/explain.ts';
import { claimLine } from '../../present/claims.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { firedText } from '../../protocol/text/words.ts';
import { factsLine, sessionLines, steeringLine } from '../../present/explained.ts';
import { inTransport, print, type Call } from '../command/command.ts';
import type { CommandSpec } from '../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'explain',
    args: '<message> <actor>',
    summary: 'why a message wakes an actor, or does not',
    inRun: true,
    example: 'crosstalk explain 1f2e3d4c concierge',
    run,
  },
];

function run(call: Call): Promise<number> {
  const [message = '', actor = ''] = call.args;
  return inTransport(call, async (context) => {
    const result = await explain(context, message, actor);
    return print(call, result, () => {
      const verdict = `${result.message} ${verdictOn(result, actor)}: ${result.because}`;
      const { fired_by: by, given_by: given, asks_for: asked } = result;
      const open = result.open_questions.map(
        ({ message: path, asker }) => `  its stdout answers ${asker}: ${path}`,
      );
      return [
        verdict,
        ...(by === undefined ? [] : [`  ${firedText(by)}`]),
        ...(given === undefined ? [] : [`  ${givenText(given)}`]),
        ...(asked === undefined ? [] : [`  ${skillText(asked)}`]),
        ...result.answered.map((path) => `  re: ${path}`),
        ...open,
        ...(result.steering ? [`  ${escapeInvisible(steeringLine(result.steering))}`] : []),
        `  state: ${factsLine(result.facts, result.actor, context.now().getTime())}`,
        ...(result.claims ?? []).map((claim) => `  ${claimLine(claim)}`),
        ...(result.session ? sessionLines(result.session) : []).map((line) => `  ${line}`),
      ].join('\n');
    });
  });
}

/** Whether somebody is woken; nothing runs for a person. */
function verdictOn({ wakes, person }: Explanation, actor: string): string {
  if (!wakes) return `does not wake ${actor}`;
  return person === true
    ? `is for ${actor}, a person, who finds it with crosstalk inbox`
    : `wakes ${actor}`;
}

/** Words the skill for which a message asks, and whether the actor receives it. */
function skillText({ name, path, problem }: NonNullable<Explanation['asks_for']>): string {
  return problem === null
    ? `asks for skill ${name} (${path ?? ''})`
    : `asks for skill ${name}, which is not told: ${problem}`;
}

/** Words the origin of a task. */
function givenText({ subscription, event, cause }: NonNullable<Explanation['given_by']>): string {
  const on = event === undefined ? cause.join(', ') : `the event ${event}`;
  return `given by subscription ${subscription}, following on ${on}`;
}
