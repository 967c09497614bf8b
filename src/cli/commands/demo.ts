import { runDemo } from '../../demo/demo.ts';
import { flag, type Call } from '../command/command.ts';

export function run({ io, ...call }: Call): Promise<number> {
  return runDemo(io, { keep: flag({ io, ...call }, 'keep') });
}
