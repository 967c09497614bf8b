import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { ChatTerminal, hasTmux } from '../support/chat-terminal.ts';

it.skipIf(!hasTmux)(
  '/review from the chat reaches the actor with the text of the skill',
  async () => {
    const bus = new Bus();
    const prompt = join(bus.root, 'prompt');
    const host = await bus.host('front', { worker: `cat > ${prompt}; echo Reviewed.` });
    await host.start().saw('host_file_loaded');
    const chat = new ChatTerminal(host, ['general', '--from', 'anna', '--to', 'worker']);
    await chat.shows('Ctrl-C leaves');
    chat.type('/rev');
    // The skills are read after the screen has appeared.
    await chat.until('the completed name', (text) => {
      chat.press('Tab');
      return text.includes('/review');
    });
    chat.say('the change');
    await chat.shows('Reviewed.');
    const told = readFileSync(prompt, 'utf8');
    expect(told).toContain('(upstream/skills/review/SKILL.md)');
    expect(told).toContain('Look for what is wrong before what is ugly');
    expect(bus.from('anna')[0]?.message.body.trim()).toBe('/review the change');
    expect(bus.from('worker')[0]?.message.body).toContain('Reviewed.');
  },
);
