// Builds the page of `crosstalk web` into dist/page, which users get ready-made.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

const OUT = 'dist/page';
/** What the page was last built from; not part of the package. */
const STAMP = 'dist/page.cache';
const SOURCES = [
  'build-page.js',
  'package-lock.json',
  'src/page',
  'src/protocol',
  'src/api',
  'src/present',
];

/** Builds the page unless it was built from the very same sources. */
export async function buildPage() {
  const stamp = stampOf(SOURCES);
  if (existsSync(`${OUT}/index.html`) && existsSync(STAMP) && readFileSync(STAMP, 'utf8') === stamp)
    return;
  rmSync(OUT, { recursive: true, force: true });
  const { build } = await import('vite');
  await build({
    configFile: false,
    root: 'src/page',
    base: '/',
    logLevel: 'warn',
    publicDir: false,
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir: resolve(OUT),
      emptyOutDir: true,
      target: ['chrome123', 'firefox121', 'safari17.5'],
      // The page may load nothing inline and nothing from data: addresses.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
  });
  writeFileSync(STAMP, stamp);
}

function stampOf(paths) {
  const hash = createHash('sha256');
  for (const path of paths.flatMap(filesBelow)) hash.update(`${path}\0`).update(readFileSync(path));
  return hash.digest('hex');
}

function filesBelow(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesBelow(`${path}/${name}`));
}
