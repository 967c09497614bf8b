import { attachOperator } from '../../operations/session/open.ts';
import { given, inTransport, type Call } from '../command/command.ts';

export function run(call: Call): Promise<number> {
  const { login } = call.io;
  return inTransport(call, (context) =>
    attachOperator(context, { login, ...given(call, 'agent') }),
  );
}
