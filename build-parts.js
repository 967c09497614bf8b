// Bundles the program in three parts, so that each command reads little more than it needs
// (docs/decisions/28-starting.md): `main.cjs` is the command line, up to where a dispatcher takes a message over;
// `core.cjs` is what the commands that are typed most do themselves; `rest.cjs` is all else.
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { transform } from 'esbuild';
import { rolldown } from 'rolldown';

const MAIN = resolve('src/cli/main.ts');
/** The commands that the first two parts have: the more there are, the later each of them starts. */
const FIRST = ['send.ts', 'ask.ts', 'talk/reply.ts', 'talk/cancel.ts', 'status.ts', 'log.ts'].map(
  (name) => resolve('src/cli/commands', name),
);
/** What the first part is made of, with all that these import; what they import later is in the others. */
const FRONT = ['main.ts', 'program.ts', 'commands/send.ts', 'commands/ask.ts'].map((name) =>
  resolve('src/cli', name),
);

/**
 * @param options what rolldown receives
 * @param maps whether a source map is written beside each part
 * @returns the files
 */
export async function buildParts(options, maps) {
  const front = new Set(FRONT);
  const first = new Set([MAIN, ...FIRST]);
  function findModules() {
    const infoOf = (id) => this.getModuleInfo(id);
    for (const id of front) for (const one of infoOf(id).importedIds) front.add(one);
    for (const id of first) {
      const { importedIds, dynamicallyImportedIds } = infoOf(id);
      // The list of commands imports the file of each.
      const later = id.startsWith('\0') ? [] : dynamicallyImportedIds;
      for (const one of [...importedIds, ...later]) if (infoOf(one) !== null) first.add(one);
    }
  }
  const bundle = await rolldown({
    ...options,
    input: { entry: MAIN },
    plugins: [{ name: 'parts', buildEnd: findModules }, ...options.plugins],
    // Parts export to one another, whatever the entry does.
    preserveEntrySignatures: 'allow-extension',
  });
  const { output } = await bundle.generate({
    format: 'cjs',
    esModule: false,
    generatedCode: { symbols: false },
    // A script from the code cache has no import(), but it has require().
    dynamicImportInCjs: false,
    // Each module is evaluated when it is needed.
    strictExecutionOrder: true,
    comments: false,
    sourcemap: maps,
    chunkFileNames: ({ moduleIds }) => (moduleIds.includes(MAIN) ? 'main.cjs' : '[name].cjs'),
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        { name: 'main', test: (id) => front.has(id), priority: 3 },
        { name: 'core', test: (id) => first.has(id), priority: 2 },
        { name: 'rest', test: () => true, priority: 1 },
      ],
    },
  });
  await bundle.close();
  const [entry] = output.filter(({ isEntry }) => isEntry);
  const chunks = output.filter(({ type, isEntry }) => type === 'chunk' && !isEntry);
  return Promise.all(chunks.map((chunk) => write(chunk, entry)));
}

/** Writes a part, the first with what begins it; returns its file. */
async function write({ fileName, code, map }, entry) {
  const file = `dist/${fileName}`;
  const all = fileName === 'main.cjs' ? `${code}\n{ ${entry.code} }` : code;
  const known = map ? `\n//# sourceMappingURL=${map.toUrl()}` : '';
  const small = await transform(all + known, {
    target: 'node20',
    // Smaller files start faster; names stay, so that stack traces can be read.
    minifyWhitespace: true,
    minifySyntax: true,
    supported: { 'dynamic-import': false },
    sourcemap: map ? 'external' : false,
  });
  writeFileSync(file, small.code);
  if (map) writeFileSync(`${file}.map`, small.map);
  return file;
}
