import { tmpdir } from 'node:os';

/* What the process of the tests was started with; test files that it runs one after the other change it. */

export const givenEnv = { ...process.env };
export const givenTmp = tmpdir();
export const givenCwd = process.cwd();
