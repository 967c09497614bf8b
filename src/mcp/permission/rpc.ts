/** An answer to one request (JSON-RPC 2.0). */
export type Reply =
  | { jsonrpc: '2.0'; id: string | number; result: unknown }
  | { jsonrpc: '2.0'; id: string | number | null; error: { code: number; message: string } };

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const LINE_FEED = 10;

/**
 * Passes on each line of a stream once it has arrived; resolves at its end.
 *
 * @param limit the most bytes of a line
 * @returns whether the stream came to its end; false if a line was longer, after which nothing more is read
 */
export async function eachLine(
  stream: AsyncIterable<Buffer>,
  limit: number,
  take: (line: string) => void,
): Promise<boolean> {
  let [parts, size] = [[] as Buffer[], 0];
  for await (const chunk of stream) {
    let rest = chunk;
    for (let end = rest.indexOf(LINE_FEED); end >= 0; end = rest.indexOf(LINE_FEED)) {
      if (size + end > limit) return false;
      take(Buffer.concat([...parts, rest.subarray(0, end)]).toString('utf8'));
      [parts, size] = [[], 0];
      rest = rest.subarray(end + 1);
    }
    size += rest.length;
    if (size > limit) return false;
    if (rest.length > 0) parts.push(rest);
  }
  return true;
}
