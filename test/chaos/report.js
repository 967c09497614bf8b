// node test/chaos/report.js long|short <results.json>…: shows what a run of the tests (vitest's json
// reporter) found out about the promises: each row of docs/failures.md, the kills and the fuzzed files.
// In a short one not all kills were tried.
import { readFileSync } from 'node:fs';

const [form, ...files] = process.argv.slice(2);
const isWhole = form === 'long';
const results = files
  .flatMap((file) => JSON.parse(readFileSync(file, 'utf8')).testResults)
  .flatMap(({ assertionResults }) => assertionResults);
const rows = readFileSync(new URL('../../docs/failures.md', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (what happens|---)/.test(line))
  .map((line) => line.split('|').at(-2).trim());

const literal = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const fates = rows.map((row) => {
  const title = new RegExp(
    `^${row
      .split(/%[sdifj]|\$\w+/)
      .map(literal)
      .join('.+')}(?: \\(skipped .*\\))?$`,
  );
  const found = results.filter((test) => title.test(test.title));
  const failed = found.some(({ status }) => status === 'failed');
  if (failed || found.length === 0) return { row, fate: 'failed' };
  return { row, fate: found.some(({ status }) => status === 'passed') ? 'survived' : 'not tried' };
});
const count = (wanted) => fates.filter(({ fate }) => fate === wanted).length;
const passed = (pattern) =>
  results.flatMap(({ title, status }) => {
    const match = pattern.exec(title);
    return match !== null && status === 'passed' ? [Number(match[1] ?? 1)] : [];
  });
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

const random = sum(passed(/^(\d+) kills at random points lose nothing/));
const named = sum(passed(/^a dispatcher that is killed at .+ loses nothing/));
console.log(
  `faults survived: ${count('survived')} of ${rows.length} (not tried here: ${count('not tried')})`,
);
for (const { row, fate } of fates)
  if (fate === 'failed' || (fate !== 'survived' && isWhole)) console.log(`  ${fate}: ${row}`);
console.log(
  `kills survived: ${random} at random points, ${named} named points three times each; 0 lost, 0 duplicated`,
);
const wide = /^(\d+) kills and \d+ faults of history on \d+ machines lose nothing/;
const histories = /^\d+ kills and (\d+) faults of history on \d+ machines lose nothing/;
console.log(
  `on several machines: ${sum(passed(wide))} kills and ${sum(passed(histories))} faults of history; 0 lost, 0 answered twice, 0 with another's answer, 0 stranded`,
);
console.log(
  `files fuzzed: ${sum(passed(/^(\d+) generated files never crash/))}; 0 crashed, 0 escaped`,
);
const lacks = random === 0 || named === 0 || sum(passed(wide)) === 0;
process.exitCode = count('failed') > 0 || (isWhole && lacks) ? 1 : 0;
