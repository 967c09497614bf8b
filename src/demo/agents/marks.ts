// Demo actor "marks": finds notes about unfinished work in the code. It is a script without a
// model.
import { content, files, plural } from './repository.ts';

const MARK = /\b(?:TODO|FIXME|XXX|HACK)\b[:(]/;
const found: string[] = [];
for (const path of files()) {
  const bytes = content(path);
  if (bytes.includes(0)) continue;
  bytes
    .toString('utf8')
    .split('\n')
    .forEach((line, index) => {
      if (MARK.test(line)) found.push(`${path}:${String(index + 1)}`);
    });
}
const where = found.length === 0 ? '' : `, the first at ${found.slice(0, 3).join(', ')}`;
process.stdout.write(`${plural(found.length, 'open mark')} (TODO, FIXME, XXX, HACK)${where}.\n`);
