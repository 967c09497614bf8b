import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { hasCode } from '../errors.ts';
import { page } from './plain-page.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
};
/** Vite puts a hash of their content into the names of these files. */
// eslint-disable-next-line regexp/no-super-linear-backtracking -- only sees names of our own files
const HASHED = /^\/assets\/.*-[A-Za-z0-9_-]{8,}\.[a-z0-9]+$/;

/** A path that cannot be a page, although it may be requested. */
const FILE = /^\/assets\/|^\/[^/]+\.[a-z0-9]+$/;

/** The page's files as Vite wrote them. Only listed files are served, so no path leads outside. */
export class Files {
  readonly #folder: string;
  #listed: Map<string, string> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The file at a path, otherwise the page itself, whose script decides what to show. */
  async at(path: string): Promise<Response> {
    this.#listed ??= await list(this.#folder);
    const file = this.#listed.get(path);
    if (file !== undefined && path !== '/index.html')
      return serve(file, { forEver: HASHED.test(path) });
    if (FILE.test(path) && path !== '/index.html')
      return page(404, { title: 'There is no such file', paragraphs: [] });
    // The files may have been built again since.
    this.#listed = await list(this.#folder);
    const index = this.#listed.get('/index.html');
    return index === undefined
      ? page(503, {
          title: 'The page is not in this build of Crosstalk',
          paragraphs: ['The API works: see docs/web.md.'],
        })
      : serve(index, { forEver: false });
  }
}

async function serve(file: string, { forEver }: { forEver: boolean }): Promise<Response> {
  const headers = {
    'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
    'cache-control': forEver ? 'public, max-age=31536000, immutable' : 'no-store',
  };
  return new Response(new Uint8Array(await readFile(file)), { headers });
}

/** The files of a folder, by their paths in a URL. */
async function list(folder: string): Promise<Map<string, string>> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return new Map(
      entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .map((file) => [`/${relative(folder, file).split(sep).join('/')}`, file]),
    );
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return new Map();
    throw error;
  }
}
