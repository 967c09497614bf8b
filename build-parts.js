// Bundles the program in three parts, so that each command reads little more than it needs
// (docs/decisions/28-starting.md): `main.cjs` is the command line, up to where a dispatcher takes a message over;
// `core.cjs` is what the commands that are typed most do themselves; `rest.cjs` is all else. Each module
// is in one of them, and the others ask for it there.
import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { build } from 'esbuild';

/** The commands that the first two parts have: the more there are, the later each of them starts. */
const FIRST = ['send.ts', 'ask.ts', 'talk/reply.ts', 'talk/cancel.ts', 'status.ts', 'log.ts'].map(
  (name) => resolve('src/cli/commands', name),
);
/** What the first part is made of, with all that these import; what they import later is in the others. */
const FRONT = ['main.ts', 'program.ts', 'commands/send.ts', 'commands/ask.ts'].map((name) =>
  resolve('src/cli', name),
);

/**
 * @param options what esbuild is told for each part
 * @returns the files
 */
export async function buildParts(options) {
  const reached = await reachable(options);
  const front = frontOf(reached);
  const first = [...reached.keys()];
  const names = await exportsOf(first, options);
  const isCommand = await restCommands(options);
  const partOf = (path) => {
    if (front.has(path)) return 'main';
    if (names.has(path)) return 'core';
    return isCommand.has(path) ? 'rest' : undefined;
  };
  /** By part, the modules that others ask for there. */
  const core = new Set([
    ...askedLater(reached, front),
    ...FIRST.filter((path) => !front.has(path)),
  ]);
  const asked = { main: new Set(), core, rest: isCommand };
  const written = [];
  for (const part of ['rest', 'core', 'main']) {
    const file = `dist/${part}.cjs`;
    const main = part === 'main' ? `export { main } from './src/cli/main.ts';\n` : '';
    await build({
      ...options,
      plugins: [
        { name: 'parts', setup: askOthers(part, partOf, names, asked) },
        ...options.plugins,
      ],
      stdin: {
        contents: main + doors([...asked[part]].sort()),
        resolveDir: '.',
        sourcefile: `${file}.js`,
      },
      outfile: file,
    });
    written.unshift(file);
  }
  return written;
}

/** The modules of the first two parts, by their paths, each with what it imports, and how. */
async function reachable(options) {
  const leave = ({ onResolve }) => {
    onResolve({ filter: /\.tsx?$/ }, (args) =>
      isOfRest(args) ? { path: args.path, external: true } : undefined,
    );
  };
  const { metafile } = await build({
    ...options,
    plugins: [...options.plugins, { name: 'leave-rest', setup: leave }],
    entryPoints: ['src/cli/main.ts'],
    outfile: 'main.cjs',
    write: false,
    metafile: true,
  });
  const files = Object.entries(metafile.inputs)
    .filter(([path]) => /\.[cm]?[jt]sx?$/.test(path) && existsSync(path))
    .map(([path, { imports }]) => [
      resolve(path),
      imports
        .filter(({ external }) => external !== true)
        .map((one) => ({ path: resolve(one.path), isLater: one.kind === 'dynamic-import' })),
    ]);
  return new Map(files);
}

/** What {@link FRONT} is, and imports at once. */
function frontOf(reached) {
  const front = new Set(FRONT);
  for (const path of front)
    for (const one of reached.get(path) ?? [])
      if (!one.isLater && reached.has(one.path)) front.add(one.path);
  return front;
}

/** The modules that the first part asks for when it needs them. */
function askedLater(reached, front) {
  const imports = [...front].flatMap((path) => reached.get(path) ?? []);
  const later = imports.filter(({ path }) => reached.has(path) && !front.has(path));
  return new Set(later.map(({ path }) => path));
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

/** The commands that the first two parts have not got. */
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
    entryPoints: ['src/cli/commands.ts'],
    outfile: 'commands.cjs',
    write: false,
  });
  return found;
}

/** Whether something is a command that the first parts have not got. */
function isOfRest({ path, resolveDir, kind, namespace }) {
  if (kind !== 'dynamic-import' || namespace !== 'declared') return false;
  return !FIRST.includes(resolve(resolveDir, path));
}

/** A function by which other parts get modules of this one, by their paths in the repository. */
function doors(paths) {
  const lines = paths.map((path) => {
    const door = JSON.stringify(named(path));
    return `${door}: () => require(${JSON.stringify(`./${named(path)}`)}),`;
  });
  return `const doors = {\n${lines.join('\n')}\n};\nexport const module = (path) => doors[path]();\n`;
}

function named(path) {
  return relative('.', path);
}

/** In one part: a module of another one is asked for there, and remembered. */
function askOthers(part, partOf, names, asked) {
  return ({ onResolve, onLoad, resolve: find }) => {
    onResolve({ filter: /^\.\/(main|core|rest)\.cjs$/ }, ({ path }) => ({ path, external: true }));
    onResolve({ filter: /./ }, async ({ path, kind, pluginData, namespace, ...where }) => {
      if (pluginData === 'asked' || namespace === 'asked' || kind === 'entry-point')
        return undefined;
      const found = await find(path, { ...where, kind, namespace, pluginData: 'asked' });
      if (found.errors.length > 0 || found.external || found.namespace === 'declared')
        return undefined;
      const other = partOf(found.path);
      if (other === undefined || other === part) return undefined;
      asked[other].add(found.path);
      return { path: named(found.path), namespace: 'asked' };
    });
    onLoad({ filter: /./, namespace: 'asked' }, ({ path }) => {
      const there = `require('./${partOf(resolve(path))}.cjs').module(${JSON.stringify(path)})`;
      const exported = names.get(resolve(path));
      if (exported === undefined) return { contents: `module.exports = ${there};` };
      const lines = exported.map((name) =>
        name === 'default'
          ? 'export default there.default;'
          : `export const ${name} = there.${name};`,
      );
      return { contents: `const there = ${there};\n${lines.join('\n')}` };
    });
  };
}
