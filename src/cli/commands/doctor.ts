import type { Context } from '../../operations/context.ts';
import { doctor } from '../../operations/doctor/doctor.ts';
import { inTransport, print, text, type Call } from '../command/command.ts';
import { painter } from '../view/render.ts';
import { EXIT } from '../command/exit.ts';

export function run(call: Call): Promise<number> {
  const paint = painter(call.io);
  const examine = async (context: Context): Promise<number> => {
    const checks = await doctor(context, text(call, 'host'));
    const well = checks.every(({ ok }) => ok);
    print(call, { ok: well, checks }, () =>
      checks
        .map(({ check, ok, found, fix }) =>
          ok
            ? `${paint('green', 'ok')}    ${check}: ${found}`
            : `${paint('red', 'broken')} ${check}: ${found}\n       ${fix}`,
        )
        .join('\n'),
    );
    return well ? EXIT.ok : EXIT.failed;
  };
  return inTransport(call, examine, { anyVersion: 'told' });
}
