import { CrosstalkError } from '../errors.ts';

/** Room for a message of 1 MiB, of which each byte may take six in JSON, and for the other fields. */
const MAX_BODY = 6 * 1024 * 1024 + 64 * 1024;

/** Thrown for a body that is too large. */
export class TooLarge extends Error {
  constructor() {
    super(`the body is larger than ${String(MAX_BODY)} bytes; send less`);
    this.name = 'TooLarge';
  }
}

type Headed = Pick<Request, 'headers'>;

/** Whether a request announces a body; it may still be empty. */
export function hasBody({ headers }: Headed): boolean {
  return headers.has('transfer-encoding') || (headers.get('content-length') ?? '0') !== '0';
}

/** Refuses a body by the size it announces, before any of it is read. @throws TooLarge */
export function assertAnnounced({ headers }: Headed): void {
  if (Number(headers.get('content-length') ?? '0') > MAX_BODY) throw new TooLarge();
}

/**
 * The JSON in the body of a request, of which no more than {@link MAX_BODY} bytes are read, whether
 * or not its size was announced.
 *
 * @throws CrosstalkError `usage` if it is none
 * @throws TooLarge
 */
export async function jsonIn(request: Request): Promise<unknown> {
  assertAnnounced(request);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const body: ReadableStream<Uint8Array> | null = request.body;
  const reader = body?.getReader();
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
    size += read.value.byteLength;
    if (size > MAX_BODY) throw new TooLarge();
    chunks.push(read.value);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch (error) {
    throw new CrosstalkError('usage', 'the body is not JSON', { cause: error });
  }
}
