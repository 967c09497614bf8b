import { runInSandbox } from '../../../operations/sandbox/run.ts';
import { given, inTransport, type Call } from '../../command/command.ts';

export function run(call: Call): Promise<number> {
  const words = call.args.flatMap((word) => word ?? []);
  return inTransport(call, (context) =>
    runInSandbox(context, { words, ...given(call, 'actor', 'tier') }),
  );
}
