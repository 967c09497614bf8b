import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { WebDecided, WebProposal, WebProposed } from '../../api/api.ts';
import { messageKey, type MessageRef } from '../../protocol/layout.ts';
import { get, post, wordsOf } from '../live/api.ts';
import { useLoaded, useModel } from '../live/use-live.ts';
import { Problem } from '../parts/view.tsx';

/**
 * Proposal of an actor, whole and as text, with the decisions that the reader may make. Once there is nothing to
 * decide, the outcome and its reason.
 */
export function ProposalCard({
  at,
  inList = false,
  focus,
  children,
}: {
  at: MessageRef;
  /** The decision for which it was opened, to begin with its text or with the note. */
  focus?: WebDecided['decision'];
  /** Whether it is among others that have to stay in reach: a long text is scrolled in its place. */
  inList?: boolean;
  children?: ComponentChildren;
}): JSX.Element {
  const [made, setMade] = useState<WebDecided | undefined>(undefined);
  const ref = messageKey(at);
  const { value, problem } = useLoaded(
    made === undefined ? ref : `${ref} decided`,
    (signal) => get<WebProposal>('proposal', { ref }, signal),
    ['reset', 'messages', 'outbox'],
  );
  const said = made && <p role="status">{made.decision === 'approve' ? 'Approved.' : 'Denied.'}</p>;
  const proposal = value?.proposal ?? undefined;
  if (proposal !== undefined && made === undefined)
    return <Undecided {...{ proposal, inList, focus }} decided={setMade} />;
  return (
    <>
      {children}
      {said}
      {made === undefined && typeof value?.why === 'string' && (
        <p class="dim">
          <bdi>{value.why}</bdi>
        </p>
      )}
      <Problem words={problem} />
    </>
  );
}

function Undecided({
  proposal,
  inList,
  focus,
  decided,
}: {
  proposal: WebProposed;
  inList: boolean;
  focus: WebDecided['decision'] | undefined;
  decided: (made: WebDecided) => void;
}): JSX.Element {
  const { session } = useModel();
  const { channel, relPath, from, host, permission, body, ignored, digest } = proposal;
  const [note, setNote] = useState('');
  const [isSending, setSending] = useState(false);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const id = useId();
  const card = useRef<HTMLElement>(null);
  useEffect(() => {
    if (focus === undefined) return;
    card.current?.querySelector<HTMLElement>(focus === 'deny' ? 'textarea' : 'pre')?.focus();
  }, [focus]);
  const decide = (decision: 'approve' | 'deny'): void => {
    if (isSending) return;
    setSending(true);
    setProblem(undefined);
    const message = messageKey({ channel, relPath });
    const request = { message, decision, digest, ...(note.trim() !== '' && { note }) };
    post<WebDecided>('decide', request).then(decided, (error: unknown) => {
      setSending(false);
      setProblem(wordsOf(error));
    });
  };
  const what = permission === null ? 'a plan' : 'to use a tool';
  return (
    <section class="proposal" ref={card} aria-label={`${from} proposes ${what}`}>
      <p>
        <bdi>{host === null ? from : `${from}@${host}`}</bdi> proposes {what}, and waits for you.{' '}
        {permission?.marks.map((mark) => (
          <span key={mark} class={`chip ${mark === 'dangerous' ? 'bad' : 'wait'}`}>
            {mark}
          </span>
        ))}
      </p>
      {permission !== null && (
        <dl>
          <dt>Tool</dt>
          <dd>{permission.tool}</dd>
          <dt>Input</dt>
          <dd>
            <code>{permission.input}</code>
          </dd>
        </dl>
      )}
      <pre
        {...(inList && {
          class: 'bounded',
          role: 'group',
          tabIndex: 0,
          'aria-label': `What ${from} proposes`,
        })}
      >
        {body.trimEnd()}
      </pre>
      {ignored.length > 0 && (
        <ul aria-label="Decisions that were ignored">
          {ignored.map((one) => (
            <li key={one.relPath}>
              <bdi>{one.relPath}</bdi>, which {one.decision === 'approve' ? 'approves' : 'denies'}{' '}
              it, is ignored: <bdi>{one.why}</bdi>.
            </li>
          ))}
        </ul>
      )}
      {session?.may_decide === true ? (
        <>
          <label for={id}>Note to the actor, or why not</label>
          <textarea
            id={id}
            dir="auto"
            rows={2}
            value={note}
            onInput={(event) => {
              setNote(event.currentTarget.value);
            }}
          />
          <p class="choices">
            <button
              type="button"
              class="primary"
              onClick={() => {
                decide('approve');
              }}
            >
              Approve
            </button>
            <button
              type="button"
              onClick={() => {
                decide('deny');
              }}
            >
              Deny
            </button>
            <span role="status" class="dim">
              {isSending ? 'Sending…' : ''}
            </span>
          </p>
          <Problem words={problem} />
        </>
      ) : (
        <p class="dim">
          This window may not decide; a terminal of yours may: crosstalk approve {relPath}
        </p>
      )}
    </section>
  );
}
