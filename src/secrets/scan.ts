import { setImmediate } from 'node:timers/promises';
import type * as packages from './rule-packages.ts';
import { isExample } from './example.ts';
import { kindInWords } from './kinds.ts';

/** The rules, as far as they are used here; secretlint's packages export them. */
type Rules = typeof packages.rules;

/**
 * Rules that are left out. `filter-comments` lets a text switch the others off, and whoever writes the
 * text must not decide that. `gcp` opens the file of the path that it is given; the private key in such
 * a file is found by `privatekey`.
 */
const LEFT_OUT = /-rule-(?:filter-comments|gcp)$/;

/**
 * Characters that the rules are given at a time, and how many of them they are given again with the
 * next: more than the longest match, a private key of 10,000 characters.
 */
const SLICE = 1 << 19;
const OVERLAP = 1 << 14;

/** The most secrets of one text that are told; a text with more is held just the same. */
const MOST = 20;

/**
 * Names of files on which the rule of npm depends: with the one it looks for tokens in the settings of
 * npm, with the other for those in URLs. It looks for both in any text.
 */
const NPM_FILES = ['.npmrc', 'package.json'];

export interface Hit {
  kind: string;
  /** Where it begins in the text. */
  index: number;
}

/**
 * Looks for secrets with the rules that secretlint recommends. They are called without secretlint's own
 * engine, which keeps a record of each call for ever, prints what it is given where DEBUG says so, and
 * puts the secret into its message (docs/decisions/0044). What is found never leaves a rule here: a
 * translator that ignores its arguments makes the messages.
 *
 * @throws Error whatever a rule throws: then the text counts as not looked at
 */
export async function scan(text: string): Promise<Hit[]> {
  const { rules } = await import('./rule-packages.ts');
  const used = rules.filter(({ meta }) => !LEFT_OUT.test(meta.id));
  const hits = new Map<string, Hit>();
  for (let from = 0; ; from += SLICE) {
    const slice = text.slice(from, from + SLICE + OVERLAP);
    for (const rule of used)
      for (const filePath of rule.meta.id.endsWith('-rule-npm') ? NPM_FILES : ['text'])
        await apply(rule, slice, filePath, (kind, at) => {
          if (hits.size < MOST)
            hits.set(`${kind} ${String(from + at)}`, { kind, index: from + at });
        });
    if (from + SLICE + OVERLAP >= text.length) break;
    // A large file must not keep a dispatcher from all else.
    await setImmediate();
  }
  return [...hits.values()].sort((a, b) => a.index - b.index);
}

async function apply(
  rule: Rules[number],
  content: string,
  filePath: string,
  found: (kind: string, at: number) => void,
): Promise<void> {
  const context = {
    createTranslator: () => (messageId: string) => ({ message: messageId, messageId }),
    report: ({ message, range }: { message: { messageId: string }; range: readonly number[] }) => {
      const [begin = 0, end = begin] = range;
      if (!isExample(content.slice(begin, end))) found(kindInWords(message.messageId), begin);
    },
    ignore: () => undefined,
    sharedOptions: {},
    locale: 'en',
  };
  const source = { content, filePath, ext: '', contentType: 'text' as const };
  await rule.create(context as never, {}).file?.(source as never);
}
