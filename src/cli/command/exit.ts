/** Exit codes (cli.md); `replaced` tells a service manager to start the newly installed version. */
export const EXIT = { ok: 0, failed: 1, usage: 2, timedOut: 3, interrupted: 130, replaced: 75 };
