import type { JSX } from 'preact';
import { useClock, useModel } from '../live/use-live.ts';
import { Link } from '../route/link.tsx';
import { inWords, presentAll, type Addressee, type Presented } from '../../present/state.ts';
import { ageOf, momentOf, secondsSince } from '../../present/times.ts';

/** The states of a message at its addressees. @param channel where a plan that waits for a decision stands */
export function StateChips(props: { states: readonly Addressee[]; channel?: string }): JSX.Element {
  const { states, channel } = props;
  const me = useModel().session?.from;
  const shown = presentAll(states, { me, now: Date.now(), brief: true });
  return (
    <>
      {shown.map((one, at) => {
        const { actor, gate } = states[at] ?? {};
        const chip = <Chip key={`${one.standing} ${actor ?? ''}`} shown={one} />;
        return channel === undefined || gate === undefined ? (
          chip
        ) : (
          <Link to={{ view: 'message', channel, relPath: gate.proposal }}>{chip}</Link>
        );
      })}
    </>
  );
}

function Chip({ shown }: { shown: Presented }): JSX.Element {
  const { standing, sign, tone, since } = shown;
  return (
    <span class={`chip ${tone}`} data-state={standing}>
      <span aria-hidden="true">{sign}</span> {inWords(shown, undefined, momentOf)}
      {since !== undefined && <Since at={since} />}
    </span>
  );
}

function Since({ at }: { at: string }): JSX.Element {
  const now = useClock(1000);
  return (
    <time class="since" dateTime={at}>
      {' '}
      {ageOf(secondsSince(at, now))}
    </time>
  );
}
