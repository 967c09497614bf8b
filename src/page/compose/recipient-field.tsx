import type { JSX } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { completed, listed, suggested, typingAt } from './recipients.ts';

interface Props {
  value: string;
  onChange: (value: string) => void;
  /** The names one can write to. */
  known: readonly string[];
  problem: string | undefined;
  readOnly: boolean;
}

/** The number of names that are offered at once. */
const OFFERED = 8;

/** The field for a message's recipients: names, completed from the actors that hosts serve. */
export function RecipientField({ value, onChange, known, problem, readOnly }: Props): JSX.Element {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const caret = input.current?.selectionStart ?? value.length;
  const typing = typingAt(value, caret);
  const taken = listed(value).filter((name) => name !== typing.text);
  const all = open ? suggested(typing.text, known, taken) : [];
  const offers = all.slice(0, OFFERED);
  const more = all.length - offers.length;
  const shown = offers.length > 0 && !(offers.length === 1 && offers[0] === typing.text);

  const take = (name: string): void => {
    const next = completed(value, typing, name);
    onChange(next.text);
    setOpen(false);
    const element = input.current;
    if (element === null) return;
    element.focus();
    // At once, since the text typed next belongs behind it.
    element.value = next.text;
    element.setSelectionRange(next.caret, next.caret);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move !== undefined) {
      if (shown) setChosen((chosen + move + offers.length) % offers.length);
      setOpen(true);
      event.preventDefault();
    } else if (shown && (event.key === 'Enter' || event.key === 'Tab')) {
      const name = offers[chosen];
      if (name === undefined || event.shiftKey) return;
      take(name);
      event.preventDefault();
    } else if (event.key === 'Escape' && shown) {
      setOpen(false);
      event.preventDefault();
    }
  };
  return (
    <div class="recipients">
      <label for={id}>To</label>
      <input
        id={id}
        ref={input}
        value={value}
        readOnly={readOnly}
        placeholder="a name, name@host, all"
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={shown}
        aria-controls={`${id}-offers`}
        aria-describedby={`${id}-problem ${id}-more`}
        aria-invalid={problem !== undefined}
        {...(shown && { 'aria-activedescendant': `${id}-${String(chosen)}` })}
        onInput={(event) => {
          onChange(event.currentTarget.value);
          setChosen(0);
          setOpen(true);
        }}
        onFocus={() => {
          setOpen(value === '');
        }}
        onBlur={() => {
          setOpen(false);
        }}
        onKeyDown={onKeyDown}
      />
      <div class="offers" hidden={!shown}>
        <ul class="plain" role="listbox" id={`${id}-offers`} aria-label="Recipients">
          {offers.map((name, index) => (
            <li
              key={name}
              id={`${id}-${String(index)}`}
              role="option"
              aria-selected={index === chosen}
              // This has to happen before the field loses the focus.
              onMouseDown={(event) => {
                event.preventDefault();
                take(name);
              }}
            >
              {name}
            </li>
          ))}
        </ul>
        <p class="dim" id={`${id}-more`}>
          {more > 0 && `${String(more)} more: type another letter`}
        </p>
      </div>
      <span class="aside" id={`${id}-problem`}>
        {problem}
      </span>
    </div>
  );
}
