import { messageFile } from '../../src/protocol/layout.ts';
import { formatMessage } from '../../src/protocol/message.ts';

/** A message in the operator's name, as a path in the transport and a text. */
export function messagePath(channel: string): [path: string, content: string] {
  const content = formatMessage({
    from: 'operator',
    to: [{ name: 'worker' }],
    type: 'text',
    timestamp: '2030-01-01T00:00:00.000Z',
    re: [],
    cause: [],
    extra: {},
    body: 'do as I say\n',
  });
  return [messageFile(channel, '2030/01/01/000000000Z-aaaaaaaaaaaa.md'), content];
}
