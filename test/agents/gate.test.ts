import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Bus } from '../support/bus.ts';
import { machine, underTest } from './machine.ts';
import { startModelServer, type ModelServer, type Script } from './server.ts';

const all = underTest('claude', 'codex', 'pi', 'opencode', 'gemini').map(
  (cli) => [cli.name, cli] as const,
);

async function model(script: Script): Promise<ModelServer> {
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  return server;
}

/** Commands that allow everything, so that only the planning mode is in the way. */
const COMMANDS: Record<string, string> = {
  claude: 'claude -p --permission-mode acceptEdits --allowedTools "Bash" "Edit"',
  codex:
    'codex exec --skip-git-repo-check --sandbox danger-full-access -c allow_login_shell=false -',
  pi: 'pi -p',
  opencode: 'opencode run',
  gemini: 'gemini --skip-trust --approval-mode yolo -m gemini-2.5-pro',
};

it.each(all)(
  '%s changes nothing while it plans, whatever the model calls, and does it once approved',
  async (name, cli) => {
    const bus = new Bus();
    const mark = join(bus.root, 'mark');
    const server = await model(({ prompt, results }) => {
      if (results.length === 0) return { shell: `touch ${mark}` };
      return { say: prompt.includes('has approved the plan') ? 'Done.' : 'I will touch it.' };
    });
    const tower = await machine(bus, 'tower', server.url, { builder: cli });
    tower.declare({ builder: { default: { cli: COMMANDS[name] ?? '', gate: 'anna' } } });
    await tower.approve();
    const question = await tower.send('builder', 'please touch it', '--from', 'anna');
    await tower.once();
    const [proposal] = bus.from('builder');
    expect(proposal?.message).toMatchObject({ proposal: true, re: [question] });
    expect(proposal?.message.body.trim()).not.toBe('');
    expect(existsSync(mark)).toBe(false);
    await tower.run('approve', proposal?.relPath ?? '', '--from', 'anna');
    await tower.once();
    expect(bus.from('builder').at(-1)?.message.body).toContain('Done.');
    expect(existsSync(mark)).toBe(true);
  },
);
