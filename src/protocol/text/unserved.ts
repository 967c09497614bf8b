/** The most names in a line. */
const MOST_NAMED = 8;

/** Some of many names, in a list. */
export function someOf(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  const listed = names.slice(0, MOST_NAMED).join(', ');
  return more > 0 ? `${listed} and ${String(more)} more` : listed;
}

/**
 * What a sender is told of an addressee that no host serves: it is no error, as the message waits.
 *
 * @param address `name` or `name@host`
 * @param serving aliases of other hosts that serve the name
 */
export function unservedInWords(address: string, serving: readonly string[]): string {
  const [name = ''] = address.split('@', 1);
  const where = serving.length > 0 ? ` (${name} is served by ${someOf(serving)})` : '';
  return `no host serves ${address}${where}; the message waits until one does`;
}
