import { messageKey } from '../../protocol/layout.ts';
import type { JSX } from 'preact';
import type { WebThread, WebThreadNode } from '../../api/api.ts';
import { firedText } from '../../protocol/text/words.ts';
import { branchMark, marksOf } from '../../present/marks.ts';
import { askedText } from '../../protocol/text/skill-call.ts';
import { get } from '../live/api.ts';
import { CancelButton } from '../compose/cancel-button.tsx';
import { RetryButtons } from '../compose/retry-button.tsx';
import { ReplyBox } from '../compose/reply-box.tsx';
import { SayMore } from '../compose/say-more.tsx';
import { useLoaded, useModel } from '../live/use-live.ts';
import { Link } from '../route/link.tsx';
import { Problem, View } from '../parts/view.tsx';
import { plainOf } from '../text/plain.ts';
import { Speaker, useKinds, Verified } from '../parts/speaker.tsx';
import { StateChips } from '../parts/state-chip.tsx';
import { clockOf, wholeTimeOf } from '../../present/times.ts';

/** Tree of a thread, updated live: questions, their answers, and the open ones. */
export function ThreadView({
  channel,
  relPath,
}: {
  channel: string;
  relPath: string;
}): JSX.Element {
  const ref = messageKey({ channel, relPath });
  // Whether there is a field for a reply is known with the session, and moves the content below it.
  const isReady = useModel().session !== undefined;
  const { value: thread, problem } = useLoaded(
    ref,
    (signal) => get<WebThread>('thread', { ref }, signal),
    ['reset', 'messages', 'facts', 'runs', 'dead_letters'],
  );
  return (
    <View
      title="Thread"
      beside={
        <Link to={{ view: 'message', channel, relPath }} class="button">
          In the conversation
        </Link>
      }
    >
      <p class="dim where">
        {thread === undefined ? (
          ' '
        ) : (
          <>
            in <bdi>{thread.channel_name}</bdi>
          </>
        )}
      </p>
      <Problem words={problem} />
      {thread?.complete === false && (
        <p class="dim">The thread is very long; this is a part of it.</p>
      )}
      <div class="thread" role="group" aria-label="The messages of the thread" aria-live="polite">
        {thread !== undefined && isReady && <Branches nodes={thread.roots} thread={thread} />}
      </div>
    </View>
  );
}

function Branches({ nodes, thread }: { nodes: WebThreadNode[]; thread: WebThread }): JSX.Element {
  return (
    <ul class="plain">
      {nodes.map((node) => (
        <li key={node.relPath}>
          <Node node={node} thread={thread} />
          {node.children.length > 0 && <Branches nodes={node.children} thread={thread} />}
        </li>
      ))}
    </ul>
  );
}

function Node({ node, thread }: { node: WebThreadNode; thread: WebThread }): JSX.Element {
  const { relPath, from, to, timestamp, excerpt, states } = node;
  const kindOf = useKinds();
  const current = relPath === thread.message;
  return (
    <div class={current ? 'node current' : 'node'} {...(current && { 'aria-current': 'true' })}>
      <p class="head">
        <Speaker name={from} kind={kindOf(from)} />
        <Verified verified={node.verified} />
        <span class="dim"> to </span>
        <bdi>{to.join(', ')}</bdi>{' '}
        <time class="dim" dateTime={timestamp} title={wholeTimeOf(timestamp)}>
          {clockOf(timestamp)}
        </time>
      </p>
      <p class="excerpt" dir="auto">
        <Link to={{ view: 'message', channel: thread.channel, relPath }}>
          {excerpt === '' ? 'empty message' : plainOf(excerpt)}
        </Link>
      </p>
      {[...branchMark(node), ...marksOf(node)].map((words) => (
        <p key={words}>
          <bdi>{words}</bdi>
        </p>
      ))}
      <Origin node={node} />
      <ReplyBox channel={thread.channel} relPath={relPath} from={from} states={states} />
      {states.length > 0 && (
        <p class="states">
          <StateChips
            states={states.map((state) => ({ ...state, since: timestamp }))}
            channel={thread.channel}
          />
          <CancelButton
            channel={thread.channel}
            relPath={relPath}
            from={from}
            mark={node.mark}
            states={states}
          />
          <RetryButtons channel={thread.channel} relPath={relPath} />
        </p>
      )}
      <SayMore channel={thread.channel} relPath={relPath} from={from} states={states} />
    </div>
  );
}

/** Origin of a message that was sent automatically, and the skill for which it asks; nothing for any other message. */
function Origin({ node }: { node: WebThreadNode }): JSX.Element | null {
  const { fired_by: fired, subscription, event, asks_for: asked } = node;
  const given =
    subscription !== undefined &&
    `given by subscription ${subscription}${event === undefined ? '' : `, following on the event ${event}`}`;
  const words = [fired && firedText(fired), given].filter((one) => typeof one === 'string');
  if (words.length === 0 && asked === undefined) return null;
  return (
    <p class="dim">
      {words.join(', ')}
      {asked !== undefined && (
        <>
          {words.length > 0 && ', '}
          {asked.path === null ? (
            askedText(asked)
          ) : (
            <Link to={{ view: 'skill', name: asked.name }}>{askedText(asked)}</Link>
          )}
        </>
      )}
    </p>
  );
}
