// A dispatcher that dies: the real one, told to kill itself at a crash point.
//   CHAOS_POINT=<point>   where, "any" or "none"
//   CHAOS_COUNT=<n>       the n-th time that point is passed
//   CHAOS_INTERVAL=<n>    milliseconds between polls
//   CHAOS_LEDGER=<file>   gets "recorded <relPath>" for each message whose run's output is on disk
//   CHAOS_HOSTNAME=<name> what the machine calls itself, where it is one of several
import { appendFileSync } from 'node:fs';
import { onCrashPoint } from '../../src/crash-points.ts';
import { dispatch } from '../../src/actions/dispatching/dispatch.ts';
import { withContext } from '../../src/actions/context.ts';
import { rowsIn } from '../support/rows.ts';

const {
  CHAOS_POINT: point = '',
  CHAOS_COUNT: count = '1',
  CHAOS_LEDGER: ledger = '',
  CHAOS_HOST: host = '',
  CHAOS_HOSTNAME: hostname,
  CHAOS_INTERVAL: interval = '100',
} = process.env;
let left = Number(count);
const never = new AbortController().signal;

await withContext(
  { env: process.env, cwd: process.cwd() },
  { note: () => undefined },
  (context) => {
    const noted = new Set();
    onCrashPoint((passing) => {
      if (passing === 'output_recorded' && ledger !== '') noteRecorded(context.paths.root, noted);
      if (passing !== point && point !== 'any') return;
      left--;
      if (left === 0) process.kill(process.pid, 'SIGKILL');
    });
    return dispatch(
      { ...context, ...(hostname && { hostname }) },
      {
        host,
        interval: Number(interval),
        grace: 1000,
        once: false,
        fromNow: false,
        trustHostFile: false,
        log: (event, fields) => {
          process.stderr.write(`${JSON.stringify({ event, ...fields })}\n`);
        },
        stop: never,
        hurry: never,
      },
    );
  },
);

/** Written synchronously, so that the ledger's order is the order in which things happened. */
function noteRecorded(state: string, noted: Set<unknown>): void {
  for (const { id, delivery } of rowsIn(state, 'outbox')) {
    if (noted.has(id)) continue;
    noted.add(id);
    const { messages } = (delivery ?? { messages: [] }) as { messages: string[] };
    for (const relPath of messages) appendFileSync(ledger, `recorded ${relPath}\n`);
  }
}
