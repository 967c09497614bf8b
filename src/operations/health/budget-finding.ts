import { endsByItself, reasonInWords } from '../../protocol/text/reasons.ts';
import type { Heartbeat } from '../../state/heartbeat.ts';
import { act, wait, type Finding } from './finding.ts';

type Parked = Pick<Heartbeat['parked'][number], 'actor' | 'reason' | 'until'> & {
  said: string | undefined;
};

/** What to say of mail that waits for a budget. */
export function budgetFinding({
  actor,
  reason,
  until,
  said = reasonInWords(reason),
}: Parked): Finding {
  const command = `crosstalk resume --for ${actor}`;
  return endsByItself(reason)
    ? wait(
        `mail for ${actor} waits until ${until}: ${said}; let it run now with: ${command}`,
        command,
      )
    : act(`mail for ${actor} waits: ${said}; let it run with: ${command}`, command);
}
