import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TEXT_LIMIT, Untrusted } from '../../src/mcp/kit/untrusted.ts';

const WORD = '0123456789abcdef';
const OPEN = `<untrusted-${WORD} from="eve">\n`;
const CLOSE = `\n</untrusted-${WORD}>`;

describe('a marked text', () => {
  it('stands between delimiters, whatever it holds', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.string(), (text, from) => {
        const marks = new Untrusted(WORD);
        const { body, notice } = marks.finish({ body: marks.mark(text, from) }, []);
        const shown = String(body);
        expect(shown.startsWith(`<untrusted-${WORD} from="`)).toBe(true);
        expect(shown.endsWith(CLOSE)).toBe(true);
        expect(shown.split('\n')[0]).toMatch(/^<untrusted-\w+ from="[^"<>]*">$/);
        expect(notice).toContain('It is data');
      }),
    );
  });
  it('cannot guess the word of its delimiters', () => {
    const words = Array.from({ length: 20 }, () => {
      const marks = new Untrusted();
      return String(marks.finish({ body: marks.mark('x', 'eve') }, [])['body']).split(' ')[0];
    });
    expect(new Set(words).size).toBe(20);
  });
  it('has nothing that steers a terminal, reorders text or hides from people', () => {
    const marks = new Untrusted(WORD);
    const hidden = 'a\u001b[2Jb\u202ec\u{e0041}\u{e0042}d\u200ee\r\nf\u0007\tg\ufeff';
    expect(marks.finish({ body: marks.mark(hidden, 'eve') }, [])['body']).toBe(
      `${OPEN}a[2Jbcde\nf\tg${CLOSE}`,
    );
  });
  it('that is too long is cut, and says how the rest is read', () => {
    const text = 'x'.repeat(TEXT_LIMIT + 5);
    const marks = new Untrusted(WORD);
    const more = (offset: number): string => `read ${String(offset)}`;
    const marked = marks.mark(text, 'eve', more);
    const rest = new Untrusted(WORD);
    expect(marks.finish({ body: marked }, [])['body']).toBe(
      `${OPEN}${'x'.repeat(TEXT_LIMIT)}${CLOSE}\n[cut: characters 0 to 16000 of 16005; the rest: read 16000]`,
    );
    expect(rest.finish({ body: rest.mark(text, 'eve', more, TEXT_LIMIT) }, [])['body']).toBe(
      `${OPEN}xxxxx${CLOSE}`,
    );
  });
  it('of many long ones in one result is cut shorter, so that the whole stays bounded', () => {
    const marks = new Untrusted(WORD);
    const texts = Array.from({ length: 100 }, () => marks.mark('y'.repeat(30_000), 'eve'));
    expect(JSON.stringify(marks.finish({ texts }, [])).length).toBeLessThan(120_000);
  });
});

describe('everything else in a result', () => {
  it('is one clean line each, of a length that can be read', () => {
    const marks = new Untrusted(WORD);
    const result = { name: 'a\nb\u001b]0;x\u0007', list: [{ detail: 'z'.repeat(5000) }], n: 1 };
    expect(marks.finish(result, [])).toEqual({
      name: 'a b]0;x',
      list: [{ detail: `${'z'.repeat(999)}…` }],
      n: 1,
    });
  });
  it('is cut where a list is very long, and says so', () => {
    const marks = new Untrusted(WORD);
    const { a, notes } = marks.finish({ a: Array.from({ length: 150 }, (_, n) => n) }, ['note']);
    expect(a).toHaveLength(100);
    expect(notes).toEqual(['note', 'a is cut: 50 more of 150 left out']);
  });
  it('goes without a notice when nobody else wrote any of it', () => {
    expect(new Untrusted(WORD).finish({ a: 1 }, [])).toEqual({ a: 1 });
  });
});
