import { toClipboard } from './clipboard.ts';
import type { ChatEvent, Effect } from './model.ts';
import { panel, reason, told } from './outcomes.ts';
import type { ChatPort } from './port.ts';

/** What is asked of the bus and leads to one event. */
export type Asking = Extract<
  Effect,
  {
    do:
      | 'inbox'
      | 'thread'
      | 'read'
      | 'search'
      | 'status'
      | 'retry'
      | 'cancel'
      | 'decide'
      | 'actors'
      | 'skills'
      | 'memory'
      | 'attach'
      | 'copy';
  }
>;

/** @param write writes to the terminal, without showing anything */
export async function ask(
  port: ChatPort,
  effect: Asking,
  write: (sequence: string) => void,
): Promise<ChatEvent> {
  switch (effect.do) {
    case 'inbox':
      return panel('inbox', await port.inbox());
    case 'thread':
      return panel('thread', await port.thread(effect.message));
    case 'read':
      return panel('message', await port.read(effect.message));
    case 'search':
      return panel(`search: ${effect.words}`, await port.search(effect.channel, effect.words));
    case 'status':
      return panel('status', await port.status());
    case 'retry':
      return told(await port.retry(effect.id));
    case 'cancel':
      return told(await port.cancel(effect.message));
    case 'decide':
      return told(await port.decide(effect.decision, effect.message, effect.note));
    case 'actors':
      return panel('actors', await port.actors());
    case 'skills':
      return { type: 'skills', skills: await port.skills() };
    case 'memory':
      return panel(
        effect.words === '' ? 'memory: the newest' : `memory: ${effect.words}`,
        await port.memory(effect.words),
      );
    case 'attach':
      return port.attach(effect.file, effect.waiting).then(
        (attachment): ChatEvent => ({ type: 'attached', attachment }),
        (error: unknown): ChatEvent => ({ type: 'notAttached', text: reason(error) }),
      );
    case 'copy': {
      const copied = toClipboard(await port.body(effect.message));
      if (!copied.ok) return { type: 'notice', text: copied.problem, bad: true };
      write(copied.sequence);
      return told(copied.said);
    }
  }
}
