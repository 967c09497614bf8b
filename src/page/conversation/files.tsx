import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { WebFile, WebMessage } from '../../api/api.ts';
import { messageKey } from '../../protocol/message-ref.ts';
import { sizeInWords } from '../../protocol/attached.ts';

/** What a message may call a picture; whether it is one is decided by the server, from its bytes. */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** A picture that is on its way from the outbox to the bus may be at neither place for a moment. */
const RETRY_AFTER_MS = [1000, 5000];

/** The files of a message: pictures small, then whole; everything else only to be saved. */
export function MessageFiles({ message }: { message: WebMessage }): JSX.Element | null {
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
