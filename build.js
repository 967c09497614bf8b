// Bundles the program: one file per command, every package inlined, because a process that loads
// the packages one by one starts 50 to 90 ms later (docs/decisions/0008).
import { readdirSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

const agents = readdirSync('src/demo/agents').map((name) => `src/demo/agents/${name}`);

rmSync('dist', { recursive: true, force: true });
await build({
  entryPoints: ['src/cli/main.ts', ...agents],
  outbase: 'src',
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  logLevel: 'warning',
  // The CommonJS packages among them call require() for Node's own modules.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
});
