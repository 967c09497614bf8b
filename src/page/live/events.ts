/** One event of a stream of server-sent events. */
export interface StreamEvent {
  /** Empty when it has none. */
  id: string;
  name: string;
  data: string;
}

/**
 * Reads the events of a stream as this server writes them: each field on a line of its own, `data`
 * on one line, and an empty line after each event. Comments are left out.
 */
export async function* eventsIn(stream: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const parts = (text + decoder.decode(read.value, { stream: true })).split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) {
      const event = { id: '', name: '', data: '' };
      for (const line of part.split('\n')) {
        if (line.startsWith('id: ')) event.id = line.slice(4);
        else if (line.startsWith('event: ')) event.name = line.slice(7);
        else if (line.startsWith('data: ')) event.data = line.slice(6);
      }
      if (event.name !== '') yield event;
    }
  }
}
