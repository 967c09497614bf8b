import { describe, expect, it } from 'vitest';
import { Escapes } from '../../src/runner/escapes.ts';
import { clean } from '../../src/chat/clean.ts';
import { wrap } from '../../src/chat/columns.ts';
import { entryLines } from '../../src/chat/lines.ts';
import { body } from '../../src/cli/view/message.ts';
import { harmless, indent, table } from '../../src/cli/view/render.ts';
import { reasonOf } from '../../src/errors.ts';
import { partsOf, termsOf } from '../../src/index/search.ts';
import { parseJsonc } from '../../src/protocol/text/jsonc.ts';
import { parseToml } from '../../src/protocol/text/toml.ts';
import { oneLine, Untrusted } from '../../src/mcp/kit/untrusted.ts';
import { MARKDOWN_LIMIT, safeLink } from '../../src/page/text/markdown.ts';
import { plainOf } from '../../src/page/text/plain.ts';
import { KNOWN_AGENTS } from '../../src/agents/agents.ts';
import { commandLine } from '../../src/agents/command-line.ts';
import { namedPaths } from '../../src/agents/named-paths.ts';
import { parseAddress, parseRecipients } from '../../src/protocol/address.ts';
import { channelNameProblem } from '../../src/protocol/files/channel.ts';
import { apart, wordsIn } from '../../src/protocol/text/apart.ts';
import { excerptOf } from '../../src/protocol/text/excerpt.ts';
import { parseDuration } from '../../src/protocol/text/times.ts';
import {
  folderUse,
  placeOf,
  versionProblem,
  isName,
  isRelPath,
  suffixOf,
  toName,
} from '../../src/protocol/layout.ts';
import { isOneLine, withoutTrailing } from '../../src/protocol/text/quoted.ts';
import { isTier, parseMessage } from '../../src/protocol/message.ts';
import { parsePlainHeader } from '../../src/protocol/text/frontmatter.ts';
import { formatPrompt } from '../../src/protocol/prompt/prompt.ts';
import { misconfigurationOf } from '../../src/agents/misconfigured.ts';
import { refusalOf } from '../../src/agents/refusal.ts';
import { statedTime } from '../../src/agents/reset-time.ts';
import { shown } from '../../src/protocol/text/result.ts';
import { colourless, withoutSequences } from '../../src/protocol/text/words.ts';
import { classify } from '../../src/transport/git/failure.ts';
import { parseTree } from '../../src/transport/objects/tree-object.ts';
import { isShort } from '../support/form.ts';
import { said } from '../support/messages.ts';
import { processorTime } from '../support/processor-time.ts';

/** Bytes of a text, and milliseconds of processor time for it: what is quadratic takes far longer. */
const [SIZE, LIMIT_MS] = isShort ? [128 * 1024, 2500] : [1024 * 1024, 20_000];
const NOW = new Date('2026-06-09T19:00:00Z');
const plainPaint = (_: unknown, text: string): string => text;
/** The same with letters that no space follows, and marks on them. */
const wide = (text: string): string =>
  text.replaceAll('a', '\u4e2d').replaceAll('-', '\u304b\u3099\u302a');
const attempt = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (error) {
    return error;
  }
};

/** Every function that processes text of other people, or of agent CLIs and git, which repeat it. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  apart: (text) => apart(wide(text)),
  body: (text) => body(plainPaint, text),
  channelNameProblem,
  classify,
  clean,
  colourless,
  commandLine,
  entryLines: (text) => entryLines({ from: 'x', body: text } as never),
  Escapes: (text) => new Escapes().feed(Buffer.from(text)),
  excerptOf: (text) => excerptOf(text, 'one two', 200),
  'excerptOf, of words': (text) => excerptOf(text.slice(0, 4000), wide(text).slice(0, 65_536), 200),
  folderUse: (text) => folderUse(`data/channels/${text}`),
  formatPrompt: (text) => {
    const item = said(1, 'a', 'b');
    const message = { ...item.message, body: text };
    return formatPrompt({
      word: '0123456789abcdef',
      workdir: { path: text, workspace: true },
      protocol: text,
      profile: text,
      channel: { id: '', name: text, body: text },
      actor: 'b',
      host: 'h',
      tier: 'default',
      answers: [],
      thread: [{ ...item, message }],
      batch: [{ ...item, message }],
    });
  },
  harmless,
  indent: (text) => indent(text),
  isName,
  isOneLine,
  isRelPath,
  isTier,
  'jsonc of an MCP client': (text) => attempt(() => parseJsonc(`{"a": "${text}`)),
  namedPaths: (text) => namedPaths(text, { transport: ['/bus'], home: '/home/a' }),
  oneLine,
  parseAddress,
  parseDuration,
  parseMessage: (text) => parseMessage(Buffer.from(text)),
  'parseMessage, its body': (text) =>
    parseMessage(Buffer.from(`---\nfrom: a\n---\n${text.slice(0, SIZE - 100)}`)),
  'parseMessage, its header': (text) =>
    parseMessage(Buffer.from(`---\n${text.slice(0, 65_000)}\n---\n`)),
  parsePlainHeader,
  parseRecipients,
  partsOf: (text) => partsOf(wide(text)),
  parseTree: (text) => attempt(() => parseTree(Buffer.from(text), 20)),
  placeOf: (text) => placeOf(`data/channels/${text}`),
  'plainOf, as long as the page shows marks': (text) => plainOf(text.slice(-MARKDOWN_LIMIT)),
  reasonOf,
  misconfigurationOf: (text) =>
    KNOWN_AGENTS.map((agent) =>
      misconfigurationOf(agent, { exitCode: 1, stdout: text, stderrTail: text.slice(0, 8000) }),
    ),
  refusalOf: (text) =>
    KNOWN_AGENTS.map((agent) =>
      refusalOf(agent, { exitCode: 1, stdout: text, stderrTail: text }, NOW, 'UTC'),
    ),
  safeLink,
  shown,
  statedTime: (text) => statedTime(text.slice(0, 1200), NOW, 'UTC'),
  suffixOf,
  table: (text) => table([[text, text]]),
  termsOf,
  'toml of an MCP client': (text) => attempt(() => parseToml(`a = "${text}`)),
  'toml of an MCP client, from its beginning': (text) => attempt(() => parseToml(text)),
  toName,
  Untrusted: (text) => new Untrusted('w').mark(text, text),
  versionProblem: (text) => versionProblem(text, 'here'),
  withoutSequences,
  wordsIn: (text) => wordsIn(wide(text)),
  withoutTrailing: (text) => withoutTrailing(text, /\n/),
  wrap: (text) => wrap(text.slice(-SIZE / 8), 3),
};

/**
 * The inputs on which expressions and loops are slow: long runs of what they look for, without the
 * expected end.
 */
const PARTS = [
  ...Array.from('\n \ta0-*#`~"\\/|<[({@:.\r'),
  '\r\n',
  ' \n',
  'a ',
  '://',
  '\u001b[',
  'resets at ',
];

describe('a megabyte of its worst', () => {
  it.each(Object.entries(READERS))(
    'costs %s what its size is, and no more',
    { tags: 'sampled' },
    (_, read) => {
      for (const part of PARTS) {
        const text = `x${part.repeat(SIZE / part.length - 2)}x`;
        const begun = processorTime();
        read(text);
        // Milliseconds if it is linear, minutes if it is not.
        expect({ part, slow: processorTime() - begun > LIMIT_MS }).toEqual({ part, slow: false });
      }
    },
  );
});
