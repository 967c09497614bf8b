import { watch, type Seen } from '../../../operations/watching/watch.ts';
import { flag, inTransport, note, text, type Call } from '../../command/command.ts';
import { EXIT } from '../../command/io.ts';
import { painter } from '../../view/render.ts';
import { timeoutOf } from '../../view/talk.ts';
import { WatchedView } from '../../view/watched.ts';

export function run(call: Call): Promise<number> {
  const { io, args } = call;
  const [what] = args;
  const isJson = flag(call, 'json');
  const limit = text(call, 'timeout') === undefined ? undefined : timeoutOf(call);
  const timer = new AbortController();
  const signal = AbortSignal.any([io.stop, timer.signal]);
  const input = {
    follow: flag(call, 'follow'),
    signal,
    ...(what !== undefined && { what }),
  };
  return inTransport(call, async (context) => {
    const view = new WatchedView(painter(io));
    let isTold = false;
    const after = limit === undefined ? undefined : atMost(limit, timer);
    try {
      for await (const seen of watch(context, input)) {
        // Not before it is clear that there is something to watch.
        if (!isTold)
          note(call, 'runs of this machine only; what other machines run is watched there');
        isTold = true;
        if (seen.kind !== 'waits') io.out(isJson ? json(seen) : view.text(seen));
        else if (seen.dispatcher) note(call, `nothing runs; waiting for ${seen.next}`);
        else
          note(
            call,
            `no dispatcher is running here; waiting for ${seen.next}: start one with: crosstalk dispatch`,
          );
      }
    } finally {
      clearTimeout(after);
    }
    return timer.signal.aborted && !io.stop.aborted ? EXIT.timedOut : EXIT.ok;
  });
}

/** The longest that a timer of Node waits. */
const MOST_TIMER_MS = 2 ** 31 - 1;

function atMost(ms: number, timer: AbortController): NodeJS.Timeout {
  return setTimeout(
    () => {
      timer.abort();
    },
    Math.min(ms, MOST_TIMER_MS),
  );
}

function json(seen: Exclude<Seen, { kind: 'waits' }>): string {
  const { id, actor, ...head } = seen.run;
  const told = seen.kind === 'run' ? { ...head, live: seen.live } : { kind: 'cut' };
  const said = seen.kind === 'line' ? seen.line : told;
  return `${JSON.stringify({ run: id, actor, ...said })}\n`;
}
