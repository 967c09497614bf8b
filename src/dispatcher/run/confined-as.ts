import { CrosstalkError } from '../../errors.ts';
import type { InvocationResult } from '../../runner/runner.ts';
import { NOTHING_RAN } from './cli.ts';
import { failed } from './conclude.ts';
import type { JobResult } from './job.ts';

/** What came of a run, or of what keeps its sandbox from being made. */
export async function unlessConfined(
  run: Promise<InvocationResult>,
): Promise<InvocationResult | JobResult> {
  return run.catch((error: unknown) => {
    const ended = error instanceof CrosstalkError ? confinedAs(error) : undefined;
    if (ended === undefined) throw error;
    return ended;
  });
}

/** What becomes of a job whose sandbox cannot be made: it waits, or its command needs what is not shown. */
export function confinedAs({ data, message }: CrosstalkError): JobResult | undefined {
  if (data['kind'] === 'no_sandbox')
    return { kind: 'parked', detail: message, reason: 'no_sandbox' };
  return data['kind'] === 'not_shown' ? failed(NOTHING_RAN, 'misconfigured', message) : undefined;
}
