import { namesSecret, type McpServer } from '../../protocol/files/mcp-servers.ts';
import { shellWord } from '../../protocol/text/quoted.ts';
import { commandLine, setBy, type Start } from '../command-line.ts';

/** A server as its profile names it, and the same with the secrets of this machine filled in. */
export interface FilledServer {
  named: McpServer;
  filled: McpServer;
}

/** The method by which a command line's run receives the servers of a profile, or the reason why there is none. */
export type Servers =
  | {
      ok: true;
      /** The method in an operator's terms: flags or a variable. */
      by: string;
      render: (servers: readonly FilledServer[], where: Where) => Rendered;
    }
  | { ok: false; why: string };

/**
 * Recognizes a command line that can receive MCP servers. Flags are added only to a plain call (trust.md §2), and a
 * variable is set only if the line does not set it.
 *
 * @param command as the operator approved it
 */
export function serversOf(command: string): Servers {
  const { whole, start } = commandLine(command);
  const known = Object.keys(TAKING).join(', ');
  const taking = start && Object.hasOwn(TAKING, start.name) ? TAKING[start.name] : undefined;
  if (start === undefined || taking === undefined)
    return {
      ok: false,
      why: `no way is known in which its command takes MCP servers; known of plain calls of ${known}`,
    };
  const words = start.args.map(({ text }) => text);
  const isPlain = whole && start.program.value !== undefined && !command.trimEnd().endsWith('\\');
  if (!isPlain || words.includes('--'))
    return { ok: false, why: `its command is no plain call of ${start.name}` };
  const [needed, why] = taking.needs;
  if (!words.some((one) => needed.test(one))) return { ok: false, why };
  if (setsItself(start, taking.variable))
    return { ok: false, why: `its command sets ${taking.variable ?? ''} itself` };
  return {
    ok: true,
    by: taking.by,
    render: (servers, where) => {
      const all = servers.map((server) => givenOf(server, where));
      const given = all.filter((one) => !isReplaced(one, taking.replaces));
      const why = `${start.name} would replace a part of one of its secrets, which looks like the name of a variable`;
      const left = all.filter((one) => !given.includes(one)).map(({ name }) => ({ name, why }));
      const scripts = given.flatMap(({ script }) => script ?? []);
      const rendered = taking.render(given, where);
      return {
        ...rendered,
        files: [...scripts, ...rendered.files],
        left: [...left, ...rendered.left],
      };
    },
  };
}

/** Returns the servers of a session of the Agent Client Protocol, and the files that start them. */
export function acpServers(
  servers: readonly FilledServer[],
  where: Where,
): { servers: Record<string, unknown>[]; files: RunFile[] } {
  const given = servers.map((server) => givenOf(server, where));
  return {
    files: given.flatMap(({ script }) => script ?? []),
    servers: given.map((one) => {
      const { name } = one;
      if (one.script === undefined) {
        const headers = one.headers.map(({ header, value }) => ({ name: header, value }));
        return { type: 'http', name, url: one.url, headers };
      }
      const [command, ...args] = one.command;
      return { name, command, args, env: [] };
    }),
  };
}

function setsItself(start: Start, variable: string | undefined): boolean {
  return variable !== undefined && setBy(start, variable) !== undefined;
}

/** Whether the CLI would replace parts of a header or an address. */
function isReplaced(given: Given, replaces: RegExp | undefined): boolean {
  if (given.script !== undefined || replaces === undefined) return false;
  return [given.url, ...given.headers.map(({ value }) => value)].some((one) => replaces.test(one));
}

/**
 * Converts a server into the form given to a CLI. A program is started by a script of the run: so its
 * variables, which may be secret, appear neither on a command line nor in the settings of the CLI, and no CLI
 * replaces anything in them. It starts in `/`: the folder of the run contains files that runs have written,
 * and interpreters and `npx` look for code where they start (trust.md §1).
 */
