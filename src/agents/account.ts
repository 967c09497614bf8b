import { knownAgent, type AgentCli } from './agents.ts';
import { commandLine, inHome, setBy } from './command-line.ts';
import { withoutTrailing } from '../protocol/text/quoted.ts';

/** The account that a command line of a known agent CLI uses. */
export interface AgentAccount {
  agent: AgentCli;
  /** Id of the account; commands with the same id share it: `claude`, or `claude at ~/.claude-work`. */
  id: string;
  /** The folder of the login that the command itself names, as the command line spells it. */
  folder?: string;
}

/** Determines the account of a command that starts a known agent CLI, also after assignments, `exec` or `env`. */
export function accountOf(command: string): AgentAccount | undefined {
  const { start } = commandLine(command);
  const agent = start && knownAgent(start.name);
  if (start === undefined || agent === undefined) return undefined;
  const { variable, folder: fallback } = agent.account;
  const set = variable === undefined ? undefined : setBy(start, variable);
  if (set === undefined) return { agent, id: agent.name };
  const folder = set === '' ? withoutTrailing(`~/${fallback}`, /\//) : set;
  return { agent, id: `${agent.name} at ${folder}`, folder };
}

/**
 * Returns the files that a login of the account writes, as absolute paths; empty when only a shell could tell
 * which folder is meant.
 */
export function loginFiles(
  { agent, folder }: AgentAccount,
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const { variable, folder: fallback, files } = agent.account;
  const home = environment['HOME'] ?? '';
  const fromEnvironment = variable === undefined ? '' : (environment[variable] ?? '');
  const named = folder ?? (fromEnvironment === '' ? `${home}/${fallback}` : fromEnvironment);
  const expanded = inHome(named, home);
  if (!expanded.startsWith('/') || /[$`]/.test(expanded)) return [];
  const root = withoutTrailing(expanded, /\//);
  return files.map((file) => `${root}/${file}`);
}
