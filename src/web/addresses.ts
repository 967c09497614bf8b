import { networkInterfaces } from 'node:os';
import { CrosstalkError } from '../errors.ts';
import { shown } from '../protocol/text/result.ts';

const ANY = new Set(['0.0.0.0', '::']);
/** The most addresses of this machine that are shown. */
const SHOWN = 4;

/** Whether a server that listens on this address listens on all addresses of the machine. */
export function isAny(bound: string): boolean {
  return ANY.has(bound);
}

/**
 * The beginning of the address under which a tunnel or proxy shows the server.
 *
 * @param said the value of `--public-url`
 * @throws CrosstalkError `usage` if it is none
 */
export function publicUrlOf(said: string): URL {
  const url = URL.canParse(said) && !/[\s\\]/.test(said) ? new URL(said) : undefined;
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
  const name = url?.hostname.replace(/^\[|\]$/g, '') ?? '';
  // There may be no user, path, query or fragment in it.
  if (url?.href === `${url?.origin ?? ''}/` && isWeb && !isAny(name)) return url;
  throw new CrosstalkError(
    'usage',
    `--public-url is ${shown(said)}, expected what comes before the path in the browser: http://localhost:8080, https://bus.example.org`,
  );
}

/**
 * The addresses at which a browser finds the server, without paths; the first one works on this
 * machine, or is the public one.
 *
 * @param place `bound`: the address that the server listens on; `own`: those of this machine
 */
export function openAddresses(place: {
  host: string;
  bound: string;
  port: number;
  publicUrl: URL | undefined;
  own?: readonly string[];
}): string[] {
  const { host, bound, port, publicUrl, own = ownAddresses(bound) } = place;
  if (publicUrl !== undefined) return [publicUrl.origin];
  const names = isAny(bound) ? ['localhost', ...own.slice(0, SHOWN)] : [host];
  return names.map((name) => `http://${name.includes(':') ? `[${name}]` : name}:${String(port)}`);
}

/** The addresses of this machine that others can reach it by, those of IPv4 first. */
function ownAddresses(bound: string): string[] {
  const all = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const reachable = all.filter(({ internal, address }) => !internal && !/^fe80:/i.test(address));
  const of = (family: string): string[] =>
    reachable.filter((one) => one.family === family).map(({ address }) => address);
  return bound === '::' ? [...of('IPv4'), ...of('IPv6')] : of('IPv4');
}
