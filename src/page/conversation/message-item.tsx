import type { JSX } from 'preact';
import { useState, useId, useEffect, useRef } from 'preact/hooks';
import { messageKey } from '../../protocol/layout.ts';
import type { WebMessage, WebMessageWhole, WebBranchDiff, WebFile } from '../../api/api.ts';
import { get, wordsOf } from '../live/api.ts';
import { Link } from '../route/link.tsx';
import { Icon, Speaker, type Kind, Verified } from '../parts/speaker.tsx';
import { Problem } from '../parts/view.tsx';
import { CancelButton } from '../compose/cancel-button.tsx';
import { RetryButtons } from '../compose/retry-button.tsx';
import { ReplyBox, useMayReply } from '../compose/reply-box.tsx';
import { SayMore } from '../compose/say-more.tsx';
import { Markdown } from '../text/markdown-view.tsx';
import { ProposalCard } from './proposal.tsx';
import { StateChips } from '../parts/state-chip.tsx';
import type { Addressee } from '../../present/state.ts';
import { branchMark, marksOf } from '../../present/marks.ts';
import { useModel } from '../live/use-live.ts';
import { sizeInWords } from '../../protocol/attached.ts';
import { clockOf, dayOf, wholeTimeOf } from '../../present/times.ts';

interface Props {
  message: WebMessage;
  /** Kind of its sender. */
  kind: Kind;
  /** Its place among all messages of the channel, from 1 on. */
  position: number;
  /** Number of messages in the channel; -1 while unknown. */
  count: number;
  states: readonly Addressee[];
  /** The beginning of each message it answers, if that is loaded. */
  answered: readonly { relPath: string; from: string | undefined; excerpt: string }[];
  /** Whether it is the requested message. */
  current: boolean;
  /** Whether a new day, or the unread messages, begin with it, which is shown above. */
  newDay: boolean;
  firstUnread: boolean;
}

/** Texts longer than this, in characters, or with too many lines are folded. */
const LONG = 2500;
const MANY_LINES = 40;

/** One message of a conversation. */
export function MessageItem(props: Props): JSX.Element {
  const { message, kind, position, count, states, answered, current, newDay, firstUnread } = props;
  const { channel, relPath, from, to, timestamp, tier, host, type, schema } = message;
  const place = { channel, relPath };
  // A choice among the answers that a proposal offers would decide nothing.
  const options = message.proposal === true ? [] : message.options;
  const [replying, setReplying] = useState(false);
  const mayReply = useMayReply(from);
  const title = `message-${relPath.replace(/[^\w]/g, '-')}`;
  return (
    <article
      class={`message by-${kind}${current ? ' current' : ''}`}
      tabIndex={-1}
      aria-labelledby={title}
      aria-posinset={position}
      aria-setsize={count}
      {...(current && { 'aria-current': 'true' as const })}
    >
      {newDay && <p class="divider">{dayOf(timestamp)}</p>}
      {firstUnread && <p class="divider new">new</p>}
      <header>
        <h2 id={title}>
          <Speaker name={from} kind={kind} />
          <Verified verified={message.verified} />
          <span class="dim"> to </span>
          <bdi>{to.join(', ')}</bdi>
        </h2>
        <time dateTime={timestamp} title={wholeTimeOf(timestamp)} class="dim">
          {clockOf(timestamp)}
        </time>
        {marksOf({ ...message, mark: message.mark ?? null }).map((words) => (
          <span key={words} class="chip dim">
            {words}
          </span>
        ))}
        {tier !== null && <span class="chip dim">{tier}</span>}
        {host !== null && <span class="dim host">on {host}</span>}
        {type !== 'text' && <span class="chip dim">{type}</span>}
        {schema !== undefined && (
          <span class="chip dim" title={schema}>
            asks for JSON
          </span>
        )}
        <span class="links">
          {mayReply && (
            <button
              type="button"
              title="Reply"
              aria-label={`Reply to ${from}`}
              aria-expanded={replying}
              onClick={() => {
                setReplying(!replying);
              }}
            >
              <Icon name="reply" />
            </button>
          )}
          <Link to={{ view: 'thread', ...place }} label="Thread of this message" title="Thread">
            <Icon name="thread" />
          </Link>
          <Link to={{ view: 'message', ...place }} label="Link to this message" title="Link">
            <Icon name="link" />
          </Link>
        </span>
      </header>
      {answered.map((one) => (
        <p class="answers" key={one.relPath}>
          <Link to={{ view: 'message', channel, relPath: one.relPath }}>
            <span aria-hidden="true">↰ </span>
            answers {one.from === undefined ? 'a message' : <bdi>{one.from}</bdi>}
            {one.excerpt !== '' && (
              <>
                : <bdi>{one.excerpt}</bdi>
              </>
            )}
          </Link>
        </p>
      ))}
      {message.proposal === true ? (
        <ProposalCard at={place} inList>
          <Body message={message} />
        </ProposalCard>
      ) : (
        <Body message={message} />
      )}
      <MessageFiles message={message} />
      <MessageBranch message={message} />
      {(replying || options.length > 0) && (
        <ReplyBox {...place} from={from} options={options} opened={replying} states={states} />
      )}
      {states.length > 0 && (
        <p class="states">
          <StateChips states={states} channel={channel} />
          <CancelButton {...place} from={from} mark={message.mark} states={states} />
          <RetryButtons {...place} />
        </p>
      )}
      <SayMore {...place} from={from} states={states} />
    </article>
  );
}

