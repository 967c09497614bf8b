/** Exit codes (cli.md). */
export const EXIT = { ok: 0, failed: 1, usage: 2, timedOut: 3, interrupted: 130 };
