import { CrosstalkError } from '../../errors.ts';
import { askDispatcher } from '../../actions/sending/in-run.ts';
import type { LookedUp } from '../../actions/sending/look-up.ts';
import { newIdempotencyKey } from '../../actions/sending/handed.ts';
import { clockOf } from '../../actions/clock.ts';
import { note, type Call } from './command.ts';
import { camelCase, longName, optionsOf, type CommandSpec } from './spec.ts';

/**
 * Has the dispatcher carry out a command that reads files hidden by the sandbox of this run, and prints its output.
 * The command's own work with files is done here (`CommandSpec.inSandbox`).
 *
 * @returns its exit code
 * @throws CrosstalkError `timed_out` when no dispatcher answers, and any error that the dispatcher threw
 */
export async function lookUp(call: Call, spec: CommandSpec): Promise<number> {
  const { io } = call;
  const { agentMode } = io;
  if (agentMode?.runDir === undefined) throw new Error('no run asks for it');
  const done = await spec.inSandbox?.(call);
  if (done !== undefined) return done;
  const input = { words: wordsOf(call, spec) };
  const request = { kind: 'look' as const, ...newIdempotencyKey(clockOf(io)), input };
  const asked = await askDispatcher(agentMode.runDir, request, (line) => {
    note(call, line);
  });
  if (asked === undefined)
    throw new CrosstalkError('timed_out', 'the dispatcher has not answered; try again');
  const { out, err, code } = asked.result as LookedUp;
  if (out !== '') io.outBytes(Buffer.from(out, 'base64'));
  if (err !== '') io.err(err);
  return code;
}

/** Rebuilds the command line, as it was understood, without the transport, which is fixed. */
function wordsOf({ args, options }: Call, spec: CommandSpec): string[] {
  const given = optionsOf(spec).flatMap(([flags]) => {
    const name = longName(flags);
    if (name === 'transport') return [];
    const negated = name.startsWith('no-') ? name.slice('no-'.length) : undefined;
    const value = options[camelCase(negated ?? name)];
    if (negated !== undefined) return value === false ? [`--${name}`] : [];
    if (value === true) return [`--${name}`];
    return [value].flat().flatMap((one) => (typeof one === 'string' ? [`--${name}=${one}`] : []));
  });
  return [
    ...spec.name.split(' '),
    ...given,
    '--',
    ...args.filter((word): word is string => word !== undefined),
  ];
}
