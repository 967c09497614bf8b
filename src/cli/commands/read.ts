import { CrosstalkError } from '../../errors.ts';
import { readMessageJson } from '../../operations/shapes/as-json.ts';
import { findFile, readMessage, type ReadMessage } from '../../operations/reading/read.ts';
import { formatAddress } from '../../protocol/address.ts';
import { flag, inTransport, print, type Call } from '../command/command.ts';
import { EXIT } from '../command/exit.ts';
import { actor, body, localTime } from '../view/message.ts';
import { colourless, painter, table } from '../view/render.ts';

export async function run(call: Call): Promise<number> {
  const [given = ''] = call.args;
  const raw = flag(call, 'raw');
  if (raw && flag(call, 'json'))
    throw new CrosstalkError('usage', '--raw and --json were given; give one of them');
  return inTransport(call, async (context) => {
    if (raw) {
      call.io.outBytes((await findFile(context, given)).bytes);
      return EXIT.ok;
    }
    const read = await readMessage(context, given);
    return print(call, readMessageJson(read), () => render(call, read));
  });
}

function render({ io }: Call, { message, channel, path, queued }: ReadMessage): string {
  const paint = painter(io);
  const { from, to, type, timestamp, tier, host, re, cause, extra } = message;
  const rows: [string, string | undefined][] = [
    ['from', actor(paint, from)],
    ['to', to.map((address) => actor(paint, formatAddress(address))).join(', ')],
    ['channel', `${channel.name} (${channel.id})`],
    ['time', `${localTime(new Date(timestamp))} (${timestamp})`],
    ['type', type === 'text' ? undefined : type],
    ['tier', tier],
    ['host', host],
    ...re.map((one): [string, string] => ['re', one]),
    ...cause.map((one): [string, string] => ['cause', one]),
    ['path', path],
    ['state', queued ? 'in the outbox, not on the remote yet' : undefined],
    ...Object.entries(extra).map(([key, value]): [string, string] => [
      colourless(key).replace(/\s/g, ' '),
      colourless(JSON.stringify(value)),
    ]),
  ];
  const shown = rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return [table(shown), '', body(paint, message.body)].join('\n').trimEnd();
}
