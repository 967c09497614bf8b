import { knownAgent, type AgentCli } from './agents.ts';
import { withoutTrailing } from './trailing.ts';

/** The account that a command line of a known agent CLI works with. */
export interface AgentAccount {
  agent: AgentCli;
  /** Commands with the same one share an account: `claude`, or `claude at ~/.claude-work`. */
  id: string;
  /** The folder of the login that the command itself names, as it is written there. */
  folder?: string;
}

const ASSIGNMENT = /^([A-Za-z_]\w*)=("[^"]*"|'[^']*'|[^\s"';|&<>()]*)\s+/;
const STARTER = /^(?:exec|env|command|nice)\s+/;
const PROGRAM = /^(?:"([^"]+)"|'([^']+)'|([^\s"';|&<>()]+))/;

/** The account of a command that starts a known agent CLI, after assignments, `exec` or `env`. */
export function accountOf(command: string): AgentAccount | undefined {
  const assigned = new Map<string, string>();
  let rest = command.trimStart();
  for (;;) {
    const [whole = '', name = '', value = ''] = ASSIGNMENT.exec(rest) ?? [];
    if (whole !== '') assigned.set(name, value.replace(/^(["'])(.*)\1$/s, '$2'));
    const skipped = whole === '' ? (STARTER.exec(rest)?.[0] ?? '') : whole;
    if (skipped === '') break;
    rest = rest.slice(skipped.length);
  }
  const [, double, single, bare] = PROGRAM.exec(rest) ?? [];
  const program = double ?? single ?? bare;
  const agent = knownAgent(program?.split('/').at(-1) ?? '');
  if (agent === undefined) return undefined;
  const folder = assigned.get(agent.account.variable ?? '');
  return folder === undefined
    ? { agent, id: agent.name }
    : { agent, id: `${agent.name} at ${folder}`, folder };
}

/**
 * The files that a login of the account writes, as absolute paths; none where the folder cannot be
 * known without a shell.
 */
export function loginFiles(
  { agent, folder }: AgentAccount,
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const { variable, folder: fallback, files } = agent.account;
  const home = environment['HOME'] ?? '';
  const fromEnvironment = variable === undefined ? '' : (environment[variable] ?? '');
  const named = folder ?? (fromEnvironment === '' ? `${home}/${fallback}` : fromEnvironment);
  const expanded = named
    .replace(/^~(?=\/|$)/, () => home)
    .replace(/\$HOME\b|\$\{HOME\}/g, () => home);
  if (!expanded.startsWith('/') || /[$`]/.test(expanded)) return [];
  const root = withoutTrailing(expanded, /\//);
  return files.map((file) => `${root}/${file}`);
}
