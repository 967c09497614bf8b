// Draws the picture of docs/architecture.md from the imports, so that it cannot go stale:
//   node docs/picture.js           writes it
//   node docs/picture.js --check   fails when it is not what the imports say, when files or folders import
//                                  each other in a circle, or when a folder has too many files to look over
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const PAGE = join(ROOT, 'docs', 'architecture.md');
const [BEGIN, END] = ['<!-- drawn by docs/picture.js -->', '<!-- end of the drawing -->'];
/** Files in one folder. The most are the commands, which are looked up by their names. */
const MAX_FILES = 35;
/** What `import`, `export … from` and `import()` name, of our own files. */
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

/** Files of a folder and all below it, by paths from `src`. */
function filesOf(folder) {
  return readdirSync(join(ROOT, 'src', folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesOf(path);
    return /\.tsx?$/.test(entry.name) ? [path.split(sep).join('/')] : [];
  });
}

const files = filesOf('').sort();
const known = new Set(files);
/** By file the files that it imports. */
const imports = new Map(
  files.map((file) => {
    const text = readFileSync(join(ROOT, 'src', file), 'utf8');
    const named = [...text.matchAll(IMPORT)].map(([, path]) =>
      normalize(join(dirname(file), path))
        .split(sep)
        .join('/'),
    );
    return [file, new Set(named.filter((path) => known.has(path)))];
  }),
);

/** The same between groups of files: by group the other groups that its files import. */
function between(groupOf) {
  const found = new Map();
  for (const [file, named] of imports) {
    const group = groupOf(file);
    if (group === undefined) continue;
    if (!found.has(group)) found.set(group, new Set());
    for (const other of named) {
      const to = groupOf(other);
      if (to !== undefined && to !== group) found.get(group).add(to);
    }
  }
  return found;
}

/** Groups of which each leads to the others. */
function circlesIn(graph) {
  const reach = (from) => {
    const seen = new Set();
    const left = [...graph.get(from)];
    for (let next = left.pop(); next !== undefined; next = left.pop())
      if (!seen.has(next)) {
        seen.add(next);
        left.push(...(graph.get(next) ?? []));
      }
    return seen;
  };
  const reached = new Map([...graph.keys()].map((one) => [one, reach(one)]));
  const circles = new Set();
  for (const [one, all] of reached)
    if (all.has(one))
      circles.add(
        [...all]
          .filter((other) => reached.get(other).has(one))
          .sort()
          .join(' '),
      );
  return [...circles];
}

/** Groups in rows: each imports groups of rows below its own only. */
function rowsOf(graph) {
  const heights = new Map();
  const heightOf = (group) => {
    if (!heights.has(group)) {
      heights.set(group, 0);
      const below = [...(graph.get(group) ?? [])].map(heightOf);
      heights.set(group, Math.max(-1, ...below) + 1);
    }
    return heights.get(group);
  };
  const rows = [];
  for (const group of [...graph.keys()].sort()) (rows[heightOf(group)] ??= []).push(group);
  return rows.reverse();
}

const roomOf = (file) => (file.includes('/') ? file.split('/')[0] : undefined);
const folderOf = (file) => dirname(file);
const house = between(roomOf);

/** A room with folders inside it: their rows, and the files that stand beside them in their row. */
function insideOf(room) {
  const within = (file) =>
    roomOf(file) === room ? folderOf(file).slice(room.length + 1) : undefined;
  const graph = between(within);
  if (graph.size < 2) return [];
  const nameOf = (group) => (group === '' ? `(${room})` : group);
  return rowsOf(graph).map((row, index) => {
    const names = row.map(nameOf).join(' · ');
    return `${(index === 0 ? room : '').padEnd(12)}${names}`;
  });
}

const rows = rowsOf(house);
const inside = rows
  .flat()
  .map(insideOf)
  .filter((lines) => lines.length > 0);
const drawing = [
  BEGIN,
  '',
  '```',
  ...rows.map((row) => row.join(' · ')),
  '```',
  '',
  'A room imports rooms of rows below its own. Inside the rooms that have folders the same holds; the',
  'name of the room in brackets stands for the files that lie in it beside its folders:',
  '',
  '```',
  ...inside.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines])),
  '```',
  '',
  END,
].join('\n');

const problems = [
  ...circlesIn(imports).map((circle) => `files import each other: ${circle}`),
  ...circlesIn(between(folderOf)).map((circle) => `folders import each other: ${circle}`),
];
for (const [folder, count] of grouped(files))
  if (count.length > MAX_FILES)
    problems.push(
      `src/${folder} has ${count.length} files; more than ${MAX_FILES} cannot be looked over`,
    );

function grouped(all) {
  const found = new Map();
  for (const file of all) found.set(folderOf(file), [...(found.get(folderOf(file)) ?? []), file]);
  return found;
}

const page = readFileSync(PAGE, 'utf8');
const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
if (from < 0 || to < from) problems.push(`${relative(ROOT, PAGE)} has no place for the picture`);
const drawn = `${page.slice(0, from)}${drawing}${page.slice(to + END.length)}`;
if (!process.argv.includes('--check') && from >= 0) writeFileSync(PAGE, drawn);
else if (drawn !== page)
  problems.push(`${relative(ROOT, PAGE)} does not show what the imports say: node docs/picture.js`);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
