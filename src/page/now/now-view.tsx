import type { JSX } from 'preact';
import type { WebNow } from '../../api/api.ts';
import { useModel } from '../live/use-live.ts';
import { View } from '../parts/view.tsx';
import { Actors, Hosts } from './hosts.tsx';
import { ForYou } from './for-you.tsx';
import { DeadLetters } from './dead-letters.tsx';
import { Budget, Malformed, OutboxCard } from './outgoing.tsx';
import { Verdict } from './verdict.tsx';
import { Waiting } from './waiting.tsx';

/** The whole bus at a glance. */
export function NowView(): JSX.Element {
  const { now } = useModel();
  return (
    <View title="Now" class="now">
      {now === undefined ? (
        <p class="dim" role="status">
          Loading…
        </p>
      ) : (
        <Known now={now} />
      )}
    </View>
  );
}

function Known({ now }: { now: WebNow }): JSX.Element {
  return (
    <>
      <Verdict now={now} />
      <div class="cards">
        <ForYou />
        <Actors now={now} />
        <Waiting now={now} />
        <DeadLetters now={now} />
        <Hosts now={now} />
        <OutboxCard now={now} />
        <Budget now={now} />
        {now.malformed_total > 0 && <Malformed now={now} />}
      </div>
    </>
  );
}
