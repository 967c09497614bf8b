/**
 * Matches `key: value` and `key:`, which a list of `  - value` may follow; no rule of YAML affects
 * such values.
 */
const LINE = /^([a-z][a-z0-9]*):(?: ([A-Za-z0-9/][A-Za-z0-9/._@+:=-]*))?$/;
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
