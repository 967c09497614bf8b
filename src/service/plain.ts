import { shellWord } from './quoting.ts';
import type { ServiceSpec } from './spec.ts';

/** Instructions for a machine whose service manager is not supported. */
export function plainAdvice({ transport, command }: ServiceSpec): string {
  const line = command.map(shellWord).join(' ');
  return [
    'No service manager that crosstalk knows runs here (systemd, launchd); nothing is written.',
    'Let whatever keeps programs running on this machine keep this one, as you, from your own',
    'login environment, and start it again whenever it ends:',
    '',
    `  cd ${shellWord(transport)} && exec ${line}`,
    '',
    'Where there is nothing of the kind, a terminal that stays open (tmux, screen) does:',
    '',
    `  cd ${shellWord(transport)} && while :; do ${line}; sleep 5; done`,
  ].join('\n');
}
