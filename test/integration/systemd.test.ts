import { it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { lifeOfAService } from '../support/service.ts';
import { mayRunSystemd, startSystemd } from '../support/systemd.ts';

it.skipIf(!mayRunSystemd())(
  'a real systemd runs the service, starts it again, replaces it and ends it (skipped unless root in CI, with systemd)',
  async ({ skip }) => {
    const world = await startSystemd();
    if (world === undefined) return skip('no systemd manager comes up here');
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'cat > /dev/null; echo pong' });
    await lifeOfAService(world, bus, host);
  },
  180_000,
);
