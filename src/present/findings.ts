import type { WebNow, WebUnserved } from '../api/api.ts';
import { escapeInvisible } from '../protocol/text/quoted.ts';
import {
  MOST_COUNTED,
  endsByItself,
  reasonInWords,
  withoutSequences,
} from '../protocol/text/words.ts';
import { act, wait, type Finding } from './finding.ts';

type Parked = WebNow['parked'][number];

/** Words a pause. */
export function pausedFinding({ by, since }: { by: string; since: string }): Finding {
  const command = 'crosstalk resume';
  return act(`paused by ${by} since ${since}; go on with: ${command}`, command);
}

/** Words the entries that do not leave the outbox. @param ages of them, in seconds */
export function outboxFinding(ages: readonly number[]): Finding {
  const command = 'crosstalk sync';
  const what = `waiting in the outbox: ${String(ages.length)}`;
  return act(
    `${what}, the oldest for ${String(Math.max(...ages))} s; push them with: ${command}`,
    command,
  );
}

/** Words the mail that a limit or a budget keeps waiting; of an account, its hold is the finding. */
export function parkedFinding(parked: Parked): Finding[] {
  const { actor, tier, reason, until, said = '' } = parked;
  if (reason === 'no_sandbox')
    return [act(`mail for ${actor} waits, because its tier ${tier} has a sandbox: ${said}`)];
  if (reason === 'budget' || reason === 'thread_budget') return [budgetFinding(parked)];
  return reason === 'max_runs_per_hour'
    ? [
        wait(
          `mail for ${actor} is parked until ${until}: its tier ${tier} has used up max_runs_per_hour; look for a loop, or raise it in the host file`,
        ),
      ]
    : [];
}

function budgetFinding({
  actor,
  reason,
  until,
  said = reasonInWords(reason),
  instead,
}: Parked): Finding {
  const command = `crosstalk resume --for ${actor}`;
  const why = withoutSequences(said);
  if (instead !== undefined)
    return wait(
      `${actor} runs on ${instead}${endsByItself(reason) ? ` until ${until}` : ''}: ${why}`,
    );
  return endsByItself(reason)
    ? wait(
        `mail for ${actor} waits until ${until}: ${why}; let it run now with: ${command}`,
        command,
      )
    : act(`mail for ${actor} waits: ${why}; let it run with: ${command}`, command);
}

/** An account of an agent CLI that refuses to work. */
interface Held {
  id: string;
  reason: string;
  /** ISO 8601 UTC. */
  until: string;
  said: string;
  /** The command with which an operator logs in. */
  login: string;
}

/** Returns an account that is held while another tier takes the mail. */
export function onAnotherTier(
  { id, reason, until, said, login }: Held,
  actor: string,
  tier: string,
): string {
  return reason !== 'not_logged_in'
    ? `${actor} runs on ${tier}: ${id} is held until ${until} (it says: ${said}); try it now with: crosstalk resume`
    : `${actor} runs on ${tier}: ${id} is not logged in (it says: ${said}); log in with: ${login}`;
}

/** Returns an account that is held, and the mail that waits for it. */
export function heldAccount({ id, reason, until, said, login }: Held, mail: string): string {
  if (reason === 'out_of_credit')
    return `${id} has no credit or quota left, so ${mail} (it says: ${said}); top its account up; it is tried again at ${until}, or now with: crosstalk resume`;
  return reason === 'rate_limited'
    ? `${id} is rate limited until ${until}, so ${mail} (it says: ${said}); it goes on automatically, or try now with: crosstalk resume`
    : `${id} is not logged in, so ${mail} (it says: ${said}); log in with: ${login}, and if it does not go on automatically: crosstalk resume`;
}

/** Words an agent CLI that has just refused to work, in one line of the log. */
export function refusingWords(
  { id, reason, until, said }: Omit<Held, 'login'>,
  actor: string,
): string {
  return `${id} is ${reasonInWords(reason)}, mail for ${actor} waits; tried again at ${until}: ${said}`;
}

/** Words mail that waits for a name that nobody serves. */
export function nobodysMail({ name, messages, newest, hint }: WebUnserved): string {
  const many = messages >= MOST_COUNTED ? `${String(MOST_COUNTED)} or more` : String(messages);
  const what =
    messages === 1 ? `${many} message, ${newest}` : `${many} messages, the newest ${newest}`;
  return `${what}; no host serves ${escapeInvisible(name)}${hint}`;
}

/** Words the changes of a profile. */
export function profileLine({
  actor,
  path,
  what,
  at,
}: {
  actor: string;
  path: string;
  what: string;
  at: string;
}): string {
  const how = what === 'new' ? 'came' : 'was changed';
  return `${path} ${how}, seen here first at ${at}; read it with: crosstalk actor show ${actor}`;
}
