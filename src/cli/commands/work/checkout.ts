import { linkCheckout } from '../../../operations/checkout.ts';
import { inTransport, print, type Call } from '../../command/command.ts';

export function run(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const made = await linkCheckout(context, call.args[0] ?? '');
    return print(call, made, () => `${made.dir} shows the bus, and follows it: ${made.clone}`);
  });
}
