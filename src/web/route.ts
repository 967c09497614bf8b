import type { Context as HttpCall } from 'hono';
import { json, bytesIn, eachIn, jsonIn, withoutPrinted } from './answers.ts';
import type { Metrics } from './metrics.ts';
import type { Parameters, ValueOf } from './params.ts';
import type { Parts } from './parts.ts';

/** The parts from which all routes of one server answer. */
interface Server {
  parts: Parts;
  metrics: Metrics;
}

type Given<P extends Parameters, K extends keyof P> = { [N in K]?: NonNullable<ValueOf<P[N]>> };

/** One request to a route. */
interface Call<P extends Parameters, B> extends Server {
  /**
   * Returns the value of a parameter.
   *
   * @throws CrosstalkError `usage`
   */
  get: <K extends keyof P & string>(name: K) => ValueOf<P[K]>;
  /** Returns those of these parameters that were given, and are not empty. */
  said: <K extends keyof P & string>(...names: K[]) => K[];
  /**
   * Returns the values of those.
   *
   * @throws CrosstalkError `usage`
   */
  given: <K extends keyof P & string>(...names: K[]) => Given<P, K>;
  body: B;
  /**
   * Reads the raw body, for a route without a parser; at most its `limit`.
   *
   * @throws TooLarge
   */
  bytes: () => Promise<Buffer>;
  /**
   * Reads the raw body piece by piece, without keeping it.
   *
   * @throws TooLarge
   */
  each: (take: (chunk: Uint8Array) => void) => Promise<void>;
}

/** A method and a path, in which `{name}` stands for a parameter. */
type Where = `${'GET' | 'POST'} /${string}`;

interface Spec<P extends Parameters, B, A> {
  /** The status of a successful response; 200 by default. */
  status?: number;
  /** The media type, unless the response is JSON of one of the types in `api/`. */
  media?: string;
  /** Parsed when `answer` reads them, so it decides which error of a wrong request is reported first. */
  parameters?: P;
  /** Maximum bytes of the body, if it may be larger than a message. */
  limit?: number;
  /**
   * Parses the body.
   *
   * @throws CrosstalkError `usage`
   */
  body?: (value: unknown) => B;
  answer: (call: Call<P, B>) => Promise<A>;
}

/** A row of the table of routes, whatever its parameters and its response. */
export interface Route {
  where: Where;
  limit?: number;
  serve: (http: HttpCall, server: Server) => Promise<Response>;
}

/**
 * Adds the handler to a route. The result keeps each literal and each comment in its type:
 * docs/openapi.js writes the document from that type.
 */
export function route<
  const W extends Where,
  const S extends Pick<Spec<P, B, A>, 'status' | 'media'>,
  // eslint-disable-next-line @typescript-eslint/no-generated-empty-object-type -- none can be asked for
  const P extends Parameters = Record<never, never>,
  A = never,
  B = undefined,
>(where: W, spec: S & Spec<P, B, A>): S & Spec<P, B, A> & Route & { where: W } {
  const serve = async (http: HttpCall, server: Server): Promise<Response> => {
    const textOf = (name: string): string | undefined =>
      saidIn(http, where, spec.parameters?.[name]?.in, name);
    const now = (): Date => server.parts.context.now();
    const get = <K extends keyof P & string>(name: K): ValueOf<P[K]> =>
      (spec.parameters?.[name] as P[K]).read(textOf(name), name, now) as ValueOf<P[K]>;
    const said = <K extends keyof P & string>(...names: K[]): K[] =>
      names.filter((name) => (textOf(name) ?? '') !== '');
    const given = <K extends keyof P & string>(...names: K[]): Given<P, K> =>
      Object.fromEntries(said(...names).map((name) => [name, get(name)])) as Given<P, K>;
    const body = spec.body?.(await jsonIn(http.req.raw, spec.limit)) as B;
    const bytes = (): Promise<Buffer> => bytesIn(http.req.raw, spec.limit ?? 0);
    const each = (take: (chunk: Uint8Array) => void): Promise<void> =>
      eachIn(http.req.raw, spec.limit, take);
    const answer = await spec.answer({ ...server, get, said, given, body, bytes, each });
    const replacer = server.parts.mayWatch ? undefined : withoutPrinted;
    return answer instanceof Response ? answer : json(answer, spec.status, replacer);
  };
  return { ...spec, where, serve };
}

/** Returns the raw text of a parameter. */
function saidIn(
  { req }: HttpCall,
  where: Where,
  place: 'header' | undefined,
  name: string,
): string | undefined {
  if (where.includes(`{${name}}`)) return req.param(name);
  return place === 'header' ? req.header(name) : req.query(name);
}
