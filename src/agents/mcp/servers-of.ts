import { namesSecret, type McpServer } from '../../protocol/files/mcp-servers.ts';
import { shellWord } from '../../protocol/text/shell-word.ts';
import { commandLine, setBy, type Start } from '../command-line.ts';
import { TAKING, type Given, type Rendered } from './taking.ts';

/** A server as its profile names it, and with the secrets of this machine in it. */
export interface FilledServer {
  named: McpServer;
  filled: McpServer;
}

/** How the servers of a profile reach a run of a command line, or why they cannot. */
export type Servers =
  | {
      ok: true;
      /** What the CLI is made to do, for an operator: flags or a variable. */
      by: string;
      render: (servers: readonly FilledServer[], where: Where) => Rendered;
    }
  | { ok: false; why: string };

/** Of a run. */
interface Where {
  runDir: string;
  /** Its variables. */
  env: NodeJS.ProcessEnv;
  /** Whether a person is asked before the CLI uses a tool: then no tool is allowed beforehand. */
  asks: boolean;
}

/**
 * Recognizes a command line to which MCP servers can be given. Flags are added to a plain call alone
 * (trust.md §2), and a variable where the line leaves it as it is.
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
  const { headless } = taking;
  const isHeadless = headless === undefined || words.some((one) => headless.test(one));
  if (!isPlain || words.includes('--') || !isHeadless)
    return { ok: false, why: `its command is no plain call of ${start.name} without a terminal` };
  if (setsItself(start, taking.variable))
    return { ok: false, why: `its command sets ${taking.variable ?? ''} itself` };
  return {
    ok: true,
    by: taking.by,
    render: (servers, where) => {
      const given = servers.map((server) => givenOf(server, where.runDir));
      const scripts = given.flatMap(({ script }) => script ?? []);
      const rendered = taking.render(given, where);
      return { ...rendered, files: [...scripts, ...rendered.files] };
    },
  };
}

function setsItself(start: Start, variable: string | undefined): boolean {
  return variable !== undefined && setBy(start, variable) !== undefined;
}

/**
 * A program is started by a script of the run: so its variables, which may be secret, stand neither on a
 * command line nor in the settings of the CLI, and no CLI replaces anything in them.
 */
function givenOf({ named, filled }: FilledServer, runDir: string): Given {
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
  const exports = Object.entries(filled.env).map(
    ([variable, value]) => `export ${variable}=${shellWord(value)}\n`,
  );
  const words = [filled.command, ...filled.args].map(shellWord).join(' ');
  return {
    name,
    command: ['/bin/sh', `${runDir}/${file}`],
    script: { name: file, content: `${exports.join('')}exec ${words}\n` },
  };
}
