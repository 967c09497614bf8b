import { CrosstalkError } from '../../../errors.ts';
import { removeSecret, secretsOf, setSecret } from '../../../actions/setup/secrets.ts';
import { inTransport, note, print, type Call } from '../../command/command.ts';
import type { CommandSpec } from '../../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'secret list',
    summary: 'the names of the secrets of this machine',
    example: 'crosstalk secret list',
    run: list,
  },
  {
    name: 'secret set',
    args: '<secret>',
    summary: 'keep a secret on this machine; the value is piped in, or typed',
    example: 'crosstalk secret set event.build',
    run: set,
  },
  {
    name: 'secret remove',
    args: '<secret>',
    summary: 'forget a secret',
    example: 'crosstalk secret remove event.build',
    run: remove,
  },
];

async function set(call: Call): Promise<number> {
  const [name = ''] = call.args;
  return inTransport(call, async (context) => {
    await setSecret(context, name, await valueOf(call, name));
    return print(call, { name, status: 'set' }, () => `Set: ${name}`);
  });
}

/** Reads the value, which is not an argument: anybody who lists processes would see it. */
async function valueOf({ io }: Call, name: string): Promise<string> {
  const piped = await io.readStdin();
  if (piped !== undefined) return piped;
  if (io.askHidden !== undefined) return io.askHidden(`${name}: `);
  throw new CrosstalkError('usage', 'there is no terminal to ask on; pipe the value in');
}

async function remove(call: Call): Promise<number> {
  const [name = ''] = call.args;
  return inTransport(call, async (context) => {
    await removeSecret(context, name);
    return print(call, { name, status: 'removed' }, () => `Removed: ${name}`);
  });
}

async function list(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const names = await secretsOf(context).names();
    if (names.length === 0)
      note(call, 'no secrets on this machine; keep one with: crosstalk secret set');
    return print(call, names, () => names.join('\n'));
  });
}
