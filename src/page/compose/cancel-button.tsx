import type { JSX } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { MessageRef } from '../../protocol/layout.ts';
import { sendOnce } from '../live/send-once.ts';
import { LiveContext, useModel } from '../live/use-live.ts';
import { Problem } from '../parts/view.tsx';
import { canDo, type Addressee } from '../../present/state.ts';
import { failureOf } from './sending.ts';

interface Props extends MessageRef {
  /** Writer of the message. */
  from: string;
  /** Mark of a message that only looks like an answer: a cancellation cannot be taken back. */
  mark: string | null | undefined;
  /** The states of the message at its addressees. */
  states: readonly Addressee[];
}

/** Takes a message back that the reader wrote, as long as something waits or runs for it. */
export function CancelButton({ channel, relPath, from, mark, states }: Props): JSX.Element | null {
  const live = useContext(LiveContext);
  const { session } = useModel();
  const [status, setStatus] = useState('');
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const left = useRef(new AbortController());
  useEffect(
    () => () => {
      left.current.abort();
    },
    [],
  );
  const isUnderWay = states.some((one) => canDo(one, 'cancel'));
  if (session?.read_only !== false || session.from !== from) return null;
  if (mark === 'cancel' || !isUnderWay) return null;
  const cancel = async (): Promise<void> => {
    setStatus('Cancelling…');
    setProblem(undefined);
    const { signal: stop } = left.current;
    try {
      const request = { to: '', body: '', channel, cancels: relPath };
      const unsure = (error: Parameters<typeof failureOf>[0]): void => {
        if (!stop.aborted) setProblem(failureOf(error));
      };
      await sendOnce(live.ways, `cancel-${channel}/${relPath}`, request, { unsure, stop });
      if (!stop.aborted) setStatus('Cancelled.');
    } catch (error) {
      if (stop.aborted) return;
      setStatus('');
      setProblem(failureOf(error));
    }
  };
  return (
    <>
      {status === '' && (
        <button type="button" onClick={() => void cancel()}>
          Cancel
        </button>
      )}
      <span class="dim" role="status">
        {status}
      </span>
      <Problem words={problem} />
    </>
  );
}
