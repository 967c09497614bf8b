import { expect, it } from 'vitest';
import { messageFile, relPathAt } from '../../src/protocol/layout.ts';
import { formatMessage } from '../../src/protocol/message.ts';
import { Bus } from '../support/bus.ts';
import { said } from '../support/messages.ts';

it('doctor compares the clock with the newest message of all channels, whichever it is in', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  const channels = [host.channel()];
  for (const name of ['alfa', 'bravo', 'charly'])
    channels.push((await host.run('channel', 'create', name)).out.trim());
  const ahead = relPathAt(new Date(Date.now() + 3_600_000), 'aaaaaaaaaaaa');
  const text = formatMessage(said(1, 'anna', 'worker').message);
  for (const channel of channels) {
    const file = messageFile(channel, ahead);
    const others = channels.filter((one) => one !== channel);
    const now = relPathAt(new Date(), 'bbbbbbbbbbbb');
    host.edit({
      [file]: text,
      ...Object.fromEntries(others.map((one) => [messageFile(one, now), text])),
    });
    await host.run('sync');
    expect((await host.run('doctor')).out).toMatch(
      /clock.*aaaaaaaaaaaa is \d+ (?:min|h|d) in the future/,
    );
    host.remove(file);
    await host.run('sync');
  }
});
