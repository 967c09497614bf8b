import fc from 'fast-check';

/**
 * Text of any code points. The unit `binary` of fast-check keeps 85 MB of tables in the process, and
 * each program that it starts from then on costs more.
 */
export function anyText(constraints?: fc.StringSharedConstraints): fc.Arbitrary<string> {
  return fc.string({ unit: codePoint, ...constraints });
}

const SURROGATES = { from: 0xd800, count: 0x800 };

const codePoint = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATES.count })
  .map((n) => String.fromCodePoint(n < SURROGATES.from ? n : n + SURROGATES.count));
