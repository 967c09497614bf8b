import { runDemo } from '../../demo/demo.ts';
import { flag, type Call } from '../command/command.ts';

export function run(call: Call): Promise<number> {
  return runDemo(call.io, { keep: flag(call, 'keep') });
}
