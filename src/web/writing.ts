import type { Hono } from 'hono';
import { retryDeadLetters } from '../operations/upkeep/dlq.ts';
import { queueSend } from '../operations/page/queue-send.ts';
import { wake } from '../operations/upkeep/wake.ts';
import type { WebRetried, WebSent, WebWoken } from '../api/api.ts';
import { json, problem } from './answers.ts';
import { sendRequest } from './params.ts';
import type { Parts } from './parts.ts';

/** The routes that write; whether a caller may use them was checked before. */
export function addWriting(app: Hono, { context, hub, login, pushes }: Parts): void {
  app.post('/api/send', async (c) => {
    const body: unknown = await c.req.json().catch(() => undefined);
    if (body === undefined) return problem('usage', 'the body is not JSON');
    const { sent, pushed } = await queueSend(context, sendRequest(body), login, (refs) => {
      hub.noteQueued(refs);
    });
    pushes.add(pushed);
    void pushed.finally(() => pushes.delete(pushed));
    return json(sent satisfies WebSent, 202);
  });

  app.post('/api/dead-letters/:id/retry', async (c) => {
    const { released, woken } = await retryDeadLetters(context, c.req.param('id'));
    return json({ released: released.map(({ id }) => id), woken } satisfies WebRetried);
  });

  app.post('/api/wake', async () => {
    const { pid } = await wake(context);
    return json({ pid } satisfies WebWoken);
  });
}
