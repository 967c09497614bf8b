import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { anyText } from '../support/any-text.ts';
import { expect, it } from 'vitest';
import { activation } from '../../src/protocol/activation.ts';
import { parseProfile } from '../../src/protocol/files/actor.ts';
import { parseChannel } from '../../src/protocol/files/channel.ts';
import { openQuestions } from '../../src/protocol/causality.ts';
import { parseHostFile } from '../../src/protocol/files/host-file.ts';
import { placeOf, isName, isRelPath, isSender } from '../../src/protocol/layout.ts';
import { parseMemory } from '../../src/protocol/files/memory.ts';
import { formatMessage, parseMessage } from '../../src/protocol/message.ts';
import { formatPrompt } from '../../src/protocol/prompt/prompt.ts';
import { examples } from '../support/form.ts';
import { fixtures } from '../support/fixtures.ts';
import { headers } from '../support/headers.ts';

/** npm run test:fuzz sets a higher number. */
const FILES = Number(process.env['FUZZ_FILES'] ?? examples(4000));
/** Measured as processor time, so that other processes of a busy machine do not count. */
const SLOWEST_MS = 2000;

const corpus = ['valid', 'malformed', 'hostile'].flatMap((folder) =>
  readdirSync(join(fixtures, folder)).map((name) => readFileSync(join(fixtures, folder, name))),
);

/** Fragments that break parsers, terminals, shells and paths. */
const NASTY = [
  '---',
  '---js',
  '...',
  '&a [*a]',
  '*a',
  '<<: *a',
  '!!js/function x',
  '!!binary /w==',
  '? x',
  '|',
  '>-',
  '{',
  '[',
  '"',
  "'",
  '#',
  ': ',
  '- ',
  '\t',
  '__proto__',
  'constructor',
  'prototype',
  '1e999',
  '0x10',
  '9'.repeat(400),
  '-0',
  '.inf',
  '~',
  'null',
  '2026-06-09',
  '1:30',
  '\u0000',
  '\u001b[2J',
  '\u0007',
  '\u202e',
  '\ufeff',
  '\r\n',
  '\r',
  '\u2028',
  '\ud800',
  'ä',
  '😀',
  '..',
  '../../etc/passwd',
  '/etc',
  '-rf',
  '$(id)',
  '`id`',
  ';id',
  '@',
  'a@b@c',
  'all',
  'from: ',
  'to: ',
  'type: text',
  're: ',
  'cause: ',
  'host: ',
  'tier: ',
  'actors: ',
  'alias: ',
  'cli: ',
  'count: ',
  'name: ',
  'description: ',
  'scope: ',
  'subject: ',
  '2026/06/09/190000000Z-1f2e3d4c.md',
  'timestamp: 2026-06-09T19:00:00Z',
];

const mutated = fc
  .tuple(
    fc.constantFrom(...corpus),
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.nat(40),
        fc.oneof(fc.constantFrom(...NASTY), anyText({ maxLength: 8 })),
      ),
      { maxLength: 6 },
    ),
  )
  .map(([bytes, edits]) =>
    edits.reduce((text, [at, cut, insert]) => {
      const from = text.length === 0 ? 0 : at % text.length;
      return Buffer.concat([
        text.subarray(0, from),
        Buffer.from(insert),
        text.subarray(from + cut),
      ]);
    }, bytes),
  );
const assembled = fc
  .array(fc.constantFrom(...NASTY, '\n', '\n', ' ', 'x'), { maxLength: 60 })
  .map((parts) => Buffer.from(`---\n${parts.join('')}\n---\n`));
/** A header whose fields are mostly valid, so that most headers are accepted. */
const header = (good: string[]): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...good) },
    { weight: 1, arbitrary: fc.constantFrom(...NASTY) },
  );
