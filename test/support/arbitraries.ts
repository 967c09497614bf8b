import fc from 'fast-check';
import { relPathAt } from '../../src/protocol/layout.ts';
import type { Address } from '../../src/protocol/address.ts';
import { memoryFileAt, type Memory } from '../../src/protocol/files/memory.ts';
import { isOption, type TalkFields } from '../../src/protocol/talk.ts';
import { isOneLine } from '../../src/protocol/text/quoted.ts';
import type { Message } from '../../src/protocol/message.ts';

const name = (): fc.Arbitrary<string> =>
  fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/).filter((text) => text !== '');

const relPath = (): fc.Arbitrary<string> =>
  fc
    .tuple(date(), fc.stringMatching(/^[0-9a-f]{8,16}$/))
    .map(([at, suffix]) => relPathAt(at, suffix));

/** A message of another channel. */
const origin = (): fc.Arbitrary<string> =>
  fc.tuple(fc.uuid(), relPath()).map(([channel, path]) => `${channel}/${path}`);

const date = (): fc.Arbitrary<Date> =>
  fc.date({ min: new Date('2000-01-01'), max: new Date('2099-12-31'), noInvalidDate: true });

const address = (): fc.Arbitrary<Address> =>
  fc.oneof(
    name().map((one) => ({ name: one })),
    fc.tuple(name(), name()).map(([one, host]) => ({ name: one, host })),
    fc.constant({ name: 'all' }),
  );

/** Values that YAML could mistake for something else, and ordinary ones. */
const scalar = (): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom(
      '',
      'true',
      'null',
      '~',
      '1e5',
      '0x1f',
      '1:30',
      '2026-01-01',
      '- x',
      '# y',
      '!!js z',
      '---',
      '*a',
    ),
    fc.string(),
    fc.string({ unit: 'grapheme' }),
  );

const extra = (): fc.Arbitrary<Record<string, unknown>> =>
  fc.dictionary(
    fc.stringMatching(/^x-[a-z]{1,8}$/),
    fc.oneof(scalar(), fc.array(scalar(), { minLength: 1, maxLength: 3 })),
    { maxKeys: 3, noNullPrototype: true },
  );

/** Markdown, and text that could be mistaken for a header. */
const body = (): fc.Arbitrary<string> =>
  fc.oneof(
    fc.string(),
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('---\nto: x\n---\n', '\n\n', '\r\n', '---js\n1\n---'),
  );

const ref = (): fc.Arbitrary<string> => fc.oneof(relPath(), origin());

const failure = (): fc.Arbitrary<NonNullable<TalkFields['failed']>> =>
  fc.record({
    reason: fc.constantFrom('exit_code', 'timed_out'),
    attempts: fc.nat(1000),
    host: name(),
    dead_letter: fc.stringMatching(/^[0-9A-Z]{26}$/),
  });

const talk = (): fc.Arbitrary<TalkFields> =>
  fc.record(
    {
      asks: fc.constant(true as const),
      options: fc.array(scalar().filter(isOption), { minLength: 1, maxLength: 4 }),
      interim: fc.constant(true as const),
      printed: fc.constant(true as const),
      final: ref(),
      failed: failure(),
      cancels: ref(),
      steers: relPath(),
      steered: fc.array(
        fc.record({
          message: relPath(),
          how: fc.constantFrom('into' as const, 'again' as const),
          run: fc.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    },
    { requiredKeys: [], noNullPrototype: true },
  );

export const message = (): fc.Arbitrary<Message> =>
  fc
    .record({
      talk: fc.oneof(fc.constant({}), talk()),
      from: name(),
      to: fc.array(address(), { minLength: 1, maxLength: 4 }),
      type: fc.constantFrom('text', 'event'),
      timestamp: date().map((at) => at.toISOString()),
      re: fc.array(relPath(), { maxLength: 3 }),
      cause: fc.array(relPath(), { maxLength: 3 }),
      origin: fc.option(fc.array(origin(), { minLength: 1, maxLength: 3 }), { nil: undefined }),
      tier: fc.option(name(), { nil: undefined }),
      host: fc.option(name(), { nil: undefined }),
      sig: fc.option(fc.stringMatching(/^[A-Za-z0-9+/]{1,300}={0,2}$/), { nil: undefined }),
      extra: extra(),
      body: body(),
    })
    .map(({ origin: from, tier, host, sig, talk: more, ...rest }) => ({
      ...rest,
      ...more,
      ...(from === undefined ? {} : { origin: from }),
      ...(tier === undefined ? {} : { tier }),
      ...(host === undefined ? {} : { host }),
      ...(sig === undefined ? {} : { sig }),
    }));

const memoryFile = (): fc.Arbitrary<string> =>
  fc
    .tuple(date(), fc.stringMatching(/^[0-9a-f]{8,16}$/))
    .map(([at, suffix]) => memoryFileAt(at, suffix));

/** A text is never undefined; a missing one stands for the absent field. */
const maybe = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(one, { nil: undefined });

const memoryName = (): fc.Arbitrary<string> => fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,20}$/);

export const memory = (): fc.Arbitrary<Memory> =>
  fc
    .record({
      from: name(),
      timestamp: date().map((at) => at.toISOString()),
      subject: scalar().filter((text) => text !== ''),
      scope: fc.oneof(
        fc.constant('global'),
        fc.uuid(),
        name().map((one) => `actor:${one}`),
      ),
      supersedes: fc.uniqueArray(memoryFile(), { maxLength: 3 }),
      alias: fc.array(scalar().filter(isOneLine), { maxLength: 3 }),
      name: maybe(memoryName()),
      kind: maybe(fc.constantFrom('decision', 'preference', 'reference', 'archive')),
      change: maybe(fc.constantFrom('forget', 'restore', 'alias')),
      changedBy: maybe(name()),
      covers: maybe(fc.array(origin(), { minLength: 1, maxLength: 3 })),
      extra: extra(),
      body: body(),
    })
    .map(({ name: called, kind, change, changedBy, covers, ...rest }) => ({
      ...rest,
      ...(called !== undefined && { name: called }),
      ...(kind !== undefined && { kind }),
      ...(change !== undefined && { change }),
      ...(changedBy !== undefined && { changedBy }),
      ...(covers !== undefined && { covers }),
    }));
