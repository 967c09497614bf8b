/** Exit codes (cli.md); `replaced` tells a service manager to start what is installed now. */
export const EXIT = { ok: 0, failed: 1, usage: 2, timedOut: 3, interrupted: 130, replaced: 75 };
