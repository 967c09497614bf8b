import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { isFileName } from '../protocol/attached.ts';
import type { Blob, Commit } from '../protocol/outgoing.ts';
import { type FoundSecret, formsOf } from '../protocol/text/secrets.ts';
import { placeOf } from '../protocol/layout.ts';
import { parseMessage } from '../protocol/message.ts';
import { isSuspicious } from './suspicious.ts';
import type * as packages from './rule-packages.ts';

export interface ScreenParts {
  /** Reads the bytes of an attached file, which have its SHA-256; undefined when they are not here. */
  bytesOf: (blob: Blob) => Promise<Uint8Array | undefined>;
  /** Reads whether text is screened, from the current settings. */
  mode: () => Promise<'on' | 'off'>;
  /** Replaces the rules, in tests. */
  scan?: (text: string) => Promise<Hit[]>;
}

/** The part of an entry that is screened: its commits, and whether a person released its secrets. */
export interface Screened {
  commits: readonly Commit[];
  allowed?: true;
}

/** Most results in the cache; beyond that it is emptied. */
const MOST_REMEMBERED = 5000;
/** Most findings of an entry that are reported; an entry with more is held just the same. */
const MOST_FOUND = 50;

/**
 * A screen for secrets in content that is about to leave this machine (work.md, "Nothing secret leaves"): in
 * each file of an entry, its paths and subjects, and in each whole attached file of any type, as text. The
 * content of compressed files is not examined.
 *
 * Results are cached by content, never by the id of an entry: a run may write another text under the same id.
 */
export class Screen {
  /** Values that must not leave, whatever they look like. */
  readonly known = new KnownSecrets();
  readonly #parts: ScreenParts;
  /** Findings by the hash of a text. */
  readonly #known = new Map<string, readonly Hit[]>();
  /** Findings by the SHA-256 of an attached file, which the provider of its bytes has verified. */
  readonly #knownFiles = new Map<string, readonly Omit<FoundSecret, 'where'>[]>();

  constructor(parts: ScreenParts) {
    this.#parts = parts;
    this.known.whenChanged(() => {
      this.#known.clear();
      this.#knownFiles.clear();
    });
  }

