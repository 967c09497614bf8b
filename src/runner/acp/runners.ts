import { acpRunner } from './acp-runner.ts';
import { processRunner } from '../process-runner.ts';
import type { Runner } from '../runner.ts';

/** Runs a CLI in the way in which it is started: over the Agent Client Protocol, or a process for one prompt. */
export const runners: Runner = {
  start: (start) => (start.acp === undefined ? processRunner : acpRunner).start(start),
};
