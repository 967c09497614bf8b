import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { packageRoot } from '../../package.ts';

export interface TemplateFile {
  /** Path inside the transport. */
  path: string;
  content: string;
}

/** npm leaves `.gitignore` files out of packages, so the template's has another name. */
const RENAMED: Record<string, string> = { gitignore: '.gitignore' };

/** The files of a new transport, or those below one of its folders. */
export async function templateFiles(folder = ''): Promise<TemplateFile[]> {
  const root = join(packageRoot(), 'template');
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    files.sort().map(async (file) => {
      const path = relative(root, file).split(sep).join('/');
      return { path: RENAMED[path] ?? path, content: await readFile(file, 'utf8') };
    }),
  );
}