/** The text of a message; a long one is folded until the reader unfolds it. */
function Body({ message }: { message: WebMessage }): JSX.Element {
  const { channel, relPath, body, body_cut: cut, json } = message;
  const [whole, setWhole] = useState<string | undefined>(undefined);
  const [open, setOpen] = useState(false);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const isLong = cut || body.length > LONG || body.split('\n', MANY_LINES + 1).length > MANY_LINES;
  const unfold = (): void => {
    setOpen(!open);
    if (!cut || whole !== undefined) return;
    get<WebMessageWhole>('message', { ref: messageKey({ channel, relPath }) }).then(
      (found) => {
        setWhole(found.body);
      },
      (error: unknown) => {
        setProblem(wordsOf(error));
      },
    );
  };
  return (
    <>
      <div class={isLong && !open ? 'body folded' : 'body'}>
        <Markdown
          text={json === true ? asCode(whole ?? body) : (whole ?? body)}
          channel={channel}
        />
      </div>
      {isLong && (
        <button type="button" class="unfold" onClick={unfold} aria-expanded={open}>
          {open ? 'Show less' : 'Show all of it'}
        </button>
      )}
      <Problem words={problem} />
    </>
  );
}

/** JSON as a block of code, with a fence that is longer than any run of backticks in it. */
function asCode(json: string): string {
  const runs = json.match(/`+/g) ?? [];
  const fence = '`'.repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
  return `${fence}json\n${json.trimEnd()}\n${fence}`;
}

/** Returns an estimate of a message's height in pixels, used until it was shown. */
export function guessedHeight({ body, re, files, options, branch }: WebMessage): number {
  const lines = body
    .split('\n', MANY_LINES)
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 75)), 0);
  const rows =
    26 * (re.length + files.length + (branch === undefined ? 0 : 1)) +
    (options.length > 0 ? 48 : 0);
  return 72 + rows + Math.min(MANY_LINES, lines) * 24;
}

