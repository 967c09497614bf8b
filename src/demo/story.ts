import type { LogLine } from './machine.ts';

/** Prints events with the seconds since the start, until the demo is to end. */
export function storyteller({
  out,
  stop,
}: {
  out: (text: string) => void;
  stop: AbortSignal;
}): (who: string, what: string) => void {
  const begun = performance.now();
  return (who, what) => {
    if (stop.aborted) return;
    const seconds = ((performance.now() - begun) / 1000).toFixed(2).padStart(6);
    out(`${seconds} s  ${who.padEnd(9)} ${what}\n`);
  };
}

/** What is told of an event in a dispatcher's log; undefined for what the story does without. */
export function tell(line: LogLine): string | undefined {
  const {
    event,
    actor,
    messages,
    duration_ms: duration,
  } = line as LogLine & { actor?: string; messages?: string[]; duration_ms?: number };
  const count = messages?.length ?? 0;
  const mail = `${String(count)} message${count === 1 ? '' : 's'}`;
  switch (event) {
    case 'dispatcher_started':
      return 'dispatcher is up';
    case 'dispatch_start':
      return `${actor ?? ''} wakes up for ${mail}`;
    case 'dispatch_silent':
      return `${actor ?? ''} has nothing to say yet`;
    case 'reply_queued':
      return `${actor ?? ''} has its answer`;
    case 'dispatch_done':
      return line['replied'] === true
        ? `${actor ?? ''}'s answer is on the hub (the run took ${String(duration)} ms)`
        : undefined;
    case 'dispatch_failed':
      return `${actor ?? ''} failed: ${String(line['detail'])}`;
    default:
      return undefined;
  }
}
