import { CrosstalkError } from '../../errors.ts';
import { openActor } from '../../actions/session/open.ts';
import { given, inTransport, text, type Call } from '../command/command.ts';
import { agreedToRun, NOT_AGREED } from '../command/first-start.ts';
import { HOST, type CommandSpec } from '../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'open',
    summary: 'an interactive session as an actor',
    options: [
      ['--actor <name>', 'the actor'],
      ['--tier <tier>', 'its tier (default: the first)'],
      HOST,
    ],
    interrupt: 'child',
    example: 'crosstalk open --actor concierge',
    run,
  },
];

function run(call: Call): Promise<number> {
  const actor = text(call, 'actor');
  if (actor === undefined)
    throw new CrosstalkError('usage', '--actor is missing; list them with: crosstalk actor list');
  return inTransport(call, async (context) => {
    if (!(await agreedToRun(call, context))) throw new CrosstalkError('refused', NOT_AGREED);
    return openActor(context, { actor, ...given(call, 'tier', 'host') });
  });
}