function givenOf({ named, filled }: FilledServer, { runDir, env }: Where): Given {
  const { name } = filled;
  if ('url' in filled && 'url' in named)
    return {
      name,
      url: filled.url,
      isSecretUrl: namesSecret(named.url),
      headers: Object.entries(filled.headers).map(([header, value]) => ({
        header,
        value,
        isSecret: namesSecret(named.headers[header] ?? ''),
      })),
    };
  if (!('command' in filled)) return { name, headers: [], url: '', isSecretUrl: false };
  const file = `mcp-${name}.sh`;
  const workdir = env['CROSSTALK_WORKDIR'];
  // A CLI need not pass its own variables on, and by this one a process that outlives its run is found.
  const own = {
    CROSSTALK_RUN_DIR: runDir,
    ...(workdir !== undefined && { CROSSTALK_WORKDIR: workdir }),
  };
  const variables = { ...filled.env, ...own };
  const exports = Object.entries(variables).map(
    ([variable, value]) => `export ${variable}=${shellWord(value)}\n`,
  );
  const words = [filled.command, ...filled.args].map(shellWord).join(' ');
  return {
    name,
    command: ['/bin/sh', `${runDir}/${file}`],
    script: { name: file, content: `cd / || exit\n${exports.join('')}exec ${words}\n` },
  };
}

/** A file in the directory of a run; it may hold secrets. */
interface RunFile {
  name: string;
  content: string;
}

/** A server in the form in which it is given to a CLI. */
type Given = { name: string } & (
  | { command: readonly string[]; script: RunFile }
  | {
      script?: undefined;
      url: string;
      isSecretUrl: boolean;
      headers: readonly { header: string; value: string; isSecret: boolean }[];
    }
);

/** Additions of a run to its approved command line. */
interface Rendered {
  /** Flags added at the end of the command; nothing in them is secret. */
  flags: string;
  /** Environment variables; they may hold secrets. */
  env: Record<string, string>;
  files: RunFile[];
  /** A settings file, by its path in the working folder; nothing in it is secret. */
  settings?: RunFile;
  /** Servers that this CLI cannot use in their present form, and the reason. */
  left: { name: string; why: string }[];
}

/** The method by which an agent CLI receives MCP servers for one run (automation.md, "Tools by value"). */
interface TakingCli {
  /** A word without which a call takes no servers, and the problem without it. */
  needs: readonly [word: RegExp, why: string];
  /** The variable that holds the servers. */
  variable?: string;
  /** A pattern of text that it replaces in addresses and headers, even if a secret contains it by chance. */
  replaces?: RegExp;
  /** The method in an operator's terms. */
  by: string;
  render: (servers: readonly Given[], where: Where) => Rendered;
}

/** A run, as far as it matters for passing servers. */
interface Where {
  runDir: string;
  /** Environment of the run. */
  env: NodeJS.ProcessEnv;
  /** Whether a person is asked before the CLI uses a tool: then no tool is allowed beforehand. */
  asks: boolean;
  /** Whether it works in a folder that contains nothing of the operator's. */
  inWorkspace: boolean;
}

/** File in the run's directory that configures claude's servers. */
const FILE = 'mcp.json';
/** Path of gemini's settings in its working folder. */
const GEMINI = '.gemini/settings.json';
const TERMINAL = 'it is a call with a terminal';
const CLAUDE = '--mcp-config <its file> --strict-mcp-config --allowedTools mcp__<server>';

/**
 * CLIs that take servers, by name; pi has no MCP of its own. All tools of the approved servers may be used:
 * nobody could be asked in a run.
 */
const TAKING: Readonly<Record<string, TakingCli>> = {
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
      // It decides whether it trusts a folder before it reads its flags, but only for the settings in that folder.
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

/** Renders a server for gemini, which replaces names of variables in its settings, so secrets need not be in a file. */
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

/**
 * Renders servers for codex. Its settings are on the command line, so a secret header is passed by the name
 * of a variable.
 */
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

/** Variables of a run for secrets that must not appear anywhere else. */
class Variables {
  readonly env: Record<string, string> = {};

  /** Stores a value; returns the name of its variable. */
  of(value: string): string {
    const name = `CROSSTALK_MCP_${String(Object.keys(this.env).length + 1)}`;
    this.env[name] = value;
    return name;
  }
}

/** Renders a text as a basic string of TOML, which has the escapes of JSON. */
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
