import { approveHost, showHost, type HostShown } from '../../operations/hosts.ts';
import { inTransport, print, text, type Call } from '../command.ts';
import { table } from '../render.ts';

export function run(call: Call): Promise<number> {
  const approve = call.name === 'host approve';
  return inTransport(call, async (context) => {
    const shown = await (approve ? approveHost : showHost)(context, text(call, 'host'));
    const { alias, path, held, file, started } = shown;
    const actors = [...file.actors].map(([name, tiers]) => ({ name, tiers }));
    return print(
      call,
      {
        alias,
        path,
        hostname: file.hostname ?? null,
        actors,
        held,
        approved: approve || (started && held.length === 0),
        started,
      },
      () => (approve ? renderApproved(shown) : renderShown(shown)),
    );
  });
}

function renderShown({ alias, path, file, held, started }: HostShown): string {
  const rows = [...file.actors].flatMap(([name, tiers]) =>
    tiers.map((tier) => [name, tier.name, tier.cli]),
  );
  return [
    `${alias}: ${path}${started ? '' : ' (no dispatcher has started here yet; the first start approves these commands)'}`,
    table(rows, '  '),
    ...(held.length === 0
      ? []
      : [`Held until approved with: crosstalk host approve`, difference(held)]),
  ].join('\n');
}

function renderApproved({ alias, held }: HostShown): string {
  return held.length === 0
    ? `${alias}: nothing was held, all commands are approved`
    : `${difference(held)}\n${alias}: approved`;
}

function difference(held: HostShown['held']): string {
  return held
    .flatMap(({ actor, tier, approved, proposed }) => [
      `  ${actor}.${tier}`,
      ...(approved === undefined ? [] : [`  - ${approved}`]),
      `  + ${proposed}`,
    ])
    .join('\n');
}
