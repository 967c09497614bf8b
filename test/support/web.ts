import { request } from 'node:http';
import { onTestFinished } from 'vitest';
import type { WebEvents } from '../../src/api/api.ts';
import type { Host } from './bus.ts';
import type { Ran } from './command.ts';
import { until } from './wait.ts';

export const TOKEN = 'token-of-the-tests-alone';

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

type Headers = Record<string, string>;

/** `crosstalk web` of a host, in this process; stopped at the end of the test. */
export class Web {
  readonly port: number;
  readonly token: string;
  readonly url: string;
  readonly done: Promise<Ran>;
  readonly #stop: AbortController;

  private constructor(
    said: { url: string; port: number; token: string },
    done: Promise<Ran>,
    stop: AbortController,
  ) {
    ({ port: this.port, token: this.token } = said);
    this.url = said.url;
    this.done = done;
    this.#stop = stop;
  }

  static async start(host: Host, ...options: string[]): Promise<Web> {
    const web = await Web.open(host, ...options);
    onTestFinished(async () => {
      await web.stop();
    });
    return web;
  }

  /** For several tests; the caller stops it. */
  static async open(host: Host, ...options: string[]): Promise<Web> {
    const stop = new AbortController();
    let out = '';
    const onOut = (text: string): void => {
      out += text;
    };
    const argv = ['web', '--port', '0', '--json', ...options];
    let ran: Ran | undefined;
    const done = host.runWith({ stop: stop.signal, onOut }, ...argv);
    void done.then((end) => (ran = end));
    await until('the address', () => out.includes('\n') || ran !== undefined);
    if (ran !== undefined) throw new Error(ran.err);
    return new Web(JSON.parse(out) as { url: string; port: number; token: string }, done, stop);
  }

  stop(): Promise<Ran> {
    this.#stop.abort();
    return this.done;
  }

  /** Sends a request with exactly these headers, and with the path unchanged. */
  raw(method: string, path: string, headers: Headers = {}, body?: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const where = { host: '127.0.0.1', port: this.port, agent: false };
      const sent = request({ ...where, method, path, headers }, (got) => {
        let text = '';
        got.setEncoding('utf8');
        got.on('data', (chunk: string) => (text += chunk));
        got.on('end', () => {
          resolve({ status: got.statusCode ?? 0, headers: got.headers, text });
        });
        got.on('error', reject);
      });
      sent.on('error', reject);
      // A server that refuses a body does not have to read it.
      sent.on('socket', (socket) => socket.on('error', () => undefined));
      sent.end(body);
    });
  }

  /** The answer of the API to a request with the token. */
  async get<T>(path: string): Promise<T> {
    const { status, text } = await this.raw('GET', path, this.bearer());
    if (status !== 200) throw new Error(`GET ${path}: ${String(status)} ${text}`);
    return JSON.parse(text) as T;
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    const headers = { ...this.bearer(), 'content-type': 'application/json' };
    const { status, text } = await this.raw('POST', path, headers, JSON.stringify(body));
    if (status >= 300) throw new Error(`POST ${path}: ${String(status)} ${text}`);
    return JSON.parse(text) as T;
  }

  bearer(): Headers {
    return { authorization: `Bearer ${this.token}` };
  }

  /** A stream that is open until the test ends. */
  async events(lastId?: string): Promise<EventReader> {
    const reader = new EventReader();
    onTestFinished(() => {
      reader.close();
    });
    await reader.open(this, lastId);
    return reader;
  }
}

export type Seen = {
  [K in keyof WebEvents]: { id: string; name: K; data: WebEvents[K] };
}[keyof WebEvents];

/** The events of one stream, as they arrive. */
export class EventReader {
  readonly seen: Seen[] = [];
  ended = false;
  #close: () => void = () => undefined;

  open(web: Web, lastId?: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const headers = {
        ...web.bearer(),
        ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
      };
      const sent = request(
        { host: '127.0.0.1', port: web.port, path: '/api/events', headers },
        (got) => {
          if (got.statusCode !== 200) reject(new Error(`events: ${String(got.statusCode)}`));
          let pending = '';
          got.setEncoding('utf8');
          got.on('data', (chunk: string) => {
            const parts = (pending + chunk).split('\n\n');
            pending = parts.pop() ?? '';
            this.seen.push(...parts.flatMap(parse));
          });
          got.on('error', () => undefined);
          got.on('close', () => (this.ended = true));
          resolve();
        },
      );
      sent.on('error', reject);
      sent.end();
      this.#close = () => {
        sent.destroy();
      };
    });
  }

  close(): void {
    this.#close();
  }

  /** Waits for an event of this name that matches. */
  saw<K extends keyof WebEvents>(
    name: K,
    matches: (data: WebEvents[K]) => boolean = () => true,
  ): Promise<{ id: string; data: WebEvents[K] }> {
    return until(`the event ${name}; seen: ${JSON.stringify(this.seen).slice(-3000)}`, () =>
      this.of(name).find(({ data }) => matches(data)),
    );
  }

  of<K extends keyof WebEvents>(name: K): { id: string; data: WebEvents[K] }[] {
    return this.seen.filter((event) => event.name === name) as unknown as {
      id: string;
      data: WebEvents[K];
    }[];
  }

  /** The bodies of all messages that arrived, in order. */
  get bodies(): string[] {
    return this.of('messages').flatMap(({ data }) => data.messages.map(({ body }) => body));
  }

  /** The reported states of a message, in order. */
  statesOf(relPath: string): string[] {
    return this.of('facts')
      .flatMap(({ data }) => data.facts)
      .filter((fact) => fact.relPath === relPath)
      .map(({ state }) => state);
  }
}

function parse(text: string): Seen[] {
  const field = (name: string): string | undefined =>
    new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1];
  const [id, name, data] = [field('id'), field('event'), field('data')];
  return id === undefined || name === undefined || data === undefined
    ? []
    : [{ id, name, data: JSON.parse(data) as never } as Seen];
}
