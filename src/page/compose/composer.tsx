import type { JSX } from 'preact';
import { useContext, useEffect, useId, useRef, useState, type StateUpdater } from 'preact/hooks';
import type { WebMessage, WebFile, WebUpload } from '../../api/api.ts';
import { sentWord } from '../live/model.ts';
import { sendOnce } from '../live/send-once.ts';
import { LiveContext, useModel } from '../live/use-live.ts';
import { Problem } from '../parts/view.tsx';
import { Markdown } from '../text/markdown-view.tsx';
import { EMPTY, keepDraft, loadDraft, type Draft } from '../live/drafts.ts';
import { More } from './more.tsx';
import { Unserved } from './unserved.tsx';
import { RecipientField } from './recipient-field.tsx';
import { recipientProblem } from './recipients.ts';
import { TextField } from './text-field.tsx';
import { draftProblem, failureOf, namesOf, queuedMessages, requestOf, tiersOf } from './sending.ts';
import { sizeInWords } from '../../protocol/attached.ts';
import { post, wordsOf } from '../live/api.ts';

interface Props {
  /** Stays the same: a composer for another channel is another element, with another `key`. */
  channel: string;
  /** Set below a conversation, where the composer is as low as possible. */
  brief?: boolean;
  onSent?: (messages: readonly WebMessage[]) => void;
}

/** Writes messages. The typed text is stored in this browser until it was sent; a failed send changes nothing of it. */
export function Composer({ channel, brief = false, onSent }: Props): JSX.Element {
  const live = useContext(LiveContext);
  const model = useModel();
  const { now, channels, session } = model;
  const [draft, setDraft] = useState<Draft>(() => loadDraft(live.ways.shelf, channel));
  const [sending, setSending] = useState(false);
  const [preview, setPreview] = useState(false);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [sent, setSent] = useState<Said | undefined>(undefined);
  const attaching = useAttaching();
  const text = useRef<HTMLTextAreaElement>(null);
  const left = useRef(new AbortController());
  const id = useId();
  useEffect(
    () => () => {
      left.current.abort();
    },
    [],
  );
  const change = (patch: Partial<Draft>): void => {
    const next = { ...draft, ...patch };
    setDraft(next);
    setProblem(undefined);
    setSent(undefined);
    keepDraft(live.ways.shelf, channel, next);
  };

  const notes = sent === undefined ? '' : [sentWord(model, sent.queued), ...sent.notes].join(' ');
  const actors = now?.actors ?? [];
  const tiers = tiersOf(actors, draft.to);
  const send = async (): Promise<void> => {
    // The notice about the send under way stays.
    if (sending) return;
    const wrong = attaching.isBusy
      ? 'A file is still being attached; send when it is there.'
      : draftProblem(draft, session?.message_limit ?? Infinity);
    setProblem(wrong);
    if (wrong !== undefined) return;
    setSending(true);
    setSent(undefined);
    const { signal: stop } = left.current;
    try {
      const request = requestOf(draft, { channel, tiers, files: attaching.files });
      const made = await sendOnce(live.ways, channel, request, {
        unsure: (error) => {
          if (!stop.aborted) setProblem(failureOf(error));
        },
        stop,
      });
      const name = channels?.find((one) => one.id === made.channel)?.name ?? '';
      const messages = queuedMessages(made, draft, name, attaching.files);
      const isQueued = made.state === 'queued';
      if (isQueued) live.sent(messages);
      keepDraft(live.ways.shelf, channel, EMPTY);
      // Another channel's draft is shown by now.
      if (stop.aborted) return;
      setProblem(undefined);
      attaching.clear();
      setDraft({ ...EMPTY, to: draft.to });
      setPreview(false);
      setSent({ queued: isQueued ? messages : [], notes: made.notes });
      onSent?.(messages);
      text.current?.focus();
    } catch (error) {
      if (!stop.aborted) setProblem(failureOf(error));
    } finally {
      if (!stop.aborted) setSending(false);
    }
  };
  return (
    <form
      class={brief ? 'composer brief' : 'composer'}
      aria-label="Write a message"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => {
        if (event.dataTransfer?.types.includes('Files') === true) event.preventDefault();
      }}
      onDrop={(event) => {
        const dropped = [...(event.dataTransfer?.files ?? [])];
        if (dropped.length === 0) return;
        event.preventDefault();
        if (!sending) attaching.add(dropped);
      }}
    >
      <RecipientField
        value={draft.to}
        onChange={(to) => {
          change({ to });
        }}
        known={namesOf(actors)}
        problem={recipientProblem(draft.to) === undefined ? undefined : problem}
        readOnly={sending}
      />
      <div class="tier">
        <label for={`${id}-tier`}>Tier</label>
        <select
          id={`${id}-tier`}
          value={tiers.includes(draft.tier) ? draft.tier : ''}
          disabled={sending}
          onChange={(event) => {
            change({ tier: event.currentTarget.value });
          }}
        >
          <option value="">the first</option>
          {tiers.map((tier) => (
            <option key={tier} value={tier}>
              {tier}
            </option>
          ))}
        </select>
      </div>
      <Unserved to={draft.to} said={notes} />
      <div class="text">
        <label for={`${id}-text`} class={brief ? 'aside' : ''}>
          Message (markdown)
        </label>
        {preview && (
          <div class="preview" role="group" aria-label="Preview" tabIndex={0}>
            <h2 class="aside">Preview</h2>
            <Markdown text={draft.body} channel={channel} />
          </div>
        )}
        <TextField
          id={`${id}-text`}
          field={text}
          hidden={preview}
          rows={brief ? 3 : 12}
          value={draft.body}
          readOnly={sending}
          placeholder="What is to be done or known; Ctrl+Enter sends"
          onChange={(body) => {
            change({ body });
          }}
          onSend={() => void send()}
        />
      </div>
      <AttachedFiles attaching={attaching} disabled={sending} />
      <More draft={draft} onChange={change} readOnly={sending} />
      <div class="actions">
        <p class="dim notes" role="status">
          {sending ? 'Sending…' : notes}
        </p>
        <button
          type="button"
          aria-pressed={preview}
          onClick={() => {
            setPreview(!preview);
          }}
        >
          Preview
        </button>
        <button type="submit" class="primary" aria-disabled={sending}>
          Send
        </button>
      </div>
      <Problem words={problem} />
    </form>
  );
}

