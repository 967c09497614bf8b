import { setImmediate as next } from 'node:timers/promises';
import {
  parseSubscription,
  type Subscription,
  hasWord,
  type Match,
} from '../../protocol/automation/subscription.ts';
import { SUBSCRIPTIONS } from '../../protocol/layout.ts';
import { isName } from '../../protocol/names.ts';
import { parsed, unreadable, type Parsed, shown } from '../../protocol/text/result.ts';
import type { Transport } from '../../transport/transport.ts';

/** A subscription that can be followed, with the comparison that its `match` asks for. */
export interface Subscribed extends Subscription {
  test?: Test;
}

/** A file of `local/subscriptions/` at a commit. */
export interface SubscriptionFile {
  /** The stem of its name; of a file that cannot be read, any text. */
  name: string;
  path: string;
  oid: string;
  text: string;
  result: Parsed<Subscribed>;
}

/** The subscriptions of a commit, by name, and how many were passed over because there are too many. */
interface FoundSubscriptions {
  files: SubscriptionFile[];
  beyond: number;
}

/** The most subscriptions of a transport: whoever can push can add any number of files, of any size. */
const MOST = 250;
const MOST_BYTES = 32 * 1024;
const FILE = /^local\/subscriptions\/([^/]+)\.md$/;

type Reading = Pick<Transport, 'list' | 'objects'>;

/** Reads subscriptions; what stayed the same since the last commit is not read again. */
export class SubscriptionFiles {
  readonly #transport: Reading;
  #read = new Map<string, SubscriptionFile>();
  #last: { commit: string; found: FoundSubscriptions } | undefined;

  constructor(transport: Reading) {
    this.#transport = transport;
  }

  /** The subscriptions at a commit; asked again for the same one, nothing is read. */
  async at(commit: string): Promise<FoundSubscriptions> {
    if (this.#last?.commit === commit) return this.#last.found;
    const found = await this.#look(commit);
    this.#last = { commit, found };
    return found;
  }

  async #look(commit: string): Promise<FoundSubscriptions> {
    const entries = await this.#transport.list(commit, [SUBSCRIPTIONS]);
    const all = entries.flatMap(({ path, oid, mode, type }) => {
      const name = FILE.exec(path)?.[1];
      return name === undefined || type === 'tree' ? [] : [{ name, path, oid, mode }];
    });
    const files: SubscriptionFile[] = [];
    for (const entry of all.slice(0, MOST))
      files.push(this.#read.get(`${entry.path} ${entry.oid}`) ?? (await this.#file(entry)));
    this.#read = new Map(files.map((file) => [`${file.path} ${file.oid}`, file]));
    return { files, beyond: Math.max(0, all.length - MOST) };
  }

  async #file({
    mode,
    ...found
  }: Pick<SubscriptionFile, 'name' | 'path' | 'oid'> & {
    mode: string;
  }): Promise<SubscriptionFile> {
    const refused = (problem: string): SubscriptionFile => ({
      ...found,
      text: '',
      result: unreadable(problem),
    });
    if (!mode.startsWith('100')) return refused('it is a link, expected a file');
    if (!isName(found.name))
      return { ...found, text: '', result: parseSubscription('', found.name) };
    const content = (await this.#transport.objects.read(found.oid))?.content;
    if (content === undefined) return refused('its content is not here, or is larger than 1 MiB');
    if (content.length > MOST_BYTES)
      return refused(
        `it has ${String(content.length)} bytes, expected at most ${String(MOST_BYTES)}`,
      );
    const text = content.toString('utf8');
    return { ...found, text, result: await readSubscription(text, found.name) };
  }
}

/**
 * Parses a subscription and prepares its comparison.
 *
 * @param name the stem of the file's name
 */
export async function readSubscription(text: string, name: string): Promise<Parsed<Subscribed>> {
  const result = parseSubscription(text, name);
  if (!result.ok || result.value.match === undefined) return result;
  const made = await testOf(result.value.match);
  return 'problem' in made ? unreadable(made.problem) : parsed({ ...result.value, ...made });
}

/** The subscriptions whose comparison a text passes. Each takes its time, and other work goes on between. */
export async function matched(
  subscriptions: readonly Subscribed[],
  text: string,
): Promise<Subscribed[]> {
  const passed: Subscribed[] = [];
  for (const one of subscriptions) {
    if (one.test !== undefined) await next();
    if (one.test?.(text) !== false) passed.push(one);
  }
  return passed;
}

/** Tells of a text whether it contains what was looked for. */
type Test = (text: string) => boolean;

/** Characters of a text that a regular expression looks at, from its beginning. */
const MOST_TEXT = 65_536;
/**
 * Instructions of a compiled expression: with the length of the text it bounds the time, to about half a
 * second.
 */
const MOST_STEPS = 500;

/**
 * Prepares a comparison that takes a time linear in the text, whatever the expression is.
 *
 * @returns what is wrong with the expression, for people, as `problem`
 */
async function testOf(match: Match): Promise<{ test: Test } | { problem: string }> {
  if (match.kind === 'word') return { test: (text) => hasWord(text, match.word) };
  const { RE2JS } = await import('./pattern-packages.ts');
  const given = `match is ${shown(`/${match.source}/${match.flags}`)}, expected a regular expression that runs in linear time`;
  try {
    const { CASE_INSENSITIVE, MULTILINE, DOTALL } = RE2JS;
    const bits = Object.entries({ i: CASE_INSENSITIVE, m: MULTILINE, s: DOTALL });
    const flags = bits.filter(([flag]) => match.flags.includes(flag));
    const compiled = RE2JS.compile(
      match.source,
      flags.reduce((all, [, bit]) => all | bit, 0),
    );
    if (compiled.programSize() > MOST_STEPS)
      return { problem: `${given}: it is too large; repeat less` };
    return { test: (text) => compiled.test(text.slice(0, MOST_TEXT)) };
  } catch (error) {
    const [, why = 'it cannot be compiled'] =
      /^error parsing regexp: (.*)$/s.exec(error instanceof Error ? error.message : '') ?? [];
    return { problem: `${given}: ${shown(why).slice(1, -1)}` };
  }
}
