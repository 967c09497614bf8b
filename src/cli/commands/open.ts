import { CrosstalkError } from '../../errors.ts';
import { openActor } from '../../operations/session/open.ts';
import { given, inTransport, text, type Call } from '../command/command.ts';
import { agreedToRun, NOT_AGREED } from '../command/first-start.ts';

export function run(call: Call): Promise<number> {
  const actor = text(call, 'actor');
  if (actor === undefined)
    throw new CrosstalkError('usage', '--actor is missing; list them with: crosstalk actor list');
  return inTransport(call, async (context) => {
    if (!(await agreedToRun(call, context))) throw new CrosstalkError('refused', NOT_AGREED);
    return openActor(context, { actor, ...given(call, 'tier', 'host') });
  });
}
