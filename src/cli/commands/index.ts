import { countOf } from '../../protocol/text/amounts.ts';
import { buildIndex } from '../../operations/index/indexing.ts';
import { flag, inTransport, print, type Call } from '../command/command.ts';

export function run(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const built = await buildIndex(context, flag(call, 'rebuild'));
    return print(
      call,
      built,
      () =>
        `Indexed: ${countOf(built.messages, 'message')}, ${countOf(built.malformed, 'malformed file')}`,
    );
  });
}
