import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { Bus } from '../support/bus.ts';
import { hasTmux, Pane } from '../support/tmux.ts';
import { until } from '../support/wait.ts';
import { machine, underTest } from './machine.ts';
import { startModelServer } from './server.ts';

const bin = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));
const clis = underTest('claude', 'codex').map((cli) => [cli.name, cli] as const);

/** Types until the text is there, because a CLI that has just drawn its screen may not listen yet. */
async function type(pane: Pane, text: string): Promise<void> {
  const isThere = (): boolean => pane.screen().includes(text);
  await until(`${text} on the screen`, async () => {
    pane.press('C-u');
    pane.type(text);
    return until(text, isThere, 3000).catch(() => false);
  });
}

it.skipIf(!hasTmux).each(clis)(
  '%s, attached on a terminal, has OPERATOR.md, answers what is typed, and is left alone by an answer that arrives (skipped unless tmux is there)',
  async (name, cli) => {
    const server = await startModelServer(({ prompt }) => ({
      say: prompt.includes('Say when you are ready') ? 'Ready when you are.' : 'What?',
    }));
    onTestFinished(() => server.close());
    const bus = new Bus();
    const host = await machine(bus, 'front', server.url, { worker: cli }, join(bus.root, 'front'));
    const env = { ...host.env, CROSSTALK_TRANSPORT: host.dir, CROSSTALK_FROM: 'anna' };
    const pane = new Pane(host.dir, env, [100, 30]);

    pane.run(`${process.execPath} ${bin} attach --agent ${name}`);
    await pane.shows('? for shortcuts');
    await type(pane, 'Say when you are ready');
    // Keys that arrive quickly are taken for pasted text, in which Enter is a line break.
    await until('the answer on the screen', () => {
      if (pane.screen().includes('Ready when you are.')) return true;
      pane.press('Enter');
      return false;
    });
    const asked = server.requests.find(
      ({ prompt, tools }) => tools.length > 0 && prompt.includes('Say when you are ready'),
    );
    expect(JSON.stringify(asked?.body)).toContain('You are the assistant of the operator');

    await type(pane, 'half a thou');
    await host.send('anna', 'The build is green.', '--from', 'worker');
    await pane.has('pane_title', /new from worker/);
    expect(pane.screen()).toContain('half a thou');
    expect(pane.screen()).not.toContain('The build is green.');
    await until('its end', () => {
      if (pane.value('pane_current_command') === 'sh') return true;
      pane.press('C-c');
      return false;
    });
  },
);
