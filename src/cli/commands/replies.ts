import { CrosstalkError } from '../../errors.ts';
import { replies, type Replied } from '../../operations/replies.ts';
import { formatAddress } from '../../protocol/address.ts';
import { shown } from '../../protocol/result.ts';
import { flag, inTransport, print, text, type Call } from '../command.ts';
import { indent, painter } from '../render.ts';
import { EXIT } from '../exit.ts';

const DEFAULT_TIMEOUT_S = '600';

export async function run(call: Call): Promise<number> {
  const { io, args } = call;
  const words = [...args, text(call, 're')].flatMap((word) => (word ?? '').split(','));
  const messages = words.map((word) => word.trim()).filter((word) => word !== '');
  if (messages.length === 0) {
    throw new CrosstalkError(
      'usage',
      'no message was named; give the path that send printed: crosstalk replies <relPath>',
    );
  }
  const seconds = Number(text(call, 'timeout') ?? DEFAULT_TIMEOUT_S);
  if (!Number.isFinite(seconds) || seconds < 0) {
    throw new CrosstalkError(
      'usage',
      `--timeout is ${shown(text(call, 'timeout'))}, expected seconds; try --timeout 60`,
    );
  }
  return inTransport(call, async (context) => {
    const wait = flag(call, 'wait');
    const { complete, found } = await replies(context, {
      messages,
      wait,
      timeout: seconds * 1000,
      signal: io.stop,
    });
    print(call, found.map(toJson), () => found.map((one) => render(call, one)).join('\n'));
    return wait && !complete ? EXIT.timedOut : EXIT.ok;
  });
}

function render({ io }: Call, { ref, replies: list }: Replied): string {
  const paint = painter(io);
  if (list.length === 0) return `${paint('yellow', 'PENDING')} ${ref.relPath}`;
  return [
    `${paint('green', 'REPLIED')} ${ref.relPath}`,
    ...list.map(
      ({ relPath, message }) => `  from ${message.from} ${relPath}\n${indent(message.body)}`,
    ),
  ].join('\n');
}

function toJson({ ref, replies: list }: Replied): unknown {
  return {
    channel: ref.channel,
    message: ref.relPath,
    state: list.length === 0 ? 'PENDING' : 'REPLIED',
    replies: list.map(({ relPath, message }) => ({
      relPath,
      from: message.from,
      to: message.to.map(formatAddress),
      timestamp: message.timestamp,
      re: message.re,
      body: message.body,
    })),
  };
}
