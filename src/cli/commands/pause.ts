import { reasonInWords } from '../../protocol/text/reasons.ts';
import { pause, resume } from '../../operations/upkeep/pause.ts';
import { inTransport, print, type Call } from '../command/command.ts';

export function run(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    if (call.name === 'pause') {
      const made = await pause(context, call.io.login);
      return print(
        call,
        made,
        () => `Paused by ${made.by} since ${made.since}; mail waits. End it with: crosstalk resume`,
      );
    }
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
