import type { JSX } from 'preact';
import { useClock, useModel } from '../live/use-live.ts';
import { loadMark, unreadOf } from '../live/read-marks.ts';
import { Link } from '../route/link.tsx';
import { View } from '../parts/view.tsx';
import { ageOf, secondsSince } from '../../present/times.ts';

/** All channels with a summary of each. */
export function ChannelsView(): JSX.Element {
  const { channels } = useModel();
  const now = useClock(30_000);
  return (
    <View title="Conversations">
      <ul class="plain tree channel-list">
        {channels?.map((channel) => {
          const unread = unreadOf(channel, loadMark(localStorage, channel.id));
          return (
            <li key={channel.id} class={`level-${String(Math.min(6, channel.depth))}`}>
              <Link to={{ view: 'channel', channel: channel.id }}>
                <span class="name">
                  <bdi>{channel.name}</bdi>
                  <span class="dim about" dir="auto">
                    {channel.description.split('\n')[0]}
                  </span>
                </span>
                <span class="dim">
                  {channel.messages.toLocaleString()} messages
                  {channel.last !== null && `, ${ageOf(secondsSince(channel.last, now))} ago`}
                </span>
                <span class="count">
                  {unread > 0 && <span class="unread">{unread} unread</span>}
                </span>
              </Link>
            </li>
          );
        })}
      </ul>
      {channels?.length === 0 && (
        <p class="dim">No channel yet: crosstalk channel create makes one.</p>
      )}
    </View>
  );
}
