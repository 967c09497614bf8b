/**
 * The agent CLIs we know: how each runs without a terminal (prompt on stdin, answer on stdout)
 * and on one. `{text}` stands for the instructions, `{toml}` for the same as a TOML string; the
 * argument that holds them is passed to the program as it is, never through a shell.
 */
export interface AgentCli {
  name: string;
  /** The command line for a host file. */
  headless: string;
  /** The command and arguments for an interactive session. */
  interactive: readonly string[];
}

export const KNOWN_AGENTS: readonly AgentCli[] = [
  {
    name: 'claude',
    headless: 'claude -p --permission-mode acceptEdits --allowedTools "Bash(crosstalk:*)"',
    interactive: ['claude', '--append-system-prompt', '{text}'],
  },
  {
    name: 'codex',
    headless:
      'codex exec --skip-git-repo-check --sandbox workspace-write --add-dir "$CROSSTALK_STATE_DIR" -c allow_login_shell=false -',
    interactive: ['codex', '-c', 'developer_instructions={toml}'],
  },
  {
    name: 'gemini',
    headless:
      'gemini --skip-trust --approval-mode auto_edit --allowed-tools "run_shell_command(crosstalk)" -m gemini-2.5-pro',
    interactive: ['gemini', '-i', '{text}'],
  },
  {
    name: 'opencode',
    headless: 'opencode run',
    interactive: ['opencode', '--prompt', '{text}'],
  },
  {
    name: 'qwen',
    headless: 'qwen --approval-mode auto-edit --allowed-tools "run_shell_command(crosstalk)"',
    interactive: ['qwen', '-i', '{text}'],
  },
  { name: 'pi', headless: 'pi -p', interactive: ['pi', '--append-system-prompt', '{text}'] },
];

/** The known agent CLI of this exact name. */
export function knownAgent(name: string): AgentCli | undefined {
  return KNOWN_AGENTS.find((agent) => agent.name === name);
}

/** The known agent CLI that a command line starts, whatever its flags. */
export function agentOf(command: string): AgentCli | undefined {
  const program = command.trim().split(/\s+/)[0]?.split('/').at(-1);
  return program === undefined ? undefined : knownAgent(program);
}
