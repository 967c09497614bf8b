/**
 * What a sender is told of an addressee that no host serves: it is no error, as the message waits.
 *
 * @param address `name` or `name@host`
 * @param serving aliases of other hosts that serve the name
 */
export function unservedInWords(address: string, serving: readonly string[]): string {
  const [name = ''] = address.split('@', 1);
  const where = serving.length > 0 ? ` (${name} is served by ${serving.join(', ')})` : '';
  return `no host serves ${address}${where}; the message waits until one does`;
}
