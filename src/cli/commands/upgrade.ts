import { upgrade } from '../../actions/setup/starter-files.ts';
import { flag, inTransport, print, type Call } from '../command/command.ts';
import type { CommandSpec } from '../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'upgrade',
    summary: 'replace upstream/ with this version’s template',
    options: [['--check', 'only say what would change']],
    example: 'crosstalk upgrade',
    run,
  },
];

function run(call: Call): Promise<number> {
  const check = flag(call, 'check');
  return inTransport(call, async (context) => {
    const plan = await upgrade(context, { check, login: call.io.login });
    return print(call, plan, () => {
      if (plan.up_to_date) return 'upstream/ is up to date';
      const lines = [
        ...plan.changed.map((path) => `  changed  ${path}`),
        ...plan.added.map((path) => `  added    ${path}`),
        ...plan.removed.map((path) => `  removed  ${path}`),
      ];
      return [
        check ? 'upstream/ would change; apply with: crosstalk upgrade' : 'upstream/ replaced',
        ...lines,
      ].join('\n');
    });
  });
}
