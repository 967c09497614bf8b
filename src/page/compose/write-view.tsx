import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { WebMessage } from '../../api/api.ts';
import { StateChips } from '../parts/state-chip.tsx';
import { shownStatesOf } from '../live/model.ts';
import { useModel } from '../live/use-live.ts';
import { Link } from '../route/link.tsx';
import { useNavigation } from '../route/navigation.ts';
import { View } from '../parts/view.tsx';
import { plainOf } from '../text/plain.ts';
import { Composer } from './composer.tsx';

/** The number of recently sent messages that are shown. */
const RECENT = 5;

/** The view for writing a message with plenty of room, and for following its progress. */
export function WriteView({ channel }: { channel: string | undefined }): JSX.Element {
  const { channels, session } = useModel();
  const { go } = useNavigation();
  const [sent, setSent] = useState<readonly WebMessage[]>([]);
  const id = useId();
  // The channel stays when there is news elsewhere: somebody may be in the middle of a sentence.
  const kept = useRef<string | undefined>(undefined);
  kept.current = channel ?? kept.current ?? newestOf(channels)?.id;
  const chosen = kept.current;
  useEffect(() => {
    // With the channel in the address, it is the same after leaving and coming back.
    if (channel === undefined && chosen !== undefined)
      go({ view: 'write', channel: chosen }, 'replace');
  }, [channel, chosen]);
  useEffect(() => {
    document.querySelector<HTMLElement>('.composer input')?.focus();
  }, [chosen === undefined]);
  if (session?.read_only === true)
    return (
      <View title="Write">
        <p>This window is read-only: it was started with `crosstalk web --read-only`.</p>
      </View>
    );
  return (
    <View title="Write" class="write">
      <div class="channel-choice">
        <label for={id}>Channel</label>
        <select
          id={id}
          value={chosen ?? ''}
          onChange={(event) => {
            go({ view: 'write', channel: event.currentTarget.value }, 'replace');
          }}
        >
          {channels?.map(({ id: each, name, depth }) => (
            <option key={each} value={each}>
              {'  '.repeat(depth) + name}
            </option>
          ))}
        </select>
      </div>
      {chosen !== undefined && (
        <Composer
          key={chosen}
          channel={chosen}
          onSent={(messages) => {
            setSent((before) => [...messages, ...before].slice(0, RECENT));
          }}
        />
      )}
      {sent.length > 0 && (
        <section aria-label="Just sent">
          <h2>Just sent</h2>
          <ul class="plain just-sent">
            {sent.map((message) => (
              <li key={message.relPath}>
                <Fate message={message} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </View>
  );
}

function newestOf<T extends { last: string | null }>(channels: readonly T[] | undefined) {
  return channels?.toSorted((a, b) => ((a.last ?? '') < (b.last ?? '') ? 1 : -1))[0];
}

/** A message that was just sent, with its state. */
function Fate({ message }: { message: WebMessage }): JSX.Element {
  const { known, now } = useModel();
  const { channel, relPath, to, body } = message;
  return (
    <>
      <Link to={{ view: 'thread', channel, relPath }}>
        to {to.join(', ')}: <bdi>{plainOf(body.slice(0, 160))}</bdi>
      </Link>{' '}
      <StateChips states={shownStatesOf(message, known, now?.waiting.messages ?? [], [])} />
    </>
  );
}
