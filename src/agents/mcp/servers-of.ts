import { namesSecret, type McpServer } from '../../protocol/files/mcp-servers.ts';
import { shellWord } from '../../protocol/text/quoted.ts';
import { commandLine, setBy, type Start } from '../command-line.ts';
import { TAKING, type Given, type Rendered, type RunFile, type Where } from './taking.ts';

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

/** The servers of a session of the Agent Client Protocol, and the files that start them. */
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

/** Whether the CLI would change what stands in a header or an address. */
function isReplaced(given: Given, replaces: RegExp | undefined): boolean {
  if (given.script !== undefined || replaces === undefined) return false;
  return [given.url, ...given.headers.map(({ value }) => value)].some((one) => replaces.test(one));
}

/**
 * A program is started by a script of the run: so its variables, which may be secret, stand neither on a
 * command line nor in the settings of the CLI, and no CLI replaces anything in them. It starts in `/`: in
 * the folder of the run lies what runs have written, and interpreters and `npx` look for code where they
 * start (trust.md §1).
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
