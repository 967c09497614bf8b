import { shellWord } from '../../protocol/text/quoted.ts';

/** A file in the directory of a run; it may hold secrets. */
export interface RunFile {
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
  /** A settings file in the folder in which it works, by its path in there; nothing in it is secret. */
  settings?: RunFile;
  /** Servers that this CLI cannot be given as they are, and why. */
  left: { name: string; why: string }[];
}

/** How an agent CLI takes MCP servers for one run (automation.md, "Tools by value"). */
interface TakingCli {
  /** A word without which a call takes no servers, and what is wrong without it. */
  needs: readonly [word: RegExp, why: string];
  /** The variable by which it is told. */
  variable?: string;
  /** What it replaces by something else in addresses and headers, also where a secret has it by chance. */
  replaces?: RegExp;
  /** By what it is told, for an operator. */
  by: string;
  render: (servers: readonly Given[], where: Where) => Rendered;
}

/** A run, as far as it matters to how a CLI is told. */
export interface Where {
  runDir: string;
  /** Its variables. */
  env: NodeJS.ProcessEnv;
  /** Whether a person is asked before the CLI uses a tool: then no tool is allowed beforehand. */
  asks: boolean;
  /** Whether it works in a folder that holds nothing of the operator. */
  inWorkspace: boolean;
}

/** The file in the directory of a run of claude that names its servers. */
const FILE = 'mcp.json';
/** The settings of gemini in the folder in which it works. */
const GEMINI = '.gemini/settings.json';
const TERMINAL = 'it is a call with a terminal';
const CLAUDE = '--mcp-config <its file> --strict-mcp-config --allowedTools mcp__<server>';

/**
 * The CLIs that take servers, by name; pi has no MCP of its own. What the approved servers offer may be
 * used: nobody could be asked in a run.
 */
export const TAKING: Readonly<Record<string, TakingCli>> = {
  claude: {
    needs: [/^(?:-p|--print)$/, TERMINAL],
    replaces: /\$\{/,
    by: CLAUDE,
    render: (servers, { runDir, asks }) => {
      const tools = servers.map(({ name }) => `mcp__${name}`).join(',');
      return {
        flags: `--mcp-config ${shellWord(`${runDir}/${FILE}`)} --strict-mcp-config${asks ? '' : ` --allowedTools ${shellWord(tools)}`}`,
        env: {},
        files: [{ name: FILE, content: settingsOf({ mcpServers: byName(servers, claudeServer) }) }],
        left: [],
      };
    },
  },
  codex: {
    needs: [/^(?:exec|e)$/, TERMINAL],
    by: '-c mcp_servers.<server>={...}, secrets by a variable',
    render: codex,
  },
  gemini: {
    // Files of the system have to belong to root, and the folder of its own settings holds its login too.
    needs: [
      /^--skip-trust$/,
      `gemini reads servers from ${GEMINI} where it works, and only with --skip-trust`,
    ],
    replaces: /\$[\w{]/,
    by: `${GEMINI} in its workspace, secrets by a variable`,
    render: (servers, { inWorkspace }) => {
      const why = `gemini takes servers from ${GEMINI} where it works, and nothing is put into a workdir or worktree`;
      if (!inWorkspace)
        return { flags: '', env: {}, files: [], left: servers.map(({ name }) => ({ name, why })) };
      const variables = new Variables();
      const content = settingsOf({
        mcpServers: byName(servers, (given) => geminiServer(given, variables)),
      });
      // It decides whether it trusts a folder before it reads its flags, but only for the settings in there.
      const env = { ...variables.env, GEMINI_CLI_TRUST_WORKSPACE: 'true' };
      return { flags: '', env, files: [], settings: { name: GEMINI, content }, left: [] };
    },
  },
  opencode: {
    needs: [/^run$/, TERMINAL],
    variable: 'OPENCODE_CONFIG_CONTENT',
    replaces: /\{(?:env|file):/,
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

/** It replaces names of variables in its settings, so what is secret need not stand in a file. */
function geminiServer(given: Given, variables: Variables): unknown {
  const trust = true;
  const told = (value: string, isSecret: boolean): string =>
    isSecret ? `\${${variables.of(value)}}` : value;
  if (given.script === undefined) {
    const headers = given.headers.map(({ header, value, isSecret }) => ({
      header,
      value: told(value, isSecret),
    }));
    return { httpUrl: told(given.url, given.isSecretUrl), headers: headersOf(headers), trust };
  }
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
  const variables = new Variables();
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
        const told = isSecret ? variables.of(value) : value;
        (isSecret ? secret : plain).push(`${toml(header)}=${toml(told)}`);
      }
      fields.push(`url=${toml(given.url)}`, `http_headers={${plain.join(',')}}`);
      fields.push(`env_http_headers={${secret.join(',')}}`);
    }
    flags.push(`-c ${shellWord(`mcp_servers.${given.name}={${fields.join(',')}}`)}`);
  }
  return { flags: flags.join(' '), env: variables.env, files: [], left };
}

/** Variables of a run that hold what must stand nowhere else. */
class Variables {
  readonly env: Record<string, string> = {};

  /** The name of the variable that holds a value. */
  of(value: string): string {
    const name = `CROSSTALK_MCP_${String(Object.keys(this.env).length + 1)}`;
    this.env[name] = value;
    return name;
  }
}

/** A text as a basic string of TOML, of which the escapes are those of JSON. */
function toml(text: string): string {
  return JSON.stringify(text).replaceAll('\x7f', '\\u007f');
}

function settingsOf(value: unknown): string {
  return `${JSON.stringify(value, undefined, 1)}\n`;
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
