import type { JSX } from 'preact';
import { useModel } from '../live/use-live.ts';
import { loadMark, unreadOf } from '../live/read-marks.ts';
import { Link } from '../route/link.tsx';
import { useNavigation } from '../route/navigation.ts';
import type { WebChannel } from '../../api/api.ts';

/** The channels, each with its number of unread messages. */
export function ChannelTree(): JSX.Element {
  const { channels } = useModel();
  return (
    <ul class="plain tree">
      {channels?.map((channel) => (
        <li key={channel.id}>
          <ChannelLink channel={channel} />
        </li>
      ))}
    </ul>
  );
}

/** The number of levels that are shown by indentation. */
const DEEPEST = 6;

function ChannelLink({ channel }: { channel: WebChannel }): JSX.Element {
  const { route } = useNavigation();
  const unread = unreadOf(channel, loadMark(localStorage, channel.id));
  const isTalk = route.view === 'channel' || route.view === 'message' || route.view === 'thread';
  const here = isTalk && route.channel === channel.id;
  return (
    <Link
      to={{ view: 'channel', channel: channel.id }}
      class={`level-${String(Math.min(DEEPEST, channel.depth))}`}
      current={here}
      title={channel.name}
    >
      <span class="name">
        {channel.depth > 0 && <span aria-hidden="true">↳ </span>}
        <bdi>{channel.name}</bdi>
      </span>
      {unread > 0 && (
        <span class="unread">
          {unread > 999 ? '999+' : unread}
          <span class="aside"> unread</span>
        </span>
      )}
    </Link>
  );
}
