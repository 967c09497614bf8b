/** Runs that found a fault once, as they were found or smaller. */
export const REGRESSIONS: Record<string, { steps: string[] }> = {};