/** Branch of an answer, with its changes once somebody opens them. */
function MessageBranch({ message }: { message: WebMessage }): JSX.Element | null {
  const { branch } = message;
  const { session } = useModel();
  const [shown, setShown] = useState(false);
  const [diff, setDiff] = useState<WebBranchDiff | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const id = useId();
  if (branch === undefined) return null;
  const toggle = (): void => {
    setShown(!shown);
    if (shown || diff !== undefined) return;
    setProblem(undefined);
    get<WebBranchDiff>('branch', { ref: messageKey(message) }).then(setDiff, (error: unknown) => {
      setProblem(wordsOf(error));
    });
  };
  return (
    <div class="branch">
      <p>
        <bdi>{branchMark(message)}</bdi>{' '}
        {session?.read_only === false && (
          <button type="button" aria-expanded={shown} aria-controls={id} onClick={toggle}>
            {shown ? 'Hide the changes' : 'Show the changes'}
          </button>
        )}
      </p>
      <div id={id} aria-live="polite">
        {shown && <Problem words={problem} />}
        {shown && problem === undefined && diff === undefined && <p class="dim">Loading…</p>}
        {shown && diff !== undefined && <Changes diff={diff} />}
      </div>
    </div>
  );
}

function Changes({ diff: { name, place, patch, cut } }: { diff: WebBranchDiff }): JSX.Element {
  return (
    <>
      <p class="dim">
        in <bdi>{place}</bdi>
      </p>
      {patch === '' ? (
        <p class="dim">It changes nothing.</p>
      ) : (
        <pre
          class="patch"
          role="region"
          aria-live="off"
          tabIndex={0}
          aria-label={`Changes of ${name}`}
        >
          {patch
            .replace(/\n$/, '')
            .split('\n')
            .map((line, at) => (
              <span key={at} class={kindOf(line)}>
                {line}
                {'\n'}
              </span>
            ))}
        </pre>
      )}
      {cut && (
        <p class="dim">
          The rest is left out; all of it is shown by git in the repository, or by crosstalk
          worktree diff.
        </p>
      )}
    </>
  );
}

/** Only the colour depends on it: each line keeps its sign. */
function kindOf(line: string): string | undefined {
  if (line.startsWith('+') && !line.startsWith('+++ ')) return 'added';
  if (line.startsWith('-') && !line.startsWith('--- ')) return 'removed';
  return /^(?:diff |@@ |\+\+\+ |--- |index )/.test(line) ? 'dim' : undefined;
}

/** Types that a message may claim for a picture; the server decides by the bytes whether it is one. */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** A picture that is on its way from the outbox to the bus may be at neither place for a moment. */
const RETRY_AFTER_MS = [1000, 5000];

/** The files of a message: pictures small, then whole; everything else only to be saved. */
function MessageFiles({ message }: { message: WebMessage }): JSX.Element | null {
  const { files } = message;
  if (files.length === 0) return null;
  return (
    <ul class="files" aria-label="Files">
      {files.map((file, at) => (
        <li key={at}>
          <OneFile file={file} address={addressOf(message, at + 1)} />
        </li>
      ))}
    </ul>
  );
}

function OneFile({ file, address }: { file: WebFile; address: string }): JSX.Element {
  const { name, bytes, type } = file;
  const [isWhole, setWhole] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const isBroken = attempt > RETRY_AFTER_MS.length;
  const waiting = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(
    () => () => {
      clearTimeout(waiting.current);
    },
    [],
  );
  return (
    <>
      {PICTURES.has(type) && !isBroken && (
        <button
          type="button"
          class={isWhole ? 'picture whole' : 'picture'}
          aria-expanded={isWhole}
          aria-label={`${isWhole ? 'Show small' : 'Show whole'}: ${name}`}
          onClick={() => {
            setWhole(!isWhole);
          }}
        >
          <img
            key={attempt}
            src={`${address}&show=1`}
            alt={name}
            loading="lazy"
            onError={() => {
              const next = (): void => {
                setAttempt(attempt + 1);
              };
              waiting.current = setTimeout(next, RETRY_AFTER_MS[attempt] ?? 0);
            }}
          />
        </button>
      )}
      <a href={address} download>
        <bdi>{name}</bdi>
      </a>{' '}
      <span class="dim">
        {sizeInWords(bytes)}
        {isBroken && ', no picture that can be shown'}
      </span>
    </>
  );
}

function addressOf({ channel, relPath }: WebMessage, number: number): string {
  const asked = new URLSearchParams({ ref: messageKey({ channel, relPath }), n: String(number) });
  return `/api/file?${asked.toString()}`;
}
