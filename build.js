// Bundles the program into one file, every package inlined, because a process that loads the
// packages one by one starts 50 to 90 ms later (docs/decisions/0008).
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

const agents = readdirSync('src/demo/agents').map((name) => `src/demo/agents/${name}`);

rmSync('dist', { recursive: true, force: true });
const common = { bundle: true, platform: 'node', target: 'node20', logLevel: 'warning' };
await build({
  ...common,
  entryPoints: ['src/cli/main.ts'],
  outfile: 'dist/main.cjs',
  format: 'cjs',
  // Smaller files start faster; names stay, so that stack traces can be read.
  minifyWhitespace: true,
  minifySyntax: true,
  // It has native code; only commands that search load it.
  external: ['@photostructure/sqlite'],
  // A script from the code cache has no import(), but it has require().
  supported: { 'dynamic-import': false },
  plugins: [{ name: 'leave-out', setup: leaveOut }],
  define: { 'import.meta.url': '__moduleUrl' },
  // Used from the sources alone.
  logOverride: { 'empty-import-meta': 'silent' },
  banner: { js: "const __moduleUrl = require('node:url').pathToFileURL(__filename).href;" },
});
await build({
  ...common,
  entryPoints: agents,
  outdir: 'dist/demo/agents',
  format: 'esm',
});
// The first run leaves the code cache that all others start from.
spawnSync(process.execPath, ['bin/crosstalk.js', 'send'], { stdio: 'ignore' });

/**
 * gray-matter loads js-yaml for headers, which we never let it do (src/protocol/frontmatter.ts
 * overrides every engine): 100 KB that each command would read.
 */
function leaveOut({ onResolve, onLoad }) {
  const contents =
    'const no = () => { throw new Error("js-yaml is left out"); }; export { no as safeLoad, no as safeDump };';
  onResolve({ filter: /^js-yaml$/ }, () => ({ path: 'js-yaml', namespace: 'left-out' }));
  onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({ contents }));
}
