/**
 * Matches `key: value` and `key:`, which a list of `  - value` may follow; no rule of YAML affects
 * such values.
 */
const LINE = /^([a-z][a-z0-9_]*):(?: ([A-Za-z0-9/][A-Za-z0-9/._@+:=-]*))?$/;
const ITEM = /^ {2}- ([A-Za-z0-9/][A-Za-z0-9/._@+:-]*)$/;

/**
 * Parses a header in the form in which Crosstalk writes nearly all of them: plain words and lists
 * of plain words. In the failsafe schema they are simply strings, so YAML's parser, which is fifty
 * times slower, is needed only for other headers.
 *
 * @returns undefined for a header that has to be parsed by YAML's rules
 */
export function parsePlainHeader(header: string): Record<string, unknown> | undefined {
  const fields: Record<string, unknown> = {};
  let list: string[] | undefined;
  for (const line of header.split('\n')) {
    if (line === '') continue;
    const item = ITEM.exec(line)?.[1];
    if (item !== undefined) {
      if (list === undefined || item.endsWith(':')) return undefined;
      list.push(item);
      continue;
    }
    const [whole, key = '', value] = LINE.exec(line) ?? [];
    const isEmptyList = list?.length === 0;
    if (whole === undefined || Object.hasOwn(fields, key) || isEmptyList) return undefined;
    if (value?.endsWith(':') === true) return undefined;
    list = value === undefined ? [] : undefined;
    fields[key] = value ?? list;
  }
  return list?.length === 0 || Object.keys(fields).length === 0 ? undefined : fields;
}

const KEY = /^[a-z][a-z0-9_]*$/;
/** What YAML takes for a text without quotes: a word, a time, or the path of a message. */
const WORD = /^[A-Za-z][A-Za-z0-9/._@+=-]*$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const PATH = /^\d{4}\/\d\d\/\d\d\/\d{9}Z-[0-9a-f]+\.md$/;
/** Words that YAML takes for something else, in any spelling of theirs. */
const NO_TEXT = /^(?:null|true|false)$/i;

/**
 * Formats fields that are plain words and lists of plain words, as YAML's writer would. A command that
 * writes one message would otherwise spend more on that than on all else it makes of it.
 *
 * @returns undefined for fields that have to be written by YAML's rules
 */
export function formatPlainHeader(fields: Record<string, unknown>): string | undefined {
  let text = '';
  for (const [key, value] of Object.entries(fields)) {
    if (!KEY.test(key) || NO_TEXT.test(key)) return undefined;
    if (isPlain(value)) {
      text += `${key}: ${value}\n`;
      continue;
    }
    if (!Array.isArray(value) || value.length === 0 || !value.every(isPlain)) return undefined;
    text += `${key}:\n${value.map((item) => `  - ${item}\n`).join('')}`;
  }
  return text === '' ? undefined : text;
}

function isPlain(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > MOST_PLAIN) return false;
  return (WORD.test(value) && !NO_TEXT.test(value)) || TIME.test(value) || PATH.test(value);
}

/** Characters; nothing that Crosstalk writes of its own accord is longer. */
const MOST_PLAIN = 200;
