import type { JSX } from 'preact';
import type { MessageRef } from '../../protocol/layout.ts';
import { canDo, type Addressee } from '../../present/state.ts';
import { useModel } from '../live/use-live.ts';
import { Box } from './reply-box.tsx';

interface Props extends MessageRef {
  /** Writer of the message. */
  from: string;
  /** The states of the message at its addressees. */
  states: readonly Addressee[];
}

/** Form for saying more about a message of the reader's own to each actor that works on it and can receive messages. */
export function SayMore({ channel, relPath, from, states }: Props): JSX.Element | null {
  const { session, now } = useModel();
  if (session?.read_only !== false || session.from !== from) return null;
  const running = states.flatMap((one) => (canDo(one, 'say more') ? (one.actor ?? []) : []));
  const told = running.filter((actor) =>
    now?.actors.some(
      ({ name, hosts }) => name === actor && hosts.some(({ warm }) => warm === true),
    ),
  );
  if (told.length === 0) return null;
  return (
    <>
      {told.map((actor) => (
        <Box
          key={actor}
          form={{
            shelf: `more-${actor}-${channel}/${relPath}`,
            request: { to: actor, channel, about: relPath },
            button: 'Say more',
            whom: actor,
            label: 'What else it should know (markdown)',
            placeholder: 'Goes into the work under way; Ctrl+Enter sends',
            submit: 'Send now',
          }}
        />
      ))}
    </>
  );
}
