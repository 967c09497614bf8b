import { attachOperator } from '../../operations/session.ts';
import { inTransport, text, type Call } from '../command.ts';

export function run(call: Call): Promise<number> {
  return inTransport(call, (context) => attachOperator(context, text(call, 'agent')));
}
