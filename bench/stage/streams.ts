import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE_MS = 30_000;

/** Many open pages, from the server's point of view: streams of events that are read. */
export class Streams {
  readonly #texts: string[];
  readonly #agent = new Agent({ keepAlive: false, maxSockets: Infinity });

  private constructor(many: number) {
    this.#texts = new Array<string>(many).fill('');
  }

  /** @param url the address of the page, with its token */
  static async open(url: string, many: number): Promise<Streams> {
    const streams = new Streams(many);
    const { hostname, port, searchParams } = new URL(url);
    const headers = { authorization: `Bearer ${searchParams.get('token') ?? ''}` };
    const opened = Array.from(
      { length: many },
      (_, at) =>
        new Promise<void>((resolve, reject) => {
          const sent = request(
            { hostname, port, path: '/api/events', headers, agent: streams.#agent },
            (answer) => {
              answer.setEncoding('utf8');
              answer.on('data', (chunk: string) => {
                streams.#texts[at] = `${streams.#texts[at] ?? ''}${chunk}`;
                if (chunk.includes('event: hello')) resolve();
              });
              answer.on('error', () => undefined);
            },
          );
          sent.on('error', reject);
          sent.end();
        }),
    );
    await Promise.all(opened);
    return streams;
  }

  /**
   * The number of messages `stream 0` to `stream <sent - 1>` that did not arrive, over all streams.
   */
  async lost(sent: number): Promise<number> {
    const wanted = Array.from({ length: sent }, (_, n) => `"body":"stream ${String(n)}"`);
    const missing = (): number =>
      this.#texts.reduce(
        (sum, text) => sum + wanted.filter((one) => !text.includes(one)).length,
        0,
      );
    const deadline = Date.now() + PATIENCE_MS;
    while (missing() > 0 && Date.now() < deadline) await sleep(200);
    return missing();
  }

  close(): void {
    this.#agent.destroy();
  }
}
