import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Escapes } from '../../src/runner/escapes.ts';

/** What programs write: text, sequences of every kind, broken ones, and arbitrary bytes. */
const pieces = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => Buffer.from(text)),
  fc
    .constantFrom(
      '\x1b[31m',
      '\x1b[?1049h',
      '\x1b]2;title\x07',
      '\x1b]8;;http://x\x1b\\',
      '\x1bP1$r0m\x1b\\',
      '\x1b_Gf=100;AAAA\x1b\\',
      '\x1b(B',
      '\x1b7',
      '\x1b[12\x18',
      '\x1b]2;never ended',
      '\x1bPq#0\x1b[1m',
      '\u009b1m',
      '\u009d2;t\x07',
      '\r\n',
    )
    .map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
);
const streams = fc.array(pieces, { maxLength: 20 }).map((all) => Buffer.concat(all));

/** The places where something may be inserted, determined byte by byte. */
function places(stream: Buffer): Set<number> {
  const escapes = new Escapes();
  const found = new Set(escapes.atRest ? [0] : []);
  stream.forEach((byte, index) => {
    escapes.feed(Uint8Array.of(byte));
    if (escapes.atRest) found.add(index + 1);
  });
  return found;
}

it('the places that are safe are the same however the stream is cut', () => {
  fc.assert(
    fc.property(streams, fc.array(fc.nat(200), { maxLength: 6 }), (stream, cuts) => {
      const safe = places(stream);
      const escapes = new Escapes();
      const edges = [
        0,
        ...cuts.filter((cut) => cut < stream.length).sort((a, b) => a - b),
        stream.length,
      ];
      edges.slice(1).forEach((end, index) => {
        const start = edges[index] ?? 0;
        const at = escapes.feed(stream.subarray(start, end));
        const inside = [...safe].filter((place) => place >= start && place <= end);
        expect(at === undefined ? undefined : start + at).toBe(
          inside.length === 0 ? undefined : Math.max(...inside),
        );
        expect(escapes.atRest).toBe(safe.has(end));
      });
    }),
  );
});

it('no place inside of a whole sequence or character is safe', () => {
  for (const whole of [
    '\x1b[38;5;1m',
    '\x1b]2;a\u00fcb\x07',
    '\x1b]0;x\x1b\\',
    '\x1bPq\x1b\\',
    '\x1b(B',
    '\u20ac',
    '\u{1f600}',
    '\x1bktitle\x1b\\',
  ]) {
    const bytes = Buffer.from(whole);
    expect([...places(bytes)], JSON.stringify(whole)).toEqual([0, bytes.length]);
  }
});

describe('what is told of sequences', () => {
  const told = (text: string): string[] => {
    const seen: string[] = [];
    const escapes = new Escapes(({ kind, text: words }) => seen.push(`${kind} ${words}`));
    escapes.feed(Buffer.from(text));
    return seen;
  };
  it.each([
    ['\x1b[?25l', ['csi ?25l']],
    ['\x1b]0;a title\x07', ['osc 0;a title']],
    ['\x1b]2;\u00fcber\x1b\\', ['osc 2;\u00fcber']],
    ['\x1b7\x1b(0', ['esc 7', 'esc (0']],
    ['\x1b[1\r2m', ['csi 12m']],
    ['\x1b[1\x1b[2m', ['csi 2m']],
    ['\x1b]2;lost\x1b[0m', ['csi 0m']],
    ['\x1bP1;2qignored\x1b\\', []],
    [`\x1b]2;${'x'.repeat(5000)}\x07`, ['osc ']],
  ])('%j', (text, sequences) => {
    expect(told(text)).toEqual(sequences);
  });
});
