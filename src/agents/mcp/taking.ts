import { shellWord } from '../../protocol/text/shell-word.ts';

/** A file in the directory of a run; it may hold secrets. */
interface RunFile {
  name: string;
  content: string;
}

/** A server as a CLI is told of it. */
export type Given = { name: string } & (
  | { command: readonly string[]; script: RunFile }
  | {
      script?: undefined;
      url: string;
      isSecretUrl: boolean;
      headers: readonly { header: string; value: string; isSecret: boolean }[];
    }
);

/** What a run is given beside its approved command line. */
export interface Rendered {
  /** What is added at its end; nothing secret. */
  flags: string;
  /** Variables; they may hold secrets. */
  env: Record<string, string>;
  files: RunFile[];
  /** Servers that this CLI cannot be given as they are, and why. */
  left: { name: string; why: string }[];
}

/** How an agent CLI takes MCP servers for one run (automation.md, "Tools by value"). */
interface TakingCli {
  /** A word that makes a call one without a terminal; undefined if no word is needed. */
  headless?: RegExp;
  /** The variable by which it is told. */
  variable?: string;
  /** By what it is told, for an operator. */
  by: string;
  render: (
    servers: readonly Given[],
    where: { runDir: string; env: NodeJS.ProcessEnv; asks: boolean },
  ) => Rendered;
}

/** The file in the directory of a run that names its servers. */
const FILE = 'mcp.json';
/** The variable that names the lowest of gemini's settings files. */
const GEMINI = 'GEMINI_CLI_SYSTEM_DEFAULTS_PATH';
const CLAUDE = '--mcp-config <its file> --strict-mcp-config --allowedTools mcp__<server>';

/**
 * The CLIs that take servers, by name; pi has no MCP of its own. What the approved servers offer may be
 * used: nobody could be asked in a run.
 */
export const TAKING: Readonly<Record<string, TakingCli>> = {
  claude: {
    headless: /^(?:-p|--print)$/,
    by: CLAUDE,
    render: (servers, { runDir, asks }) => {
      const tools = servers.map(({ name }) => `mcp__${name}`).join(',');
      return {
        flags: `--mcp-config ${shellWord(`${runDir}/${FILE}`)} --strict-mcp-config${asks ? '' : ` --allowedTools ${shellWord(tools)}`}`,
        env: {},
        files: [settingsFile({ mcpServers: byName(servers, claudeServer) })],
        left: [],
      };
    },
  },
  codex: {
    headless: /^(?:exec|e)$/,
    by: '-c mcp_servers.<server>={...}, secrets by a variable',
    render: codex,
  },
  gemini: {
    // Settings of the system would go before those of the operator, and take the place of a policy.
    variable: GEMINI,
    by: GEMINI,
    render: (servers, { runDir, env }) => {
      const why = `${GEMINI} names a file of your own, and gemini reads one`;
      if (env[GEMINI] !== undefined)
        return { flags: '', env: {}, files: [], left: servers.map(({ name }) => ({ name, why })) };
      return {
        flags: '',
        env: { [GEMINI]: `${runDir}/${FILE}` },
        files: [settingsFile({ mcpServers: byName(servers, geminiServer) })],
        left: [],
      };
    },
  },
  opencode: {
    headless: /^run$/,
    variable: 'OPENCODE_CONFIG_CONTENT',
    by: 'OPENCODE_CONFIG_CONTENT',
    render: (servers, { env }) => {
      const before = objectIn(env['OPENCODE_CONFIG_CONTENT']);
      const mcp = { ...objectOf(before['mcp']), ...byName(servers, opencodeServer) };
      return {
        flags: '',
        env: { OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...before, mcp }) },
        files: [],
        left: [],
      };
    },
  },
};

function claudeServer(given: Given): unknown {
  if (given.script === undefined)
    return { type: 'http', url: given.url, headers: headersOf(given.headers) };
  const [command, ...args] = given.command;
  return { type: 'stdio', command, args };
}

function geminiServer(given: Given): unknown {
  const trust = true;
  if (given.script === undefined)
    return { httpUrl: given.url, headers: headersOf(given.headers), trust };
  const [command, ...args] = given.command;
  return { command, args, trust };
}

function opencodeServer(given: Given): unknown {
  return given.script === undefined
    ? {
        type: 'remote',
        url: given.url,
        headers: headersOf(given.headers),
        oauth: false,
        enabled: true,
      }
    : { type: 'local', command: given.command, enabled: true };
}

/** Its settings stand on the command line, so a secret header is named by a variable. */
function codex(servers: readonly Given[]): Rendered {
  const env: Record<string, string> = {};
  const left: Rendered['left'] = [];
  const flags: string[] = [];
  for (const given of servers) {
    const fields = ['default_tools_approval_mode="approve"'];
    if (given.script !== undefined) {
      const [command = '', ...args] = given.command;
      fields.push(`command=${toml(command)}`, `args=[${args.map(toml).join(',')}]`);
    } else if (given.isSecretUrl) {
      left.push({
        name: given.name,
        why: 'codex takes a url on its command line alone, where no secret may stand; put it in headers',
      });
      continue;
    } else {
      const [plain, secret] = [[] as string[], [] as string[]];
      for (const { header, value, isSecret } of given.headers) {
        const variable = `CROSSTALK_MCP_${String(Object.keys(env).length + 1)}`;
        if (isSecret) env[variable] = value;
        (isSecret ? secret : plain).push(`${toml(header)}=${toml(isSecret ? variable : value)}`);
      }
      fields.push(`url=${toml(given.url)}`, `http_headers={${plain.join(',')}}`);
      fields.push(`env_http_headers={${secret.join(',')}}`);
    }
    flags.push(`-c ${shellWord(`mcp_servers.${given.name}={${fields.join(',')}}`)}`);
  }
  return { flags: flags.join(' '), env, files: [], left };
}

/** A text as a basic string of TOML, of which the escapes are those of JSON. */
function toml(text: string): string {
  return JSON.stringify(text).replaceAll('\x7f', '\\u007f');
}

function settingsFile(value: unknown): RunFile {
  return { name: FILE, content: `${JSON.stringify(value, undefined, 1)}\n` };
}

function byName(servers: readonly Given[], of: (given: Given) => unknown): Record<string, unknown> {
  return Object.fromEntries(servers.map((given) => [given.name, of(given)]));
}

function headersOf(headers: readonly { header: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(headers.map(({ header, value }) => [header, value]));
}

function objectIn(text: string | undefined): Record<string, unknown> {
  try {
    return objectOf(JSON.parse(text ?? '{}'));
  } catch {
    return {};
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}
