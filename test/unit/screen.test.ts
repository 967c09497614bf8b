import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Screen } from '../../src/runner/screen.ts';
import { Title } from '../../src/runner/title.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = (written: Uint8Array | string): string => Buffer.from(written).toString();
const title = (words: string): string => `\x1b]2;${words}\x1b\\`;

describe('a program and announcements on one screen', () => {
  it('the bytes of the program come through as they are, and in order', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 20 }), (chunks) => {
        const screen = new Screen();
        // Without a title, so that nothing except the bell is inserted.
        const mark = { extra: '<announced>' };
        const parts = chunks.flatMap((chunk) => [screen.output(chunk), screen.announce(mark)]);
        const written = Buffer.concat(parts).toString('latin1').replaceAll('<announced>', '');
        expect(written).toBe(Buffer.concat(chunks).toString('latin1'));
      }),
    );
  });
  it('an announcement waits until the sequence that is under way has ended', () => {
    const screen = new Screen();
    screen.output(bytes('abc\x1b[3'));
    expect(text(screen.announce({ bell: true }))).toBe('');
    expect(text(screen.output(bytes('1mred')))).toBe('1mred\x07');
    screen.output(bytes('\xe2').subarray(0, 1));
    expect(text(screen.announce({ bell: true }))).toBe('');
  });
  it('the names stand in front of the title of the program, and go when a line is sent off', () => {
    const screen = new Screen();
    screen.output(bytes(title('theirs')));
    expect(text(screen.announce({ names: ['ann'] }))).toBe(title('new from ann | theirs'));
    expect(text(screen.announce({ names: ['bob', 'ann'] }))).toBe(
      title('3 new: ann, bob | theirs'),
    );
    expect(text(screen.output(bytes('x\x1b]0;later\x07y')))).toBe(
      `x\x1b]0;later\x07y${title('3 new: ann, bob | later')}`,
    );
    expect(text(screen.input(bytes('half a line')))).toBe('');
    expect(text(screen.input(bytes('\r')))).toBe(title('later'));
    expect(text(screen.input(bytes('\r')))).toBe('');
  });
  it('a window that gets the focus has been looked at', () => {
    const screen = new Screen();
    screen.output(bytes(title('theirs')));
    screen.announce({ names: ['ann'] });
    expect(text(screen.input(bytes('\x1b[I')))).toBe(title('theirs'));
  });
  it('a title from before the program comes back from the memory of the terminal', () => {
    const screen = new Screen();
    expect(text(screen.announce({ names: ['ann'] }))).toBe(`\x1b[22;2t${title('new from ann')}`);
    expect(text(screen.announce({ names: ['ann'] }))).toBe(title('2 new: ann'));
    expect(screen.leave()).toBe(`${title('')}\x1b[23;2t`);
  });
  it('no name and no title can end the sequence that shows them', () => {
    const screen = new Screen();
    screen.output(bytes('\x1b]2;a\u009c\u202eb\x07'));
    expect(text(screen.announce({ names: ['x\x07\x1b]52;c;eA==\x07'] }))).toBe(
      title('new from x]52;c;eA== | ab'),
    );
  });
});

describe('a program that ends without putting its terminal back', () => {
  it.each([
    ['\x1b[?1049h\x1b[?1000;1006h\x1b[?25l', '\x1b[?1000l\x1b[?1006l\x1b[?25h\x1b[?1049l'],
    ['\x1b[>1u\x1b[>4;2m', '\x1b[<1u\x1b[>4m'],
    ['\x1b[31mred', '\x1b[0m'],
    ['\x1b=\x1b(0\x1b[5 q', '\x1b>\x1b(B\x1b[0 q'],
    ['\x1b[2;20r', '\x1b7\x1b[r\x1b8'],
    ['\x1b]2;never ended', '\x18'],
    ['\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049l\x1b[31m\x1b[m\x1b[>1u\x1b[<u', ''],
    ['\x1b[?1049h\x1b[31m\x1bc', ''],
  ])('%j is undone by %j', (written, undone) => {
    const screen = new Screen();
    screen.output(bytes(written));
    expect(screen.leave()).toBe(undone);
  });
  it('gets back what it had set when it goes on', () => {
    const screen = new Screen();
    screen.output(bytes('\x1b[?1000h\x1b[?1049h\x1b[?25l\x1b[>1u'));
    screen.leave();
    expect(screen.enter()).toBe('\x1b[?1049h\x1b[?1000h\x1b[?25l\x1b[>1u');
  });
});

it('the title names those who wrote since the last look, and no others', () => {
  const shown = new Title();
  expect(shown.announce(['ann'])).toContain('new from ann');
  shown.restore();
  expect(shown.announce(['bob'])).toContain('new from bob');
  expect(shown.announce(['cid'])).toContain('2 new: bob, cid');
});
