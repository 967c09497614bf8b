import type { Context } from '../../actions/context.ts';
import { isBroken } from '../../actions/doctor/check.ts';
import { doctor } from '../../actions/doctor/doctor.ts';
import { inTransport, print, text, type Call, flag } from '../command/command.ts';
import { painter } from '../view/render.ts';
import { EXIT } from '../command/io.ts';
import { localTimes } from '../../present/times.ts';
import { HOST, type CommandSpec } from '../command/spec.ts';
import { countOf } from '../../protocol/text/words.ts';
import { buildIndex } from '../../actions/index/indexing.ts';

const INDEX: CommandSpec = {
  name: 'doctor index',
  summary: 'bring the search index up to date; other commands do it as they need it',
  options: [['--rebuild', 'make it anew; the old one is kept aside']],
  example: 'crosstalk doctor index',
  run: index,
};

export const commands: readonly CommandSpec[] = [
  {
    name: 'doctor',
    summary: 'check everything around the bus that can keep mail from moving',
    options: [HOST],
    example: 'crosstalk doctor',
    run,
  },
  INDEX,
  { ...INDEX, name: 'index', hidden: true },
];

function run(call: Call): Promise<number> {
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

function index(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const built = await buildIndex(context, flag(call, 'rebuild'));
    return print(
      call,
      built,
      () =>
        `Indexed: ${countOf(built.messages, 'message')}, ${countOf(built.malformed, 'malformed file')}`,
    );
  });
}
