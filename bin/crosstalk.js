#!/usr/bin/env node
// Runs the built program; without a build, or with CROSSTALK_SOURCE=1, the sources through tsx.
import { existsSync } from 'node:fs';

const built = new URL('../dist/cli/main.js', import.meta.url);
const fromSource = process.env.CROSSTALK_SOURCE === '1' || !existsSync(built);
if (fromSource) (await import('tsx/esm/api')).register();
const { main } = await import(fromSource ? '../src/cli/main.ts' : built.href);
await main(process.argv.slice(2));
