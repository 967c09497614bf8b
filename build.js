// Bundles the program into three files (build-parts.js), every package inlined, because a process that loads the
// packages one by one starts 50 to 90 ms later (docs/decisions/28-starting.md).
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { createRequire } from 'node:module';

// `npm install --global .` installs no packages for a folder, and shows what this prints.
try {
  createRequire(import.meta.url).resolve('esbuild');
} catch {
  console.error(
    'crosstalk: its packages are not installed in this folder; first run there: npm ci',
  );
  process.exit(1);
}
const { build } = await import('esbuild');
// Commands say in code what the list of them and the manual page show.
(await import('tsx/esm/api')).register();
const { buildParts } = await import('./build-parts.js');
const { buildPage } = await import('./build-page.js');
const { fillCache } = await import('./build-cache.js');

/**
 * Modules that few commands need and that bring large packages: bundles of their own, loaded when
 * a command imports them. They hold packages and what shows them, nothing of ours that has state.
 * `door` names the async functions of one that can only be an ES module.
 */
const APART = [
  { entry: 'src/chat/screen.tsx', door: ['openChat', 'prepareScreen'] },
  { entry: 'src/mcp/kit/sdk.ts' },
  { entry: 'src/cli/conversation/prompt-packages.ts' },
  { entry: 'src/web/web-packages.ts' },
  { entry: 'src/runner/schema-packages.ts' },
  { entry: 'src/runner/acp/acp-packages.ts' },
  { entry: 'src/secrets/rule-packages.ts' },
  { entry: 'src/bus/automation/pattern-packages.ts' },
  { entry: 'src/bell/nats-packages.ts' },
];
const apart = new Map(APART.map(({ entry }) => [resolve(entry), nameOf(entry)]));

const agents = readdirSync('src/demo/agents').map((name) => `src/demo/agents/${name}`);

mkdirSync('dist', { recursive: true });
for (const name of readdirSync('dist')) {
  // The page has its own way to see whether it is up to date.
  if (!name.startsWith('page')) rmSync(`dist/${name}`, { recursive: true });
}
const common = { bundle: true, platform: 'node', target: 'node20', logLevel: 'warning' };
const program = {
  platform: 'node',
  tsconfig: false,
  transform: { target: 'node20' },
  // They have native code; only commands that search, or that open a session, load them.
  external: ['@photostructure/sqlite', '@lydell/node-pty'],
  // What its package.json names first finds its own files by a require() that no bundler follows.
  resolve: { alias: { 'jsonc-parser': resolve('node_modules/jsonc-parser/lib/esm/main.js') } },
  plugins: [
    leaveYamlOut(),
    setApart(),
    loadRunsLate(),
    startNothing(),
    loadCryptoLate(),
    loadLate(),
  ],
  // `eval` is in gray-matter, for headers that we never let it read; `import.meta.resolve` is for the sources.
  checks: { eval: false, emptyImportMeta: false, ineffectiveDynamicImport: false },
};
// With --maps, source maps lie beside the parts, for docs/journey.js.
const parts = await buildParts(program, process.argv.includes('--maps'));
for (const part of parts) {
  const odd = /[^\0-\x7f]/.exec(readFileSync(part, 'utf8'));
  if (odd === null) continue;
  const around = odd.input.slice(odd.index - 40, odd.index + 40);
  console.error(
    `crosstalk: ${part} must be ASCII; write an escape in a regular expression: ${around}`,
  );
  process.exit(1);
}
await build({
  ...common,
  entryPoints: agents,
  outdir: 'dist/demo/agents',
  format: 'esm',
});
for (const { entry, door } of APART) await buildApart(entry, door);
await buildManual();
await buildPage();
fillCache();

function nameOf(entry) {
  return basename(entry).replace(/\.tsx?$/, '');
}

/** Puts a module that the build writes in the place of some imports of the program. */
function instead(name, isIt, contents) {
  const id = `\0${name}`;
  return {
    name,
    resolveId: (source, importer, { kind }) =>
      importer !== id && isIt({ source, importer, kind }) ? id : undefined,
    load: (one) => (one === id ? contents : undefined),
  };
}

/** Leaves the modules of {@link APART} to be loaded from their own bundles. */
function setApart() {
  const resolveId = (source, importer, { kind }) => {
    if (kind !== 'dynamic-import') return undefined;
    const name = apart.get(resolve(dirname(importer), source));
    return name && { id: `./${name}.cjs`, external: true };
  };
  return { name: 'apart', resolveId };
}

