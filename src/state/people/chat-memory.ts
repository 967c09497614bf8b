import { isRecord, readJson, writeWhole } from '../files.ts';

/** State that a chat keeps from one session to the next. */
export interface ChatMemory {
  /** The sent texts, the oldest first. */
  history: string[];
  /** The texts that were typed and not sent, by id of the channel. */
  drafts: Record<string, string>;
  /** The newest relPath that was on the screen, by id of the channel. */
  seen: Record<string, string>;
}

const MAX_HISTORY = 500;

/** Reads the file; a file that cannot be read counts as empty. */
export async function loadChatMemory(path: string): Promise<ChatMemory> {
  const { value } = (await readJson(path)) ?? {};
  if (!isRecord(value)) return { history: [], drafts: {}, seen: {} };
  const { history } = value;
  return {
    history: Array.isArray(history) ? history.filter((line) => typeof line === 'string') : [],
    drafts: texts(value['drafts']),
    seen: texts(value['seen']),
  };
}

/** Writes the file, with the newest part of the history. */
export function saveChatMemory(path: string, memory: ChatMemory): Promise<void> {
  const history = memory.history.slice(-MAX_HISTORY);
  return writeWhole(path, `${JSON.stringify({ ...memory, history }, undefined, 1)}\n`);
}

function texts(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {};
  const pairs = Object.entries(value).filter(
    (pair): pair is [string, string] => typeof pair[1] === 'string',
  );
  return Object.fromEntries(pairs);
}
