import type { JSX } from 'preact';
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks';
import type { WebSendRequest } from '../../api/api.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import type { Addressee } from '../../present/state.ts';
import { EMPTY, keepDraft, loadDraft } from '../live/drafts.ts';
import { sentWord } from '../live/model.ts';
import { sendOnce } from '../live/send-once.ts';
import { LiveContext, useModel } from '../live/use-live.ts';
import { Problem } from '../parts/view.tsx';
import { TextField } from './text-field.tsx';
import { failureOf, queuedMessages } from './sending.ts';

interface Props extends MessageRef {
  /** Writer of the message. */
  from: string;
  /** The answers that it offers. */
  options?: readonly string[];
  /** Whether the field for a text is open already. */
  opened?: boolean;
  /** Standing of its addressees. */
  states?: readonly Addressee[];
}

/** Whether the reader may reply to messages of somebody: a reply to one's own message would wake nobody. */
export function useMayReply(from: string): boolean {
  const { session } = useModel();
  return session?.read_only === false && session.from !== from;
}

/** Answers a message: by one of the answers that it offers, or by a text of one's own. */
export function ReplyBox({ from, states = [], ...props }: Props): JSX.Element | null {
  const me = useModel().session?.from;
  if (!useMayReply(from)) return null;
  const answered = states.some(({ actor, state }) => state === 'answered' && actor === me);
  const { channel, relPath } = props;
  const form: Form = {
    shelf: `re-${channel}/${relPath}`,
    request: { to: '', channel, re: relPath },
    button: 'Reply',
    whom: from,
    label: 'Reply (markdown)',
    placeholder: 'Goes to the writer, in this thread; Ctrl+Enter sends',
    submit: 'Send reply',
  };
  return <Box key={`${channel}/${relPath}`} {...props} answered={answered} form={form} />;
}

/** Purpose of a text, with the words of its form. */
interface Form {
  /** Key under which its draft is stored. */
  shelf: string;
  request: Omit<WebSendRequest, 'body'>;
  button: string;
  whom: string;
  label: string;
  placeholder: string;
  submit: string;
}

interface BoxProps extends Pick<Props, 'options' | 'opened'> {
  form: Form;
  /** Whether the reader has answered it: another answer is asked about first, as it would act again. */
  answered?: boolean;
}

/** A button for each answer to choose, and one that opens a field for a text. */
export function Box({
  form,
  options = [],
  opened = false,
  answered = false,
}: BoxProps): JSX.Element {
  const { shelf, button, whom, label, placeholder, submit } = form;
  const live = useContext(LiveContext);
  const model = useModel();
  const [body, setBody] = useState(() => loadDraft(live.ways.shelf, shelf).body);
  const [open, setOpen] = useState(body !== '');
  const [status, setStatus] = useState('');
  const [queued, setQueued] = useState<readonly MessageRef[] | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  // One of the answers that it offers was sent from here.
  const [chosen, setChosen] = useState(false);
  const [asking, setAsking] = useState<{ option: number | undefined } | undefined>(undefined);
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
    keepDraft(live.ways.shelf, shelf, { ...EMPTY, body: words });
  };
  const send = async (option?: number): Promise<void> => {
    if (status === 'Sending…') return;
    if (option === undefined && body.trim() === '') {
      setProblem('Write something first.');
      return;
    }
    if ((answered || chosen) && asking === undefined) {
      setAsking({ option });
      return;
    }
    setAsking(undefined);
    setStatus('Sending…');
    setProblem(undefined);
    const { signal: stop } = left.current;
    const said = option === undefined ? body : '';
    const request = {
      ...{ ...form.request, body: said },
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
      const name = model.channels?.find((one) => one.id === sent.channel)?.name ?? '';
      const messages = queuedMessages(sent, { ...EMPTY, body: words }, name);
      const isQueued = sent.state === 'queued';
      if (isQueued) live.sent(messages);
      if (option === undefined) keepDraft(live.ways.shelf, shelf, EMPTY);
      if (stop.aborted) return;
      if (option === undefined) setBody('');
      setOpen(false);
      setProblem(undefined);
      setChosen(options.length > 0);
      setStatus('');
      setQueued(isQueued ? messages : []);
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
          data-act="reply"
          aria-expanded={open}
          onClick={() => {
            setOpen(!open);
            setQueued(undefined);
          }}
        >
          {button}
          <span class="aside"> to {whom}</span>
        </button>
        <span class="dim" role="status">
          {status === '' && queued !== undefined ? sentWord(model, queued) : status}
        </span>
      </p>
      {open && (
        <form
          aria-label={`${button} to ${whom}`}
          onSubmit={(event) => {
            event.preventDefault();
            void send();
          }}
        >
          <label for={id} class="aside">
            {label}
          </label>
          <TextField
            id={id}
            field={field}
            rows={3}
            value={body}
            placeholder={placeholder}
            onChange={write}
            onSend={() => void send()}
          />
          <button type="submit" class="primary">
            {submit}
          </button>
        </form>
      )}
      {asking !== undefined && (
        <p role="alert">
          You have answered this already.{' '}
          <button type="button" onClick={() => void send(asking.option)}>
            Answer once more
          </button>{' '}
          <button
            type="button"
            onClick={() => {
              setAsking(undefined);
            }}
          >
            Leave it
          </button>
        </p>
      )}
      <Problem words={problem} />
    </div>
  );
}
