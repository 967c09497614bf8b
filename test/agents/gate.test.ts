import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Bus } from '../support/bus.ts';
import { machine, underTest } from './machine.ts';
import { startModelServer, type ModelServer, type Script } from './server.ts';

const all = underTest('claude', 'codex', 'pi', 'opencode').map((cli) => [cli.name, cli] as const);

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
};

it.each(all)(
  '%s changes nothing while it plans, whatever the model calls, and does it once approved',
  async (name, cli) => {
    const bus = new Bus();
    const workdir = join(bus.root, 'work');
    mkdirSync(workdir);
    const mark = join(workdir, 'mark');
    const server = await model(({ prompt, results }) => {
      if (results.length === 0) return { shell: 'touch mark' };
      return { say: prompt.includes('has approved the plan') ? 'Done.' : 'I will touch it.' };
    });
    const tower = await machine(bus, 'tower', server.url, { builder: cli }, workdir);
    tower.declare({ builder: { default: { cli: COMMANDS[name] ?? '', gate: 'anna', workdir } } });
    await tower.approve();
    // What the operator's own settings allow is allowed in no plan.
    const settings = join(bus.root, 'tower-home', '.claude');
    mkdirSync(settings, { recursive: true });
    const allow = { permissions: { allow: ['Bash', 'Edit', 'Write'] } };
    writeFileSync(join(settings, 'settings.json'), JSON.stringify(allow));
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