const plausible = fc
  .record({
    from: header(['worker', 'mallory', 'a.b-c_d', '0']),
    to: header(['worker', '[worker, "other@front"]', 'all', 'worker@front']),
    type: header(['text', 'vote']),
    timestamp: header(['2026-06-09T19:00:00Z', '"2026-06-09T19:00:00.000Z"']),
    re: header(['2026/06/09/190000000Z-1f2e3d4c.md', '[2026/06/09/190000000Z-1f2e3d4c.md]']),
    tier: header(['deep', 'fast']),
    extra: fc.constantFrom(...NASTY),
    body: anyText({ maxLength: 80 }),
  })
  .map(({ extra, body, ...fields }) => {
    const lines = Object.entries(fields).map(([key, value]) => `${key}: ${value}`);
    return Buffer.from(`---\n${lines.join('\n')}\nx: ${JSON.stringify(extra)}\n---\n\n${body}`);
  });
/**
 * Headers up to the limit and over it that are slow for a careless parser, and cut versions of
 * them.
 */
const large = fc
  .tuple(fc.constantFrom(...Object.values(headers)), fc.nat(70_000), fc.nat(70_000))
  .map(([make, size, cut]) => Buffer.from(`---\n${make(size).slice(0, cut)}\n---\n`));
const file = fc.oneof(
  { weight: 20, arbitrary: plausible },
  { weight: 20, arbitrary: mutated },
  { weight: 20, arbitrary: assembled },
  {
    weight: 20,
    arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  },
  { weight: 2, arbitrary: large },
);

// npm run test:fuzz takes as long as it is told.
const form = { tags: 'sampled', timeout: 3_600_000 };
it(`${String(FILES)} generated files never crash, hang or get a wrong name accepted`, form, () => {
  let accepted = 0;
  fc.assert(
    fc.property(file, (bytes) => {
      const begun = process.cpuUsage();
      const text = bytes.toString('utf8');
      parseHostFile(text);
      parseChannel(text, '3f0c2a52-9f0e-4a57-8f6c-0b7a5f5d2c11');
      parseProfile(text, 'worker');
      parseMemory(text);
      const parsed = parseMessage(bytes);
      if (parsed.ok) {
        accepted++;
        const { value: message } = parsed;
        expect(isSender(message.from)).toBe(true);
        expect(
          message.to.every(
            ({ name, host }) => isSender(name) && (host === undefined || isName(host)),
          ),
        ).toBe(true);
        expect([...message.re, ...message.cause].every(isRelPath)).toBe(true);
        expect(parseMessage(Buffer.from(formatMessage(message)))).toEqual(parsed);
        activation(message, 'worker', 'front', () => 'worker');
        openQuestions({ relPath: 'x', message }, 'worker', () => message);
        formatPrompt({
          word: '0123456789abcdef',
          protocol: '',
          profile: '',
          channel: { id: '', name: '', body: '' },
          actor: 'worker',
          host: 'front',
          workdir: { path: '/work', workspace: true },
          tier: 'default',
          answers: [],
          thread: [{ relPath: 'x', message }],
          batch: [{ relPath: 'x', message }],
        });
      }
      const { user, system } = process.cpuUsage(begun);
      expect((user + system) / 1000).toBeLessThan(SLOWEST_MS);
    }),
    { numRuns: FILES },
  );
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  process.stdout.write(
    `${String(FILES)} files fuzzed, ${String(accepted)} of them messages, 0 escaped\n`,
  );
});

it('any path at all has a place, and only well-formed ones are a message’s', () => {
  const part = fc.oneof(
    fc.constantFrom(
      'data',
      'channels',
      'hosts',
      'local',
      'actors',
      'upstream',
      '..',
      '.',
      '',
      'CHANNEL.md',
      '2026',
      '3f0c2a52-9f0e-4a57-8f6c-0b7a5f5d2c11',
      '190000000Z-1f2e3d4c.md',
    ),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 9 }), (parts) => {
      const place = placeOf(parts.join('/'));
      if (place.kind === 'message') expect(isRelPath(place.relPath)).toBe(true);
      if (place.kind === 'profile') expect(isName(place.name)).toBe(true);
    }),
    { numRuns: FILES },
  );
});
