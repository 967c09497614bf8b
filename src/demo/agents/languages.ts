// Demo actor "languages": counts lines by file type. It is a script without a model.
import { extname } from 'node:path';
import { content, files, largest, plural } from './repository.ts';

const lines = new Map<string, number>();
let total = 0;
for (const path of files()) {
  const bytes = content(path);
  if (bytes.includes(0)) continue;
  const count = bytes.toString('utf8').split('\n').length - 1;
  const kind = extname(path) === '' ? 'no extension' : extname(path);
  lines.set(kind, (lines.get(kind) ?? 0) + count);
  total += count;
}
const parts = largest(lines, 4).map(([kind, count]) => `${kind} ${String(count)}`);
process.stdout.write(`${plural(total, 'line')} of text: ${parts.join(', ')}.\n`);
