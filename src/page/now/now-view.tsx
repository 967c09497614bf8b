import type { JSX } from 'preact';
import { useModel } from '../live/use-live.ts';
import { View } from '../parts/view.tsx';
import { Actors, Hosts } from './hosts.tsx';
import { DeadLetters } from './dead-letters.tsx';
import { Budget, Malformed, OutboxCard } from './outgoing.tsx';
import { Verdict } from './verdict.tsx';
import { Waiting } from './waiting.tsx';

/** The whole bus at a glance. */
export function NowView(): JSX.Element {
  const { now } = useModel();
  return (
    <View title="Now" class="now">
      <Verdict now={now} />
      <div class="cards">
        <Actors now={now} />
        <Waiting now={now} />
        <DeadLetters now={now} />
        <Hosts now={now} />
        <OutboxCard now={now} />
        <Budget now={now} />
        {now !== undefined && now.malformed_total > 0 && <Malformed now={now} />}
      </div>
    </View>
  );
}
