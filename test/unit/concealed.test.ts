import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Concealer } from '../../src/protocol/text/secrets.ts';
import { Screen } from '../../src/secrets/screen.ts';

const SECRET = 'pass $word’s "end"\n';
const secrets = new Map([['vault.key', SECRET]]);

/** What a stream shows of a text that comes in pieces of so many bytes. */
function streamed(concealer: Concealer, text: string, sizes: readonly number[]): string {
  const show = concealer.stream();
  const bytes = Buffer.from(text);
  const shown: Buffer[] = [];
  let at = 0;
  for (const size of sizes) shown.push(show(bytes.subarray(at, (at += size))));
  shown.push(show(bytes.subarray(at)), show());
  return Buffer.concat(shown).toString('utf8');
}

describe('what a run prints', () => {
  it.each([
    ['as it is', SECRET],
    ['in JSON', JSON.stringify({ said: SECRET })],
    ['in JSON in JSON', JSON.stringify({ said: JSON.stringify({ said: SECRET }) })],
  ])('shows the name of a secret in its place, %s', (_how, text) => {
    const shown = new Concealer(secrets).text(`before ${text} after`);
    expect(shown).toContain('[secret vault.key]');
    expect(shown).not.toContain('word’s');
    expect(shown).toMatch(/^before .* after$/s);
  });

  it('is the same in whatever pieces it comes', () => {
    const concealer = new Concealer(new Map([...secrets, ['other', 'aaaaaaab']]));
    const word = fc.constantFrom(SECRET, JSON.stringify(SECRET), SECRET.slice(0, 9), 'a', 'b', '’');
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 30 }).map((words) => words.join('')),
        fc.array(fc.nat({ max: 20 }), { maxLength: 30 }),
        (text, sizes) => {
          expect(streamed(concealer, text, sizes)).toBe(concealer.text(text));
          expect(concealer.text(text)).not.toContain(SECRET);
        },
      ),
    );
  });

  it('is passed on as it comes where it cannot be the beginning of a secret', () => {
    const show = new Concealer(secrets).stream();
    expect(show(Buffer.from('working\npas')).toString()).toBe('working\n');
    expect(show(Buffer.from('ta')).toString()).toBe('pasta');
  });

  it('stays as it is where nothing is secret, or the secret is short', () => {
    for (const known of [new Map<string, string>(), new Map([['pin', '1234']])])
      expect(new Concealer(known).text('1234 \uFFFD')).toBe('1234 \uFFFD');
  });
});

describe('a secret that this machine keeps', () => {
  const look = (screen: Screen, content: string): Promise<unknown> =>
    screen.look({
      commits: [
        {
          author: { name: 'a', email: 'a@b' },
          at: '',
          subject: '',
          files: [{ path: 'local/x.md', content }],
        },
      ],
    });
  const screen = (bytes?: Uint8Array): Screen =>
    new Screen({ bytesOf: () => Promise.resolve(bytes), mode: () => Promise.resolve('on') });

  it('is found whatever it looks like, also where the same text was looked at before', async () => {
    const one = screen();
    const text = `plain\nand ${JSON.stringify(SECRET)}`;
    expect(await look(one, text)).toEqual([]);
    one.known.add('vault.key', SECRET);
    expect(await look(one, text)).toEqual([
      { kind: 'the secret vault.key of this machine', where: 'local/x.md', line: 2 },
    ]);
    one.known.add('vault.key', 'another value');
    expect(await look(one, text)).toEqual([]);
  });

  it.each([
    ['UTF-8', Buffer.from(`\x00\xff ${SECRET}`)],
    ['UTF-8, of which it is all', Buffer.from(SECRET)],
    ['UTF-16', Buffer.from(`\uFEFF${SECRET}`, 'utf16le')],
  ])('is found in an attached file, in %s', async (_how, bytes) => {
    const one = screen(bytes);
    one.known.add('vault.key', SECRET);
    const blob = { sha256: 'a'.repeat(64), bytes: bytes.length, path: 'data/files/aa/a' };
    const found = await one.look({
      commits: [
        {
          author: { name: 'a', email: 'a@b' },
          at: '',
          subject: '',
          files: [],
          blobs: [blob],
        },
      ],
    });
    expect(found).toMatchObject([{ kind: 'the secret vault.key of this machine' }]);
  });
});
