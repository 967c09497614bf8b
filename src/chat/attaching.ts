import { sizeInWords } from '../protocol/attached.ts';
import { oneLine } from './clean.ts';
import { noticed, step, type ChatState, type Step } from './model.ts';
import type { Attachment } from './port.ts';

/** Reads a file to attach; without one, shows the attached files, and after `-` drops them. */
export function attachedFile(state: ChatState, argument: string): Step {
  const { attached } = state;
  if (argument !== '' && argument !== '-') {
    const reading = { ...state, reading: state.reading + 1 };
    return step(reading, { do: 'attach', file: argument, waiting: attached });
  }
  if (attached.length === 0)
    return step(noticed(state, 'no file waits; attach one with /attach <file>', 'plain'));
  if (argument === '-')
    return step(noticed({ ...state, attached: [] }, `dropped: ${names(attached)}`, 'plain'));
  const lines = attached.map(({ file }) => `${nameAndSize(file)}  ${file.type}`);
  return step({ ...state, panel: { title: 'with the next message', lines, top: 0 } });
}

/** Adds a file that was read: it waits for the next message. */
export function withFile(state: ChatState, attachment: Attachment): ChatState {
  return { ...state, reading: state.reading - 1, attached: [...state.attached, attachment] };
}

/** Restores the files of a message that could not be sent: they wait again. */
export function restored(state: ChatState, attached: readonly Attachment[] = []): ChatState {
  return { ...state, attached: [...attached, ...state.attached] };
}

export function withoutFiles(state: ChatState): ChatState {
  return { ...state, attached: [] };
}

/** Returns the part of a message with its files. */
export function forMessage({ attached }: ChatState): { attached?: readonly Attachment[] } {
  return attached.length === 0 ? {} : { attached };
}

/** Keeps the typed text, because a file that is being read would miss its message. */
export function waitsForFile(state: ChatState): Step {
  return step(noticed(state, 'a file is still being read; press Enter again', 'bad'));
}

/** Returns the line above the input; undefined when nothing is attached. */
export function attachedLine({ attached }: ChatState): string | undefined {
  return attached.length === 0 ? undefined : `with: ${names(attached)}`;
}

function names(attached: readonly Attachment[]): string {
  return attached.map(({ file }) => nameAndSize(file)).join('; ');
}

function nameAndSize({ name, bytes }: Attachment['file']): string {
  return `${oneLine(name)}, ${sizeInWords(bytes)}`;
}
