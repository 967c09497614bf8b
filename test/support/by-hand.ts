import { randomBytes } from 'node:crypto';
import { messageFile, relPathAt } from '../../src/protocol/layout.ts';
import { formatMessage, type Message } from '../../src/protocol/message.ts';
import type { Host } from './bus.ts';

/** Puts a message on the bus as another machine's dispatcher would; returns its relPath. */
export function put(host: Host, said: Partial<Message> & Pick<Message, 'from' | 're'>): string {
  const at = new Date();
  const relPath = relPathAt(at, randomBytes(6).toString('hex'));
  const message: Message = {
    to: [{ name: 'operator' }],
    type: 'text',
    timestamp: at.toISOString(),
    cause: [],
    extra: {},
    body: 'something\n',
    ...said,
  };
  host.edit({ [messageFile(host.channel(), relPath)]: formatMessage(message) });
  return relPath;
}

/** The fields of the notice of a failure on a host. */
export function failedOn(host: string): Partial<Message> & { host: string } {
  return {
    host,
    failed: { reason: 'exit_code', attempts: 3, host, dead_letter: '01J00000000000000000000000' },
    body: 'worker failed: exit code 7\n',
  };
}
