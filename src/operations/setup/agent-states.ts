import { access, constants, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { loginFiles } from '../../agents/account.ts';
import { KNOWN_AGENTS, type AgentCli } from '../../agents/agents.ts';

/** The size of `{}` and a line feed: some CLIs create the file before anybody logs in. */
const EMPTY_BYTES = 3;

/** What of a known agent CLI is seen without running it. */
export interface AgentState {
  agent: AgentCli;
  isInstalled: boolean;
  /** What shows that it is logged in; undefined when that is not known. */
  loggedInBy: string | undefined;
}

/** Looks for the known agent CLIs and their logins, and runs none of them. */
export async function lookAtAgents(env: NodeJS.ProcessEnv): Promise<AgentState[]> {
  return Promise.all(
    KNOWN_AGENTS.map(async (agent) => ({
      agent,
      isInstalled: (await programOf(agent.name, env['PATH'] ?? '')) !== undefined,
      loggedInBy: await loginOf(agent, env),
    })),
  );
}

/** The command that installs a known agent CLI. */
export function installing(agent: AgentCli): string {
  return `npm install --global ${agent.package}`;
}

/** The path of a program on a PATH. */
export async function programOf(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter).filter((one) => one !== '')) {
    const program = join(folder, name);
    const found = await access(program, constants.X_OK).then(
      async () => (await stat(program)).isFile(),
      () => false,
    );
    if (found) return program;
  }
  return undefined;
}

/** What shows that it is logged in: a variable, or a file that a login writes. */
export async function loginOf(
  agent: AgentCli,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const key = agent.account.keys.find((name) => (env[name] ?? '') !== '');
  if (key !== undefined) return key;
  for (const file of loginFiles({ agent, id: agent.name }, env)) {
    if (
      await stat(file).then(
        (found) => found.size > EMPTY_BYTES,
        () => false,
      )
    )
      return file;
  }
  return undefined;
}
