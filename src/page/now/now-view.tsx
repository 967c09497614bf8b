import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WebNow, WebRun } from '../../api/api.ts';
import { useModel } from '../live/use-live.ts';
import { View } from '../parts/view.tsx';
import { Actors, Hosts, watchButtonId } from './hosts.tsx';
import { ForYou } from './for-you.tsx';
import { BrokenFiles } from './broken.tsx';
import { DeadLetters } from './dead-letters.tsx';
import { KeptSessions } from './kept-sessions.tsx';
import { Budget, Malformed, OutboxCard } from './outgoing.tsx';
import { Verdict } from './verdict.tsx';
import { Waiting } from './waiting.tsx';
import { WatchedRun } from './watched-run.tsx';

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
  const [watched, setWatched] = useState<readonly WebRun[]>([]);
  const close = (run: WebRun): void => {
    setWatched((all) => all.filter(({ id }) => id !== run.id));
    // The button is enabled again when this is drawn.
    setTimeout(() => document.getElementById(watchButtonId(run))?.focus());
  };
  return (
    <>
      <Verdict now={now} />
      <div class="cards">
        <ForYou />
        <Actors
          now={now}
          watched={watched}
          watch={(run) => {
            setWatched((all) => [...all, run]);
          }}
        />
        {watched.map((run) => (
          <WatchedRun
            key={run.id}
            run={run}
            close={() => {
              close(run);
            }}
          />
        ))}
        <KeptSessions />
        <Waiting now={now} />
        <DeadLetters now={now} />
        <Hosts now={now} />
        <OutboxCard now={now} />
        <Budget now={now} />
        {now.malformed_total > 0 && <Malformed now={now} />}
        <BrokenFiles />
      </div>
    </>
  );
}
