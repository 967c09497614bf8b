import { CrosstalkError } from '../../errors.ts';
import { addActor, listActors, showActor } from '../../operations/setup/actors.ts';
import { given, inTransport, print, text, type Call } from '../command/command.ts';
import { table } from '../view/render.ts';

export function run(call: Call): Promise<number> {
  if (call.name === 'actor add') return add(call);
  return call.name === 'actor show' ? show(call) : list(call);
}

function list(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const actors = await listActors(context);
    return print(call, actors, () =>
      table(actors.map((actor) => [actor.name, served(actor), actor.description])),
    );
  });
}

function show(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const actor = await showActor(context, call.args[0] ?? '');
    return print(call, actor, () =>
      [
        table([
          ['name', actor.name],
          ['description', actor.description],
          ['profile', actor.profile ?? 'none'],
          ['served by', served(actor)],
        ]),
        '',
        actor.body.trim(),
      ].join('\n'),
    );
  });
}

function add(call: Call): Promise<number> {
  const cli = text(call, 'cli');
  if (cli === undefined)
    throw new CrosstalkError(
      'usage',
      '--cli is missing; name an agent CLI or a command line, as in: --cli claude',
    );
  return inTransport(call, async (context) => {
    const added = await addActor(context, {
      name: call.args[0] ?? '',
      cli,
      tier: text(call, 'tier') ?? 'default',
      ...given(call, 'description', 'host', 'workdir'),
      login: call.io.login,
    });
    return print(call, added, () =>
      [
        `${added.host} serves ${call.args[0] ?? ''}, run by: ${added.cli}`,
        ...(added.path === undefined ? [] : [`Profile to fill in: ${added.path}`]),
      ].join('\n'),
    );
  });
}

function served({ hosts }: { hosts: { alias: string; tiers: string[] }[] }): string {
  return hosts.length === 0
    ? 'no host'
    : hosts.map(({ alias, tiers }) => `${alias} (${tiers.join(', ')})`).join(', ');
}
