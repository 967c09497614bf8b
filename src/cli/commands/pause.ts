import { countOf, reasonInWords } from '../../protocol/text/words.ts';
import type { Context } from '../../actions/context.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { pause, resume, resumeFor } from '../../actions/upkeep/pause.ts';
import { inTransport, print, text, type Call } from '../command/command.ts';
import type { CommandSpec } from '../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'pause',
    summary: 'let this machine’s dispatcher start nothing more; mail waits',
    example: 'crosstalk pause',
    run,
  },
  {
    name: 'resume',
    summary: 'end a pause; try agent CLIs that are rate limited or not logged in now',
    options: [['--for <actor>', 'let its mail run that waits for a budget, whatever it costs']],
    example: 'crosstalk resume',
    run,
  },
];

function run(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    if (call.name === 'pause') {
      const made = await pause(context, call.io.login);
      return print(
        call,
        made,
        () => `Paused by ${made.by} since ${made.since}; mail waits. End it with: crosstalk resume`,
      );
    }
    const actor = text(call, 'for');
    if (actor !== undefined) return letRun(call, context, actor);
    const { pause: ended, tried } = await resume(context);
    return print(call, { paused: false, ended: ended ?? null, tried }, () => {
      const resumed =
        ended === undefined ? [] : [`Resumed; it was paused by ${ended.by} since ${ended.since}`];
      const lines = [
        ...resumed,
        ...tried.map(({ id, reason }) => `Trying again: ${id} (${reasonInWords(reason)})`),
      ];
      return lines.length === 0 ? 'Nothing was paused' : lines.join('\n');
    });
  });
}

/** Lets mail run that waits for a budget. */
async function letRun(call: Call, context: Context, actor: string): Promise<number> {
  const waited = await resumeFor(context, actor);
  const said = [...new Set(waited.map((one) => one.said))].join('; ');
  return print(call, { for: actor, resumed: waited }, () =>
    waited.length === 0
      ? `Nothing for ${escapeInvisible(actor)} waits for a budget here; what waits, and why, says: crosstalk status`
      : `Runs now whatever it costs, for ${actor}: ${countOf(waited.length, 'message')} (${said})`,
  );
}
