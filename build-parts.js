// Bundles the program in two parts, so that the commands which are typed most read half as much
// (docs/decisions/0016): `main.cjs` is the command line with those commands, `rest.cjs` is all else.
// Each module is in one of them: what both need is in the first, and the second asks for it there.
import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { build } from 'esbuild';

const TABLES = resolve('src/cli/tables');
/** The commands that the first part has: the more there are, the later each of them starts. */
const FIRST = ['send.ts', 'ask.ts', 'talk/reply.ts', 'talk/cancel.ts', 'status.ts', 'log.ts'].map(
  (name) => resolve('src/cli/commands', name),
);

/**
 * @param options what esbuild is told for both parts
 * @returns the files
 */
export async function buildParts(options) {
  const first = await exportsOf(await reachable(options), options);
  const shared = new Set();
  const rest = await bundled(options, {
    contents: doors(await restCommands(options), 'module'),
    file: 'dist/rest.cjs',
    setup: (parts) => {
      askForShared(parts, first, shared);
    },
  });
  const main = await bundled(options, {
    contents: `export { main } from './src/cli/main.ts';\n${doors([...shared].sort(), 'shared')}`,
    file: 'dist/main.cjs',
    setup: leaveRest,
  });
  return [main, rest];
}

/** All modules of the first part, also those of which nothing is used in the end. */
async function reachable(options) {
  const { metafile } = await build({
    ...options,
    plugins: [...options.plugins, { name: 'leave-rest', setup: leaveRest }],
    entryPoints: ['src/cli/main.ts'],
    outfile: 'main.cjs',
    write: false,
    metafile: true,
  });
  const files = Object.keys(metafile.inputs).filter((path) => /\.[cm]?[jt]sx?$/.test(path));
  return files.filter((path) => existsSync(path)).map((path) => resolve(path));
}

/** By their paths, what some modules export; undefined for one in CommonJS, of which nobody knows. */
async function exportsOf(files, options) {
  const { metafile } = await build({
    ...options,
    banner: {},
    entryPoints: files,
    format: 'esm',
    outdir: 'exports',
    write: false,
    metafile: true,
  });
  const found = new Map();
  for (const { entryPoint, exports } of Object.values(metafile.outputs)) {
    const isModule = metafile.inputs[entryPoint].format === 'esm';
    found.set(resolve(entryPoint), isModule ? exports : undefined);
  }
  return found;
}

/** The commands that the first part has not got. */
async function restCommands(options) {
  const found = new Set();
  const setup = ({ onResolve }) => {
    onResolve({ filter: /\.tsx?$/ }, (args) => {
      if (isOfRest(args)) found.add(resolve(args.resolveDir, args.path));
    });
  };
  await build({
    ...options,
    plugins: [{ name: 'commands', setup }, ...options.plugins],
    entryPoints: ['src/cli/tables/table.ts'],
    outfile: 'table.cjs',
    write: false,
  });
  return [...found].sort();
}

/** Whether something is a command that the command table names, and the first part has not got. */
function isOfRest({ path, resolveDir, kind }) {
  return (
    kind === 'dynamic-import' && resolveDir === TABLES && !FIRST.includes(resolve(resolveDir, path))
  );
}

/** A function by which another part gets modules of this one, by their paths in the repository. */
function doors(paths, name) {
  const lines = paths.map((path) => {
    const door = JSON.stringify(named(path));
    return `${door}: () => require(${JSON.stringify(`./${named(path)}`)}),`;
  });
  return `const doors = {\n${lines.join('\n')}\n};\nexport const ${name} = (path) => doors[path]();\n`;
}

function named(path) {
  return relative('.', path);
}

async function bundled(options, { contents, file, setup }) {
  await build({
    ...options,
    plugins: [{ name: 'parts', setup }, ...options.plugins],
    stdin: { contents, resolveDir: '.', sourcefile: `${file}.js` },
    outfile: file,
  });
  return file;
}

/** In the first part: a command of the second is asked for there. */
function leaveRest({ onResolve, onLoad }) {
  onResolve({ filter: /\.tsx?$/ }, (args) =>
    isOfRest(args)
      ? { path: named(resolve(args.resolveDir, args.path)), namespace: 'rest' }
      : undefined,
  );
  onResolve({ filter: /^\.\/rest\.cjs$/ }, ({ path }) => ({ path, external: true }));
  onLoad({ filter: /./, namespace: 'rest' }, ({ path }) => ({
    contents: `module.exports = require('./rest.cjs').module(${JSON.stringify(path)});`,
  }));
}

/** In the second part: a module of the first is asked for there, and remembered. */
function askForShared({ onResolve, onLoad, resolve: find }, first, shared) {
  onResolve({ filter: /^\.\/main\.cjs$/ }, ({ path }) => ({ path, external: true }));
  onResolve(
    { filter: /./ },
    async ({ path, kind, importer, resolveDir, namespace, pluginData }) => {
      if (pluginData === 'asked' || namespace === 'shared' || kind === 'entry-point')
        return undefined;
      const found = await find(path, {
        kind,
        importer,
        resolveDir,
        namespace,
        pluginData: 'asked',
      });
      if (found.errors.length > 0 || found.external || !first.has(found.path)) return undefined;
      shared.add(found.path);
      return { path: named(found.path), namespace: 'shared' };
    },
  );
  onLoad({ filter: /./, namespace: 'shared' }, ({ path }) => {
    const there = `require('./main.cjs').shared(${JSON.stringify(path)})`;
    const names = first.get(resolve(path));
    if (names === undefined) return { contents: `module.exports = ${there};` };
    const lines = names.map((name) =>
      name === 'default'
        ? 'export default there.default;'
        : `export const ${name} = there.${name};`,
    );
    return { contents: `const there = ${there};\n${lines.join('\n')}` };
  });
}
