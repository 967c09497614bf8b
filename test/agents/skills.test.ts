import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Bus } from '../support/bus.ts';
import { ChatTerminal, hasTmux } from '../support/chat-terminal.ts';
import { headless } from './clis.ts';
import { machine, underTest } from './machine.ts';
import { startModelServer, type ModelServer, type Script } from './server.ts';

const each = (
  ...names: Parameters<typeof underTest>
): (readonly [string, ReturnType<typeof underTest>[0]])[] =>
  underTest(...names).map((cli) => [cli.name, cli] as const);

async function model(script: Script): Promise<ModelServer> {
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  return server;
}

const skill = (text: string, header = ''): string =>
  `---\nname: review\ndescription: Reviews a change.\n${header}---\n\n${text}\n`;

it.each(each('claude', 'codex'))(
  '%s is told the skill as it is now, reads what lies beside it, and runs no hook of its folder',
  async (_name, cli) => {
    const bus = new Bus();
    const ran = (name: string): string => join(bus.root, `ran-${name}`);
    // It looks into each folder of the skill, as some CLIs load settings of a folder on the way.
    const server = await model(({ results, prompt }) => {
      const [, dir] = /belong to it are in (\S+), read-only/.exec(prompt) ?? [];
      const look = `cd ${dir ?? 'nowhere'} && cat checklist.md scripts/check.sh && ls -aR`;
      return results.length === 0 ? { shell: look } : { say: 'Reviewed.' };
    });
    const host = await machine(bus, 'laptop', server.url, { worker: cli });
    // With the most that an operator may allow here: reading the run's directory, and any command.
    const more = cli.name === 'claude' ? ' --add-dir "$CROSSTALK_RUN_DIR" --allowedTools Bash' : '';
    host.declare({ worker: headless(cli) + more, narrow: headless(cli) });
    await host.approve();
    const claudeHook = (name: string): string => {
      const hooks = [{ hooks: [{ type: 'command', command: `touch ${ran(name)}` }] }];
      return JSON.stringify({
        hooks: { SessionStart: hooks, UserPromptSubmit: hooks, PreToolUse: hooks, Stop: hooks },
      });
    };
    const header = `hooks:\n  PreToolUse:\n    - hooks:\n        - type: command\n          command: touch ${ran('header')}\n`;
    const beside = {
      'local/skills/review/checklist.md': 'Look for zebras.\n',
      'local/skills/review/scripts/check.sh': `touch ${ran('script')}\n`,
      'local/skills/review/.claude/settings.json': claudeHook('claude'),
      'local/skills/review/scripts/.claude/settings.json': claudeHook('nested'),
      'local/skills/review/hooks/hooks.json': claudeHook('plugin'),
      'local/skills/review/.claude-plugin/plugin.json': '{"name":"review"}',
      'local/skills/review/.codex/config.toml': `notify = ["touch", "${ran('codex')}"]\n`,
      'local/skills/review/.codex/hooks.json': claudeHook('codex-hooks'),
      'local/skills/review/CLAUDE.md': 'FROM-CLAUDE-MD\n',
      'local/skills/review/AGENTS.md': 'FROM-AGENTS-MD\n',
    };
    for (const [round, text] of ['Count the zebras.', 'Count the giraffes.'].entries()) {
      host.edit({ 'local/skills/review/SKILL.md': skill(text, header), ...beside });
      const running = host.start();
      const question = await host.send('worker', '/review the last change', '--new');
      const replied = await host.run('replies', '--wait', '--timeout', '150', question);
      expect(replied.out).toContain('Reviewed.');
      await running.stop();
      expect(running.count('skill_told'), `round ${String(round)}`).toBe(1);
      const said = JSON.stringify(server.requests.at(-1));
      expect(said).toContain(text);
    }
    host.edit({
      'local/actors/narrow.md': '---\nname: narrow\nskills: [standup]\n---\n\nYou are narrow.\n',
    });
    const running = host.start();
    const question = await host.send('narrow', '/review the last change', '--new');
    const replied = await host.run('replies', '--wait', '--timeout', '150', question);
    expect(replied.code, replied.out).toBe(0);
    await running.stop();
    const refused = server.requests.at(-1)?.prompt ?? '';
    expect(refused).toContain('the profile of narrow says that it takes only standup');
    expect(refused).not.toContain('Count the giraffes.');
    const [seen = ''] = server.requests.find(({ results }) => results.length > 0)?.results ?? [];
    expect(seen).toContain('Look for zebras.');
    expect(seen).toContain('check.sh');
    for (const hidden of ['.claude', '.codex', 'CLAUDE.md', 'AGENTS.md'])
      expect(seen).not.toContain(hidden);
    expect(JSON.stringify(server.requests)).not.toMatch(/FROM-(?:CLAUDE|AGENTS)-MD/);
    for (const hook of ['header', 'script', 'claude', 'nested', 'plugin', 'codex', 'codex-hooks'])
      expect(existsSync(ran(hook)), hook).toBe(false);
  },
);

it.skipIf(!hasTmux).each(each('claude', 'codex'))(
  '%s gets the text of a skill that somebody calls in the chat (skipped unless tmux is there)',
  async (_name, cli) => {
    const bus = new Bus();
    const server = await model(() => ({ say: 'Reviewed.' }));
    const host = await machine(bus, 'laptop', server.url, { worker: cli });
    host.edit({ 'local/skills/review/SKILL.md': skill('Count the zebras.') });
    await host.start().saw('host_file_loaded');
    const chat = new ChatTerminal(host, ['general', '--from', 'anna', '--to', 'worker']);
    await chat.shows('Ctrl-C leaves');
    chat.say('/review the last change');
    await chat.shows('Reviewed.');
    expect(JSON.stringify(server.requests.at(-1))).toContain('Count the zebras.');
    expect(bus.from('anna').map(({ message }) => message.body.trim())).toEqual([
      '/review the last change',
    ]);
  },
);
