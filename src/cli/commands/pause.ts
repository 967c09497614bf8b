import { pause, resume } from '../../operations/pause.ts';
import { inTransport, print, type Call } from '../command.ts';

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
    const ended = await resume(context);
    return print(call, { paused: false, ended: ended ?? null }, () =>
      ended === undefined
        ? 'Nothing was paused'
        : `Resumed; it was paused by ${ended.by} since ${ended.since}`,
    );
  });
}
