import type { Context } from '../../operations/context.ts';
import { isBroken } from '../../operations/doctor/check.ts';
import { doctor } from '../../operations/doctor/doctor.ts';
import { inTransport, print, text, type Call } from '../command/command.ts';
import { painter } from '../view/render.ts';
import { EXIT } from '../command/io.ts';
import { localTimes } from '../../present/times.ts';

export function run(call: Call): Promise<number> {
  const paint = painter(call.io);
  const examine = async (context: Context): Promise<number> => {
    const checks = await doctor(context, text(call, 'host'));
    const well = !checks.some(isBroken);
    print(call, { ok: well, checks }, () =>
      checks
        .map((one) => {
          const { check, ok, fix } = one;
          const found = localTimes(one.found);
          if (ok) return `${paint('green', 'ok')}    ${check}: ${found}`;
          const word = isBroken(one) ? paint('red', 'broken') : `${paint('yellow', 'warn')}  `;
          return `${word} ${check}: ${found}\n       ${fix}`;
        })
        .join('\n'),
    );
    return well ? EXIT.ok : EXIT.failed;
  };
  return inTransport(call, examine, { anyVersion: 'told' });
}
