import { describe, expect, it } from 'vitest';
import { knownAgent } from '../../src/agents/agents.ts';
import { planningCommand, PLANNING_AGENTS } from '../../src/agents/planning.ts';

const CLAUDE =
  '--permission-mode plan --strict-mcp-config --disallowedTools "Bash,Edit,Write,NotebookEdit"';

describe('the command line that plans', () => {
  it.each([
    ['claude -p', `claude -p ${CLAUDE}`],
    [
      'claude -p --permission-mode acceptEdits --allowedTools "Bash(crosstalk:*)" Edit --model opus',
      `claude -p --model opus ${CLAUDE}`,
    ],
    ['claude --permission-mode=bypassPermissions -p', `claude -p ${CLAUDE}`],
    ['claude -p --dangerously-skip-permissions', `claude -p ${CLAUDE}`],
    ['A=1 env B=2 claude -p', `A=1 env B=2 claude -p ${CLAUDE}`],
    [
      'codex exec --skip-git-repo-check --sandbox workspace-write --add-dir "$CROSSTALK_RUN_DIR" -c allow_login_shell=false -',
      'codex exec --skip-git-repo-check -c allow_login_shell=false - --sandbox read-only',
    ],
    [
      'codex exec -sdanger-full-access -c sandbox_mode=danger-full-access --full-auto -',
      'codex exec - --sandbox read-only',
    ],
    ['pi -p --tools read,bash', 'pi -p --tools read,grep,find,ls'],
    [
      'opencode run --agent build',
      `OPENCODE_PERMISSION='{"edit":"deny","bash":"deny","task":"deny"}' opencode run --agent plan`,
    ],
  ])('of %s leaves out what allows something', (command, planning) => {
    expect(planningCommand(command)).toBe(planning);
  });

  it.each([
    ['my-agent'],
    ['gemini --approval-mode auto_edit'],
    ['claude -p $FLAGS'],
    ['claude -p "$FLAGS"'],
    ['claude -p --perm$X'],
    ['claude -p; rm -rf x'],
    ['claude -p -- --permission-mode plan'],
    ['env -i opencode run'],
    ['$AGENT -p'],
  ])('is not known of %s', (command) => {
    expect(planningCommand(command)).toBeUndefined();
  });

  it('is known of what is proposed for each of these CLIs', () => {
    for (const name of PLANNING_AGENTS)
      expect(planningCommand(knownAgent(name)?.headless ?? '')).toBeDefined();
  });
});
