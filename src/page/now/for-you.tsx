import type { JSX } from 'preact';
import type { WebInbox, WebInboxItem } from '../../api/api.ts';
import { ProposalCard } from '../conversation/proposal.tsx';
import { ReplyBox } from '../compose/reply-box.tsx';
import { get } from '../live/api.ts';
import { useLoaded } from '../live/use-live.ts';
import { Link } from '../route/link.tsx';
import { reasonInWords } from '../../protocol/text/reasons.ts';
import { Verified } from '../parts/verified.tsx';
import { plainOf } from '../text/plain.ts';
import { clockOf, wholeTimeOf } from '../text/time.ts';
import { Card } from './card.tsx';
import { Rows } from './rows.tsx';

/** What asks the reader something, what failed, and what else is unread; nothing if there is nothing. */
export function ForYou(): JSX.Element | null {
  const { value: inbox } = useLoaded('inbox', (signal) => get<WebInbox>('inbox', {}, signal), [
    'reset',
    'messages',
    'outbox',
  ]);
  const shown = (inbox?.messages ?? []).filter((one) => one.waits_for_you || one.unread);
  const sorted = shown.toSorted((a, b) => rankOf(a) - rankOf(b));
  if (inbox === undefined || sorted.length === 0) return null;
  const more = inbox.questions - sorted.filter((one) => one.waits_for_you).length;
  return (
    <Card title="For you" class="for-you" count={inbox.questions + unreadOnly(inbox)}>
      <Rows>
        {sorted.map((one) => (
          <li key={`${one.channel}/${one.relPath}`}>
            <p dir="auto">
              <Link to={{ view: 'message', channel: one.channel, relPath: one.relPath }}>
                {one.excerpt === '' ? 'empty message' : plainOf(one.excerpt)}
              </Link>
            </p>
            <p class="dim">
              from <bdi>{one.from}</bdi>
              <Verified verified={one.verified} /> in <bdi>{one.channel_name}</bdi>{' '}
              <time dateTime={one.timestamp} title={wholeTimeOf(one.timestamp)}>
                {clockOf(one.timestamp)}
              </time>{' '}
              {one.waits_for_you && <span class="chip wait">asks you</span>}
              {one.failed !== null && (
                <span class="chip bad">failed: {reasonInWords(one.failed)}</span>
              )}
              {one.unread && <span class="chip">new</span>}
            </p>
            {one.proposal && one.waits_for_you && (
              <ProposalCard at={{ channel: one.channel, relPath: one.relPath }} />
            )}
            <ReplyBox
              channel={one.channel}
              relPath={one.relPath}
              from={one.from}
              options={one.proposal ? [] : one.options}
            />
          </li>
        ))}
      </Rows>
      {more > 0 && <p class="dim">{more} more ask you something.</p>}
    </Card>
  );
}

function rankOf(one: WebInboxItem): number {
  if (one.waits_for_you) return 0;
  return one.failed === null ? 2 : 1;
}

/** The unread messages that ask nothing, as far as they are listed. */
function unreadOnly({ messages }: WebInbox): number {
  return messages.filter((one) => one.unread && !one.waits_for_you).length;
}
