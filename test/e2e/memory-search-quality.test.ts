// @module-tag long
import { expect, it } from 'vitest';
import { formatMemory, memoryFileAt } from '../../src/protocol/files/memory.ts';
import { Bus } from '../support/bus.ts';
import { NOTES, QUERIES } from '../support/notes-corpus.ts';

/** Of so many queries the note that answers it has to be among the first three. */
const LEAST = 0.9;

it('what people search for is among the first three notes', async () => {
  const host = await new Bus().host('front', {});
  const files = new Map(
    NOTES.map(([id, age], n) => {
      const at = new Date(Date.now() - age * 86_400_000);
      return [id, memoryFileAt(at, n.toString(16).padStart(8, '0'))];
    }),
  );
  host.edit(
    Object.fromEntries(
      NOTES.map(([id, age, subject, body, { alias = [], ...more } = {}]) => [
        `data/memories/${files.get(id) ?? ''}`,
        formatMemory({
          from: 'anna',
          timestamp: new Date(Date.now() - age * 86_400_000).toISOString(),
          subject,
          scope: 'global',
          supersedes: [],
          alias,
          ...more,
          extra: {},
          body: `${body}\n`,
        }),
      ]),
    ),
  );
  await host.run('sync');
  expect(QUERIES.length).toBeGreaterThanOrEqual(60);
  const missed: string[] = [];
  for (const [words, answer] of QUERIES) {
    const ran = await host.run('memory', 'search', '--json', words);
    const found = JSON.parse(ran.out) as { file: string; subject: string }[];
    const first = found.slice(0, 3);
    if (!first.some(({ file }) => file === files.get(answer)))
      missed.push(`${words}: ${first.map(({ subject }) => subject).join(' | ')}, not ${answer}`);
  }
  const rate = 1 - missed.length / QUERIES.length;
  const line = `memory search, first three: ${rate.toFixed(3)} of ${String(QUERIES.length)}`;
  process.stdout.write(`${[line, ...missed].join('\n  missed ')}\n`);
  expect(rate).toBeGreaterThanOrEqual(LEAST);
});
