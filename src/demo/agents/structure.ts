// Demo actor "structure": examines folders and file sizes. It is a script without a model.
import { content, files, largest, plural } from './repository.ts';

const folders = new Map<string, number>();
const sizes = new Map<string, number>();
for (const path of files()) {
  const folder = path.includes('/') ? `${path.split('/')[0] ?? ''}/` : 'the top level';
  folders.set(folder, (folders.get(folder) ?? 0) + 1);
  sizes.set(path, content(path).length);
}
const parts = largest(folders, 4).map(([folder, count]) => `${folder} ${String(count)}`);
const [path, size] = largest(sizes, 1)[0] ?? ['none', 0];
process.stdout.write(
  `${plural(sizes.size, 'file')} in ${plural(folders.size, 'place')}: ${parts.join(', ')}; the largest is ${path} (${String(Math.ceil(size / 1024))} KiB).\n`,
);
