import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { safeLink, tokensOf, treeOf, type Node } from '../../src/page/text/markdown.ts';
import { highlighted, queryOf } from '../../src/page/text/query.ts';
import { plainOf } from '../../src/page/text/plain.ts';
import { ageOf } from '../../src/present/times.ts';

describe('links in messages', () => {
  it('lead to web pages and mail addresses', () => {
    expect(safeLink('https://example.com/a?b=c')).toBe('https://example.com/a?b=c');
    expect(safeLink('mailto:someone@example.com')).toBe('mailto:someone@example.com');
  });

  it.each([
    'javascript:alert(1)',
    ' java\nscript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'vbscript:x',
    'data:text/html,<script>alert(1)</script>',
    'blob:https://example.com/1',
    'file:///etc/passwd',
    '//example.com',
    '/api/now',
    'ftp://example.com',
    '',
  ])('do not lead to %j', (href) => {
    expect(safeLink(href)).toBeUndefined();
  });
});

describe('the text of a message', () => {
  const linksOf = (nodes: readonly Node[]): string[] =>
    nodes.flatMap(({ token, children }) => [
      ...(token.type === 'link_open' ? [String(token.attrGet('href'))] : []),
      ...(token.type === 'image' ? [String(token.attrGet('src'))] : []),
      ...linksOf(children),
    ]);
  const typesOf = (nodes: readonly Node[]): string[] =>
    nodes.flatMap(({ token, children }) => [token.type, ...typesOf(children)]);

  it('is a tree in which every opened element holds what stands in it', () => {
    const [list] = treeOf(tokensOf('- one\n- two **strong**\n'));
    expect(list?.token.type).toBe('bullet_list_open');
    expect(list?.children.map(({ token }) => token.type)).toEqual([
      'list_item_open',
      'list_item_open',
    ]);
    expect(typesOf(list?.children ?? [])).toContain('strong_open');
  });

  it('never has HTML in it', () => {
    const text = '<script>alert(1)</script>\n\n<b onclick=x>a</b>\n\n<!-- c -->';
    expect(typesOf(treeOf(tokensOf(text))).filter((type) => type.startsWith('html'))).toEqual([]);
  });

  it('has only links that may be followed, whatever is written', () => {
    const schemes = fc.constantFrom('javascript:', 'data:', 'http://', 'HTTPS://', 'vbscript:', '');
    const shapes = fc.constantFrom('[a](%)', '![a](%)', '<%>', '%', '[a]: %\n\n[a]');
    fc.assert(
      fc.property(schemes, fc.string(), shapes, (scheme, rest, shape) => {
        const links = linksOf(treeOf(tokensOf(shape.replace('%', () => scheme + rest))));
        // A link without a target, as in [a](), is shown as text.
        const followed = links.filter((href) => href !== '');
        expect(followed.filter((href) => safeLink(href) === undefined)).toEqual([]);
      }),
    );
  });
});

it('an excerpt has the words of a text without its marks, on one line', () => {
  expect(plainOf('**Not** yet:\n\n1. `a` [b](https://c.de)\n')).toBe('Not yet: a b');
  expect(plainOf('all: | a | b | | --- | ---: | | 1 | 2 |')).toBe('all: a b 1 2');
  expect(plainOf('<b>x</b>')).toBe('<b>x</b>');
});

describe('search as one types', () => {
  it('takes the last word for the beginning of one', () => {
    expect(queryOf('dead let')).toBe('dead let*');
    expect(queryOf('dead ')).toBe('dead');
    expect(queryOf('cur*')).toBe('cur*');
    expect(queryOf('  ')).toBe('');
  });

  it('closes a phrase that is still being typed', () => {
    expect(queryOf('"dead le')).toBe('"dead le"');
    expect(queryOf('"dead letter"')).toBe('"dead letter"');
  });

  it('sets found words apart without changing the text', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (text, words) => {
        expect(
          highlighted(text, words)
            .map((part) => part.text)
            .join(''),
        ).toBe(text);
      }),
    );
    expect(highlighted('Dead letters', 'let')).toEqual([
      { text: 'Dead ', hit: false },
      { text: 'let', hit: true },
      { text: 'ters', hit: false },
    ]);
  });
});

it('ages are told in the unit that fits', () => {
  expect([0, 119, 120, 7199, 7200, 200_000].map(ageOf)).toEqual([
    '0 s',
    '119 s',
    '2 min',
    '120 min',
    '2 h',
    '2 d',
  ]);
});
