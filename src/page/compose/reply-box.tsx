import type { JSX } from 'preact';
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks';
import type { MessageRef } from '../../protocol/message-ref.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { EMPTY, keepDraft, loadDraft } from '../live/drafts.ts';
import { sendOnce } from '../live/send-once.ts';
import { LiveContext, useModel } from '../live/use-live.ts';
import { Problem } from '../parts/view.tsx';
import { TextField } from './text-field.tsx';
import { failureOf, queuedMessages } from './sending.ts';

interface Props extends MessageRef {
  /** Who wrote it. */
  from: string;
  /** The answers that it offers. */
  options?: readonly string[];
  /** Whether the field for a text is open already. */
  opened?: boolean;
}

/** Whether the reader may reply to messages of somebody: what one wrote oneself would wake nobody. */
export function useMayReply(from: string): boolean {
  const { session } = useModel();
  return session?.read_only === false && session.from !== from;
}

/** Answers a message: by one of the answers that it offers, or by a text of one's own. */
export function ReplyBox(props: Props): JSX.Element | null {
  if (!useMayReply(props.from)) return null;
  return <Box key={`${props.channel}/${props.relPath}`} {...props} />;
}

function Box({ channel, relPath, from, options = [], opened = false }: Props): JSX.Element {
  const live = useContext(LiveContext);
  const { channels } = useModel();
  const shelf = `re-${channel}/${relPath}`;
  const [body, setBody] = useState(() => loadDraft(localStorage, shelf).body);
  const [open, setOpen] = useState(body !== '');
  const [status, setStatus] = useState('');
  const [problem, setProblem] = useState<string | undefined>(undefined);
  useEffect(() => {
    if (opened) setOpen(true);
  }, [opened]);
  const field = useRef<HTMLTextAreaElement>(null);
  const left = useRef(new AbortController());
  const id = useId();
  useEffect(
    () => () => {
      left.current.abort();
    },
    [],
  );
  const write = (words: string): void => {
    setBody(words);
    setProblem(undefined);
    keepDraft(localStorage, shelf, { ...EMPTY, body: words });
  };
  const send = async (option?: number): Promise<void> => {
    if (status === 'Sending…') return;
    if (option === undefined && body.trim() === '') {
      setProblem('Write something first.');
      return;
    }
    setStatus('Sending…');
    setProblem(undefined);
    const { signal: stop } = left.current;
    const said = option === undefined ? body : '';
    const request = {
      ...{ to: '', body: said, channel, re: relPath },
      ...(option !== undefined && { option: String(option) }),
    };
    try {
      const sent = await sendOnce(live.ways, shelf, request, {
        unsure: (error) => {
          if (!stop.aborted) setProblem(failureOf(error));
        },
        stop,
      });
      const words = option === undefined ? body : (options[option - 1] ?? '');
      const name = channels?.find((one) => one.id === sent.channel)?.name ?? '';
      if (sent.state === 'queued') live.sent(queuedMessages(sent, { ...EMPTY, body: words }, name));
      if (option === undefined) keepDraft(localStorage, shelf, EMPTY);
      if (stop.aborted) return;
      if (option === undefined) setBody('');
      setOpen(false);
      setProblem(undefined);
      setStatus('Queued.');
    } catch (error) {
      if (stop.aborted) return;
      setStatus('');
      setProblem(failureOf(error));
    }
  };
  return (
    <div class="reply">
      <p class="choices">
        {options.map((option, at) => (
          <button key={option} type="button" onClick={() => void send(at + 1)}>
            {at + 1}) <bdi>{escapeInvisible(option)}</bdi>
          </button>
        ))}
        <button
          type="button"
          aria-expanded={open}
          onClick={() => {
            setOpen(!open);
            setStatus('');
          }}
        >
          Reply<span class="aside"> to {from}</span>
        </button>
        <span class="dim" role="status">
          {status}
        </span>
      </p>
      {open && (
        <form
          aria-label={`Reply to ${from}`}
          onSubmit={(event) => {
            event.preventDefault();
            void send();
          }}
        >
          <label for={id} class="aside">
            Reply (markdown)
          </label>
          <TextField
            id={id}
            field={field}
            rows={3}
            value={body}
            placeholder="Goes to the writer, in this thread; Ctrl+Enter sends"
            onChange={write}
            onSend={() => void send()}
          />
          <button type="submit" class="primary">
            Send reply
          </button>
        </form>
      )}
      <Problem words={problem} />
    </div>
  );
}