async function buildApart(entry, door) {
  const name = nameOf(entry);
  const esm = door !== undefined;
  await build({
    ...common,
    entryPoints: [entry],
    outfile: `dist/${name}.${esm ? 'mjs' : 'cjs'}`,
    format: esm ? 'esm' : 'cjs',
    minify: true,
    keepNames: true,
    legalComments: 'none',
    define: { 'process.env.NODE_ENV': '"production"' },
    jsx: 'automatic',
    plugins: [{ name: 'without-devtools', setup: leaveDevtoolsOut }],
    ...(esm && {
      // Packages in CommonJS call require(), which an ES module does not have.
      banner: {
        js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
      },
    }),
  });
  if (!esm) return;
  // A script from the code cache can require() this, and this can import().
  const functions = door.map(
    (name_) =>
      `exports.${name_} = (...args) => import('./${name}.mjs').then((m) => m.${name_}(...args));`,
  );
  writeFileSync(`dist/${name}.cjs`, `'use strict';\n${functions.join('\n')}\n`);
}

/** The manual page; a date of its own comes from SOURCE_DATE_EPOCH. */
async function buildManual() {
  const { manualPage } = await import('./src/cli/man.ts');
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  const epoch = process.env.SOURCE_DATE_EPOCH;
  const date = epoch === undefined ? new Date() : new Date(Number(epoch) * 1000);
  mkdirSync('man', { recursive: true });
  writeFileSync('man/crosstalk.1', manualPage(version, date));
}

/**
 * In the list of commands, puts what users see of each: its `run` and `inSandbox` import its file when they
 * are called.
 */
function loadRunsLate() {
  const folder = resolve('src/cli');
  const list = resolve(folder, 'commands.ts');
  const declared = '\0declared:';
  const resolveId = (source, importer) => {
    if (importer === list && source.startsWith('./commands/')) return `${declared}${source}`;
    return importer?.startsWith(declared) ? resolve(folder, source) : undefined;
  };
  const load = async (id) => {
    if (!id.startsWith(declared)) return undefined;
    const path = id.slice(declared.length);
    const { commands } = await import(resolve(folder, path));
    const specs = commands.map((spec, at) => {
      const late = Object.keys(spec).filter((name) => typeof spec[name] === 'function');
      const found = `(await import(${JSON.stringify(path)})).commands[${at}]`;
      const runs = late.map((name) => `${name}: async (...given) => ${found}.${name}(...given)`);
      return `{ ...${JSON.stringify(spec)}, ${runs.join(', ')} }`;
    });
    return `export const commands = [${specs.join(',\n')}];`;
  };
  return { name: 'runs-late', resolveId, load };
}

/** Only the developers of a terminal UI library have its debugger; left external it would be imported. */
function leaveDevtoolsOut({ onResolve, onLoad }) {
  const contents = 'export default {};';
  onResolve({ filter: /^react-devtools-core$/ }, ({ path }) => ({ path, namespace: 'left-out' }));
  onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({ contents }));
}

/**
 * commander can start a program for a subcommand, which ours never have, and loads what that takes: a
 * tenth of what a short command loads.
 */
function startNothing() {
  return instead(
    'start-nothing',
    ({ source, importer }) =>
      source === 'node:child_process' && /[\\/]commander[\\/]/.test(importer),
    "module.exports = { get spawn() { return require('node:child_process').spawn; } };",
  );
}

/** Loading `node:crypto` takes 5 ms: it is done when something is hashed, which a short command may not do. */
function loadCryptoLate() {
  const names = ['createHash', 'createHmac', 'randomBytes', 'randomUUID', 'timingSafeEqual'];
  const lines = names.map(
    (name) => `export const ${name} = (...given) => require('node:crypto').${name}(...given);`,
  );
  return instead(
    'late-crypto',
    ({ source, kind }) => source === 'node:crypto' && kind === 'import-statement',
    `${lines.join('\n')}\nexport default { ${names.join(', ')} };`,
  );
}

/** Loads these when a module that imports them is evaluated; the bundler would, as soon as their part is read. */
function loadLate() {
  const modules = new Set(
    ['http', 'net', 'dns/promises', 'readline', 'child_process'].map((name) => `node:${name}`),
  );
  return {
    name: 'late',
    resolveId: (source, importer, { kind }) =>
      kind === 'import-statement' && modules.has(source) ? `\0late:${source}` : undefined,
    load: (id) =>
      id.startsWith('\0late:')
        ? `module.exports = require('${id.slice('\0late:'.length)}');`
        : undefined,
  };
}

/**
 * gray-matter loads js-yaml for headers, which we never let it do (src/protocol/text/frontmatter.ts
 * overrides every engine): 100 KB that each command would read.
 */
function leaveYamlOut() {
  return instead(
    'js-yaml',
    ({ source }) => source === 'js-yaml',
    'const no = () => { throw new Error("js-yaml is left out"); }; export { no as safeLoad, no as safeDump };',
  );
}