  /**
   * Screens an entry.
   *
   * @returns the probable secrets; none for an entry that a person released, or while screening is off
   * @throws Error if the rules fail: then the entry counts as not screened, and must not leave
   */
  async look({ commits, allowed }: Screened): Promise<FoundSecret[]> {
    if (allowed === true) return [];
    const found: FoundSecret[] = [];
    for (const commit of commits) {
      const { author, subject, files, blobs = [], clear = '' } = commit;
      const names = [author.name, author.email, subject, clear, ...files.map(({ path }) => path)];
      for (const { kind } of await this.#hits(names.join('\n')))
        found.push({ kind, where: 'a file', line: 0 });
      for (const file of files) found.push(...(await this.#inFile(file)));
      for (const [at, blob] of blobs.entries())
        found.push(
          ...(await this.#inBlob(blob, nameIn(files, blob) ?? `attached file ${String(at + 1)}`)),
        );
    }
    // The setting is read only where it matters.
    if (found.length === 0 || (await this.#parts.mode()) === 'off') return [];
    return found.slice(0, MOST_FOUND);
  }

  async #inFile({ path, content }: { path: string; content: string }): Promise<FoundSecret[]> {
    const hits = await this.#hits(content);
    if (hits.length === 0) return [];
    const isMessage = placeOf(path).kind === 'message';
    const where = isMessage ? 'the message' : isSuspicious(path) ? 'a file' : path;
    const begin = isMessage ? bodyBegin(content) : 0;
    return hits.map(({ kind, index }) => ({
      kind,
      where,
      line: index < begin ? 0 : lineOf(content, begin, index),
    }));
  }

  async #inBlob(blob: Blob, where: string): Promise<FoundSecret[]> {
    const known = this.#knownFiles.get(blob.sha256);
    if (known !== undefined) return known.map((one) => ({ ...one, where }));
    const bytes = await this.#parts.bytesOf(blob);
    // Bytes that are not here can't be pushed either.
    if (bytes === undefined) return [];
    const text = this.known.none ? suspiciousTextOf(bytes) : decoded(bytes);
    const hits = text === undefined ? [] : await this.#hits(text);
    const found = hits.map(({ kind, index }) => ({ kind, line: lineOf(text ?? '', 0, index) }));
    if (this.#knownFiles.size >= MOST_REMEMBERED) this.#knownFiles.clear();
    this.#knownFiles.set(blob.sha256, found);
    return found.map((one) => ({ ...one, where }));
  }

  async #hits(text: string): Promise<readonly Hit[]> {
    const own = this.known.in(text);
    if (!isSuspicious(text)) return own;
    const key = createHash('sha256').update(text).digest('base64');
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const hits = [...own, ...(await (this.#parts.scan ?? scan)(text))];
    if (this.#known.size >= MOST_REMEMBERED) this.#known.clear();
    this.#known.set(key, hits);
    return hits;
  }
}

/**
 * Decodes bytes as text, if they may contain a secret: as UTF-16 if they have its byte order mark, else as
 * UTF-8 with replacement characters. Decoding a picture takes several times as long as searching its bytes,
 * and everything that makes a text suspicious is ASCII, which is the same in both.
 */
function suspiciousTextOf(bytes: Uint8Array): string | undefined {
  if (isWide(bytes)) return decoded(bytes);
  const plain = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  return isSuspicious(plain) ? decoded(bytes) : undefined;
}

/** Whether bytes begin with a byte order mark of UTF-16. */
function isWide([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}

function decoded(bytes: Uint8Array): string {
  const wide = bytes[0] === 0xff ? 'utf-16le' : 'utf-16be';
  return new TextDecoder(isWide(bytes) ? wide : 'utf-8').decode(bytes);
}

/** Returns the name that a message gives an attached file, in quotes, unless it looks like a secret itself. */
function nameIn(files: Commit['files'], { sha256 }: Blob): string | undefined {
  for (const { path, content } of files) {
    if (placeOf(path).kind !== 'message') continue;
    const read = parseMessage(Buffer.from(content));
    const name = read.ok
      ? read.value.files?.find((file) => file.sha256 === sha256)?.name
      : undefined;
    if (name !== undefined && isFileName(name) && !isSuspicious(name)) return JSON.stringify(name);
  }
  return undefined;
}

/** Returns the index of a message's body in its file. */
function bodyBegin(content: string): number {
  const read = parseMessage(Buffer.from(content));
  return read.ok ? content.length - read.value.body.length : 0;
}

function lineOf(text: string, from: number, index: number): number {
  let line = 1;
  for (let at = text.indexOf('\n', from); at !== -1 && at < index; at = text.indexOf('\n', at + 1))
    line++;
  return line;
}

/**
 * The values of secrets stored on this machine, which are recognized whatever they look like. No time is
 * spent while none is known.
 */
class KnownSecrets {
  readonly #forms = new Map<string, readonly string[]>();
  #changed: () => void = () => undefined;

  /** @param changed called when a value becomes known, so that no earlier result is relied on */
  whenChanged(changed: () => void): void {
    this.#changed = changed;
  }

  add(name: string, value: string): void {
    const forms = formsOf(value);
    if (forms.join('\0') === (this.#forms.get(name) ?? []).join('\0')) return;
    this.#forms.set(name, forms);
    this.#changed();
  }

  /** Finds each value once in a text, with its position. */
  in(text: string): Hit[] {
    return [...this.#forms].flatMap(([name, forms]) => {
      const index = forms.map((form) => text.indexOf(form)).find((at) => at >= 0);
      return index === undefined ? [] : [{ kind: `the secret ${name} of this machine`, index }];
    });
  }

  get none(): boolean {
    return this.#forms.size === 0;
  }
}

/** The rules, as far as they are used here, as secretlint's packages export them. */
type Rules = typeof packages.rules;

/**
 * Rules that are left out. `filter-comments` lets a text switch the others off, and the author of the text must not
 * decide that. `gcp` opens the file of the path in the text; the private key in such a file is found by `privatekey`.
 */
const LEFT_OUT = /-rule-(?:filter-comments|gcp)$/;

/**
 * Characters that the rules receive at a time, and the number of them that they receive again with the next
 * slice: more than the longest match, a private key of 10,000 characters.
 */
const SLICE = 1 << 19;
const OVERLAP = 1 << 14;

/** Most secrets of one text that are reported; a text with more is held just the same. */
const MOST = 20;

/**
 * File names on which npm's rule depends: with the one it looks for tokens in npm's settings, with the other
 * for those in URLs. Any text is examined under both.
 */
const NPM_FILES = ['.npmrc', 'package.json'];

interface Hit {
  kind: string;
  /** Index of its beginning in the text. */
  index: number;
}

/**
 * Looks for secrets with the rules that secretlint recommends. They are called without secretlint's own
 * engine, which keeps a record of each call for ever, prints its input if DEBUG says so, and puts the secret
 * into its message (docs/decisions/17-secrets-and-tools.md). A found secret never leaves a rule here: a translator that ignores
 * its arguments makes the messages.
 *
 * @throws Error any error of a rule: then the text counts as not screened
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
    // A large file must not block the dispatcher's other work.
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

/** Words from which people make the secrets of examples, and prefixes of tokens. */
const WORDS = new Set(
  (
    'your my the some a an of for here goes api app bot access auth user username admin root db database test ' +
    'testing example sample demo dummy fake placeholder changeme change me replace this password passwd pass pwd ' +
    'secret token key value redacted hidden removed none null todo foo bar baz ' +
    'xoxb xoxp xapp ghp gho github pat glpat npm sk ant proj hf gsk lin ntn'
  ).split(' '),
);
/** Filler: `xxxx`, `****`, `...`, and `api03`. */
const FILLER = /^(?:(.)\1+|x|api\d{1,3}|\d{1,3})$/;
/**
 * Placeholders: `<password>`, `${PASSWORD}`, `{{ password }}`, `[token]`, `%PASSWORD%`: words, without a
 * digit unless in capitals.
 */
const BRACKETED =
  /^(?:<[A-Za-z _.-]{1,40}>|\$?\{{1,2}[A-Za-z _.-]{1,40}\}{1,2}|\[[A-Za-z _.-]{1,40}\]|[%$][A-Z][A-Z0-9_]{1,40}%?|%s)$/;
/** The label in front of a secret. */
const LABEL = /^[\w./-]{1,128}["']?\s{0,8}[=:]\s{0,8}["']?/;
/** A user's name, or a placeholder for one. Some services take the secret itself as the name, with any password. */
const USER = /^[<$%{[]{0,3}[A-Za-z][A-Za-z _.-]{0,19}[>%}\]]{0,2}$|^$/;
const LOGIN = /\/\/([^\s/:@]{0,256}):([^\s@]{0,256})@/;

/**
 * Whether the match of a rule is an example's placeholder, as in `postgres:postgres@localhost` or
 * `xoxb-your-bot-token`. No random value consists of such words.
 *
 * @param found the text that a rule matched
 */
function isExample(found: string): boolean {
  const [, user = '', password] = LOGIN.exec(found) ?? [];
  if (!USER.test(user)) return false;
  const value = (password ?? found.replace(LABEL, '')).replaceAll('\u2026', '');
  if (password !== undefined && password !== '' && password === user) return true;
  if (BRACKETED.test(value)) return true;
  const parts = value
    .toLowerCase()
    .split(/[-_.\s:"']+/)
    .filter((part) => part !== '');
  return parts.length > 0 && parts.every((part) => WORDS.has(part) || FILLER.test(part));
}

/** Phrases for the ids of secretlint's messages, which finish "line 3 holds …". */
const KINDS: Readonly<Record<string, string>> = {
  AWSSecretAccessKey: 'an AWS secret access key',
  PrivateKey: 'a private key',
  PackageJSON_xOauthToken: 'a GitHub OAuth token in a URL',
  Npmrc_authToken: 'an npm login',
  NPM_ACCESS_TOKEN: 'an npm token',
  BasicAuth: 'a URL with a password',
  SLACK_TOKEN: 'a Slack token',
  IncomingWebhook: 'a Slack webhook',
  SENDGRID_KEY: 'a SendGrid key',
  SHOPIFY_KEY: 'a Shopify key',
  GITHUB_TOKEN: 'a GitHub token',
  GITLAB_PERSONAL_ACCESS_TOKEN: 'a GitLab token',
  GRAFANA_CLOUD_API_TOKEN: 'a Grafana token',
  GRAFANA_SERVICE_ACCOUNT_TOKEN: 'a Grafana token',
  OPENAI_TOKEN: 'an OpenAI key',
  ANTHROPIC_API_KEY: 'an Anthropic key',
  GROQ_API_KEY: 'a Groq key',
  HUGGINGFACE_USER_ACCESS_TOKEN: 'a Hugging Face token',
  LINEAR_API_TOKEN: 'a Linear token',
  NOTION_INTEGRATION_TOKEN: 'a Notion token',
  OPS_TOKEN: 'a 1Password token',
  MongoDBConnection: 'a MongoDB URL with a password',
  MySQLConnection: 'a MySQL URL with a password',
  PostgreSQLConnection: 'a PostgreSQL URL with a password',
  HASHICORP_VAULT_SERVICE_TOKEN: 'a Vault token',
  HASHICORP_VAULT_BATCH_TOKEN: 'a Vault token',
  HASHICORP_VAULT_RECOVERY_TOKEN: 'a Vault token',
  VERCEL_PERSONAL_ACCESS_TOKEN: 'a Vercel token',
  VERCEL_INTEGRATION_TOKEN: 'a Vercel token',
  VERCEL_APP_ACCESS_TOKEN: 'a Vercel token',
  VERCEL_APP_REFRESH_TOKEN: 'a Vercel token',
  VERCEL_AI_GATEWAY_API_KEY: 'a Vercel token',
  DATABRICKS_PERSONAL_ACCESS_TOKEN: 'a Databricks token',
  DOCKER_PERSONAL_ACCESS_TOKEN: 'a Docker token',
  FIGMA_PERSONAL_ACCESS_TOKEN: 'a Figma token',
};

/** Returns the phrase for a rule's message. */
function kindInWords(messageId: string): string {
  return KINDS[messageId] ?? 'a secret';
}
