import { shown } from '../text/result.ts';

/**
 * An MCP server in a profile (automation.md, "Tools by value"): a program that is started for each run, or a
 * server at an address.
 */
export type McpServer = { name: string } & (
  | {
      /** A name that is looked up on the PATH, or an absolute path. */
      command: string;
      args: string[];
      /** Variables that are set for it. */
      env: Record<string, string>;
    }
  | {
      /** http or https. */
      url: string;
      headers: Record<string, string>;
    }
);

/** Limits: servers of a profile, entries of a list in one, and characters of a text. */
const MOST_SERVERS = 20;
const MOST_ENTRIES = 50;
const MOST_CHARACTERS = 2000;

const FIELDS = ['name', 'command', 'args', 'env', 'url', 'headers'];
/** A name that all known CLIs accept, and from which they derive names of tools. */
const SERVER_NAME = /^[a-z][a-z0-9-]{0,31}$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const HEADER = /^[A-Za-z0-9-]{1,64}$/;
/** A reference to a secret of the machine, by its name in `crosstalk secret`. */
const SECRET = /\$\{([A-Za-z0-9][A-Za-z0-9._-]{0,63})\}/g;
/** Placeholders that the CLIs themselves would replace. */
const REPLACED = /\$|\{(?:env|file):/;

/**
 * Parses `mcps` of a profile.
 *
 * @param value from the header: a list of mappings of texts
 * @param problems receives every problem found, in one line each
 */
export function parseMcpServers(value: unknown, problems: string[]): McpServer[] {
  if (!Array.isArray(value) || value.length > MOST_SERVERS) {
    problems.push(
      `mcps is ${shown(value)}, expected a list of at most ${String(MOST_SERVERS)} servers, each with name and command, or name and url`,
    );
    return [];
  }
  const servers = value.flatMap((one: unknown, at) => parseServer(one, at, problems) ?? []);
  const names = servers.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) problems.push(`mcps names ${shown(twice)} twice, expected once`);
  return servers;
}

function parseServer(value: unknown, at: number, problems: string[]): McpServer | undefined {
  const before = problems.length;
  const where = `mcps[${String(at)}]`;
  const say = (what: string): void => {
    problems.push(`${where}${what}`);
  };
  if (!isMapping(value)) {
    say(` is ${shown(value)}, expected name and command, or name and url`);
    return undefined;
  }
  const { name, command, url } = value;
  const unknown = Object.keys(value).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) say(` has ${shown(unknown)}, expected only ${FIELDS.join(', ')}`);
  if (typeof name !== 'string' || !SERVER_NAME.test(name))
    say(`.name is ${shown(name)}, expected lower-case letters, digits and -, at most 32`);
  if ((command === undefined) === (url === undefined))
    say(' needs either a command or a url, and not both');
  const foreign = Object.keys(value).find((field) =>
    (command === undefined ? ['args', 'env'] : ['headers']).includes(field),
  );
  if (foreign !== undefined)
    say(`.${foreign} belongs to a server with a ${foreign === 'headers' ? 'url' : 'command'}`);
  const server =
    command === undefined
      ? { url: addressOf(url, say), headers: mappingOf(value, 'headers', HEADER, say) }
      : {
          command: commandOf(command, say),
          args: argsOf(value['args'], say),
          env: mappingOf(value, 'env', VARIABLE, say),
        };
  return problems.length > before ? undefined : { name: name as string, ...server };
}

type Say = (what: string) => void;

function commandOf(value: unknown, say: Say): string {
  if (isText(value) && /^(?:\/|[A-Za-z0-9_])/.test(value) && !isRelative(value)) {
    if (!value.includes('$')) return value;
    say(`.command is ${shown(value)}, and a secret cannot stand on a command line; put it in env`);
  } else
    say(
      `.command is ${shown(value)}, expected the name of a program, or its absolute path; arguments go into args`,
    );
  return '';
}

/** Whether a command is a path below the folder of the run, which the run itself may have written. */
function isRelative(command: string): boolean {
  return command.includes('/') && !command.startsWith('/');
}

function argsOf(value: unknown, say: Say): string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > MOST_ENTRIES || !value.every(isText)) {
    say(`.args is ${shown(value)}, expected a list of at most ${String(MOST_ENTRIES)} texts`);
    return [];
  }
  const withSecret = value.find((one) => REPLACED.test(one));
  if (withSecret !== undefined)
    say(
      `.args has ${shown(withSecret)}, and a secret cannot stand on a command line; put it in env`,
    );
  return value;
}

function addressOf(value: unknown, say: Say): string {
  const isAddress = isText(value) && /^https?:\/\/[^\s@/?#]+(?:[/?#]\S*)?$/.test(value);
  if (!isAddress)
    say(`.url is ${shown(value)}, expected an address that begins with https:// or http://`);
  else if (hasForeign(value))
    say(`.url is ${shown(value)}, expected no $ but in \${NAME}, the name of a secret`);
  return isAddress ? value : '';
}

function mappingOf(
  fields: Record<string, unknown>,
  field: string,
  names: RegExp,
  say: Say,
): Record<string, string> {
  const value = fields[field];
  if (value === undefined) return {};
  if (!isMapping(value) || Object.keys(value).length > MOST_ENTRIES) {
    say(`.${field} is ${shown(value)}, expected at most ${String(MOST_ENTRIES)} names and texts`);
    return {};
  }
  for (const [name, text] of Object.entries(value)) {
    if (!names.test(name)) say(`.${field} has ${shown(name)}, which is no name for it`);
    if (!isText(text)) say(`.${field}.${name} is ${shown(text)}, expected a text in one line`);
    else if (hasForeign(text))
      say(
        `.${field}.${name} is ${shown(text)}, expected no $ but in \${NAME}, the name of a secret`,
      );
  }
  return Object.fromEntries(Object.entries(value)) as Record<string, string>;
}

/** Whether a value is a text in one line, without control characters. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MOST_CHARACTERS && !/\p{Cc}/u.test(value);
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasForeign(text: string): boolean {
  return REPLACED.test(text.replace(SECRET, ''));
}

/** Returns the texts of a server that may contain a secret. */
function textsOf(server: McpServer): string[] {
  return 'command' in server
    ? Object.values(server.env)
    : [server.url, ...Object.values(server.headers)];
}

/** Returns the names of the secrets that some servers need, each once, in order. */
export function secretsIn(servers: readonly McpServer[]): string[] {
  const names = servers
    .flatMap(textsOf)
    .flatMap((text) => [...text.matchAll(SECRET)].map(([, name = '']) => name));
  return [...new Set(names)].sort();
}

/** Whether a text refers to a secret. */
export function namesSecret(text: string): boolean {
  return text.search(SECRET) >= 0;
}

/**
 * Returns a server with the secrets of this machine filled in.
 *
 * @param secrets every one that it refers to, see {@link secretsIn}
 */
export function withSecrets(server: McpServer, secrets: ReadonlyMap<string, string>): McpServer {
  const fill = (text: string): string =>
    text.replace(SECRET, (_, name: string) => secrets.get(name) ?? '');
  const all = (texts: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, fill(text)]));
  return 'command' in server
    ? { ...server, env: all(server.env) }
    : { ...server, url: fill(server.url), headers: all(server.headers) };
}
