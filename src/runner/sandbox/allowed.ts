/** A host that may be reached: a name, perhaps for all names below it, and a port if only one is meant. */
export interface Allowed {
  name: string;
  below: boolean;
  port?: number;
}

/** A host as a sandbox names it: `api.example.com`, `*.example.com`, `127.0.0.1:8080`. */
export function allowedOf(text: string): Allowed {
  const [, star, name = '', port] = /^(\*\.)?(.*?)(?::(\d+))?$/.exec(text.toLowerCase()) ?? [];
  return { name, below: star !== undefined, ...(port !== undefined && { port: Number(port) }) };
}

/** The ports of a host that names none. */
const USUAL_PORTS = [80, 443];

/** Whether a connection may be made. */
export function mayReach(allowed: readonly Allowed[], host: string, port: number): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  return allowed.some(
    (one) =>
      (one.below ? name.endsWith(`.${one.name}`) : name === one.name) &&
      (one.port === undefined ? USUAL_PORTS.includes(port) : one.port === port),
  );
}