/** Messages that were sent from here, and what the server noted about them. */
interface Said {
  queued: readonly WebMessage[];
  notes: readonly string[];
}

/** Milliseconds for one file, which may go through a slow tunnel. */
const UPLOAD_LIMIT_MS = 600_000;

/** The files of a message that is being written, and how more are added. */
interface Attaching {
  files: WebFile[];
  /** Notice about the work under way, or the reason why a file was not taken. */
  said: string;
  isBusy: boolean;
  add: (files: readonly File[]) => void;
  remove: (file: WebFile) => void;
  clear: () => void;
}

/** Keeps files at the server, one after the other, until they are sent. */
function useAttaching(): Attaching {
  const [files, setFiles] = useState<WebFile[]>([]);
  const [said, setSaid] = useState('');
  const [busy, setBusy] = useState(0);
  const add = (chosen: readonly File[]): void => {
    if (chosen.length === 0) return;
    setBusy((count) => count + 1);
    void keep(chosen, setFiles, setSaid).finally(() => {
      setBusy((count) => count - 1);
    });
  };
  return {
    files,
    said,
    isBusy: busy > 0,
    add,
    remove: (file) => {
      setFiles((all) => all.filter((one) => one !== file));
    },
    clear: () => {
      setFiles([]);
      setSaid('');
    },
  };
}

async function keep(
  chosen: readonly File[],
  setFiles: (change: StateUpdater<WebFile[]>) => void,
  say: (words: string) => void,
): Promise<void> {
  for (const file of chosen) {
    say(`Attaching ${file.name}…`);
    try {
      const upload: WebUpload = { name: file.name, base64: await base64Of(file) };
      const kept = await post<WebFile>('files', upload, {}, UPLOAD_LIMIT_MS);
      setFiles((all) => [...all, kept]);
      say('');
    } catch (error) {
      say(`Not attached: ${file.name}: ${wordsOf(error)}`);
      return;
    }
  }
}

/** Returns the content of a file in base64; a folder that was dropped cannot be read as a file. */
function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => {
      const address = typeof reader.result === 'string' ? reader.result : '';
      resolve(address.slice(address.indexOf(',') + 1));
    };
    reader.onerror = () => {
      reject(new Error('it cannot be read; a folder has to be packed first'));
    };
    reader.readAsDataURL(file);
  });
}

/** Files of the message, each with a button that removes it. */
function AttachedFiles({
  attaching,
  disabled,
}: {
  attaching: Attaching;
  disabled: boolean;
}): JSX.Element {
  const id = useId();
  const { files, said, add, remove } = attaching;
  return (
    <div class="attached">
      <input
        id={id}
        type="file"
        multiple
        class="aside"
        disabled={disabled}
        onChange={({ currentTarget }) => {
          add([...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
      <label for={id} class="button">
        Attach files
      </label>
      {files.length > 0 && (
        <ul class="files" aria-label="Files to send">
          {files.map((file, at) => (
            <li key={at}>
              <bdi>{file.name}</bdi> <span class="dim">{sizeInWords(file.bytes)}</span>{' '}
              <button
                type="button"
                disabled={disabled}
                aria-label={`Do not attach ${file.name}`}
                onClick={() => {
                  remove(file);
                }}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <p class="dim said" role="status">
        {said}
      </p>
    </div>
  );
}
