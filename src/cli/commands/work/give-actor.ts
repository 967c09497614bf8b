import { exportActor, importActor } from '../../../actions/skills/give-actor.ts';
import { readFileOrStdin } from '../../command/body.ts';
import { flag, given, inTransport, note, print, type Call } from '../../command/command.ts';
import { ALLOW_SECRET, FROM, type CommandSpec } from '../../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'actor export',
    args: '<name>',
    summary:
      'an actor to give away: its profile, the skills that it names, its tools without secrets',
    example: 'crosstalk actor export reviewer > reviewer.json',
    run,
  },
  {
    name: 'actor import',
    args: '<file>',
    summary: 'put an actor that somebody gave away on the bus; its tools wait for approval',
    options: [
      ['--name <name>', 'give it another name'],
      ['--replace', 'replace an actor and skills of the same name'],
      FROM,
      ALLOW_SECRET,
    ],
    example: 'crosstalk actor import reviewer.json',
    run,
  },
];

/** `actor export` and `actor import`: an actor to give away. */
function run(call: Call): Promise<number> {
  const [what = ''] = call.args;
  return inTransport(call, async (context) => {
    if (call.name === 'actor export') {
      const actor = await exportActor(context, what);
      return print(call, actor, () => JSON.stringify(actor, undefined, 2));
    }
    const { delivered, ...actor } = await importActor(context, {
      file: what,
      ...(what === '-' && { text: await readFileOrStdin(call, what) }),
      login: call.io.login,
      replace: flag(call, 'replace'),
      allowSecret: flag(call, 'allowSecret'),
      ...given(call, 'name', 'from'),
    });
    const { name, path, mcps, missing } = actor;
    if (mcps.length > 0)
      note(
        call,
        `its tools (${mcps.join(', ')}) run nowhere before they are approved on the machine that serves ${name}: crosstalk host show`,
      );
    for (const secret of missing)
      note(call, `its tools need a secret of this machine: crosstalk secret set ${secret}`);
    const status = delivered.published ? 'imported' : 'queued';
    const word = delivered.published ? 'Imported' : 'Queued';
    return print(
      call,
      { ...actor, status },
      () =>
        `${word}: ${path}; let this machine serve it with: crosstalk actor add ${name} --cli <command>`,
    );
  });
}
