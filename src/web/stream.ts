import { encodeEvent } from './ring.ts';
import type { Hub } from './hub.ts';

/** A page that hears nothing for several times as long takes the server for silent. */
const STILL_HERE_MS = 5000;
/**
 * A reader that accepts no data for this many heartbeats counts as gone, whatever its socket
 * reports.
 */
const PATIENCE = 12;
const encoder = new TextEncoder();
const PREAMBLE = encoder.encode('retry: 1000\n\n');
const STILL_HERE = encoder.encode('event: still_here\ndata: {}\n\n');

/**
 * The events for one page, from its last position on. Nothing is read in advance: the page takes
 * the next event from the ring when its socket has room for one.
 *
 * @param lastId the last event that the page has seen
 * @param signal ends the stream
 */
export function eventStream(
  hub: Hub,
  lastId: string | undefined,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const { ring } = hub;
  const { after, resumed } = ring.beginning(lastId);
  let seen = after;
  const gone = new AbortController();
  let waited = 0;
  let timer: NodeJS.Timeout | undefined;
  const leave = (): void => {
    gone.abort();
    clearInterval(timer);
    signal.removeEventListener('abort', leave);
    hub.streams.delete(gone);
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      hub.streams.add(gone);
      signal.addEventListener('abort', leave, { once: true });
      const hello = { event_id: ring.id(seen), tip: hub.tip, resumed };
      controller.enqueue(PREAMBLE);
      controller.enqueue(encodeEvent('hello', hello, ring.id(seen)));
      if (lastId !== undefined && !resumed)
        controller.enqueue(
          encodeEvent('reset', { reason: 'what came since is not kept any more' }, ring.id(seen)),
        );
      timer = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) {
          waited = 0;
          controller.enqueue(STILL_HERE);
        } else if (++waited >= PATIENCE) {
          leave();
          controller.error(new Error('the reader takes nothing'));
        }
      }, STILL_HERE_MS).unref();
    },
    async pull(controller) {
      let next = ring.next(seen);
      while (next === 'none' && !gone.signal.aborted) {
        await hub.more(seen, gone.signal);
        next = ring.next(seen);
      }
      if (gone.signal.aborted) {
        controller.close();
      } else if (next === 'gone') {
        seen = ring.newest;
        controller.enqueue(
          encodeEvent('reset', { reason: 'the page was too slow for the events' }, ring.id(seen)),
        );
      } else if (next !== 'none') {
        ({ seq: seen } = next);
        controller.enqueue(next.bytes);
      }
    },
    cancel: leave,
  });
}
