import type { JSX, RefObject } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { WebSkill } from '../../api/api.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { skillsFor, skillTyped, useSkills, withSkill } from './skill-offers.ts';

interface Props {
  id: string;
  field: RefObject<HTMLTextAreaElement | null>;
  value: string;
  onChange: (value: string) => void;
  /** Ctrl+Enter. */
  onSend: () => void;
  rows: number;
  placeholder: string;
  hidden?: boolean;
  readOnly?: boolean;
}

/** The number of skills that are offered at once. */
const OFFERED = 6;

/** The field for the text of a message. At its beginning, after `/`, the names of skills are completed. */
export function TextField(props: Props): JSX.Element {
  const { id, field, value, onChange, onSend, hidden = false, readOnly = false } = props;
  const offersId = useId();
  const [caret, setCaret] = useState<number | undefined>(undefined);
  const [chosen, setChosen] = useState(0);
  const typed = caret === undefined || readOnly ? undefined : skillTyped(value, caret);
  const skills = useSkills(typed !== undefined);
  const offers = typed === undefined ? [] : skillsFor(typed, skills).slice(0, OFFERED);
  const isWhole = offers.length === 1 && offers[0]?.name === typed;
  const shown = isWhole || hidden ? [] : offers;
  const look = ({ currentTarget }: { currentTarget: HTMLTextAreaElement }): void => {
    const { selectionStart, selectionEnd } = currentTarget;
    setCaret(selectionStart === selectionEnd ? selectionStart : undefined);
  };
  const take = (skill: WebSkill): void => {
    const next = withSkill(value, caret ?? 0, skill.name);
    onChange(next.text);
    setCaret(undefined);
    const element = field.current;
    if (element === null) return;
    element.focus();
    // At once, since the text typed next belongs behind it.
    element.value = next.text;
    element.setSelectionRange(next.caret, next.caret);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const isWithControl = event.ctrlKey || event.metaKey;
    if (event.key === 'Enter' && isWithControl) {
      event.preventDefault();
      onSend();
      return;
    }
    const skill = shown[chosen];
    if (skill === undefined || isWithControl || event.altKey || event.shiftKey) return;
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move !== undefined) setChosen((chosen + move + shown.length) % shown.length);
    else if (event.key === 'Enter' || event.key === 'Tab') take(skill);
    else if (event.key === 'Escape') setCaret(undefined);
    else return;
    event.preventDefault();
  };
  return (
    <div class="text-field">
      <textarea
        id={id}
        ref={field}
        dir="auto"
        hidden={hidden}
        rows={props.rows}
        value={value}
        readOnly={readOnly}
        placeholder={props.placeholder}
        {...(shown.length > 0 && {
          'aria-autocomplete': 'list' as const,
          'aria-controls': offersId,
          'aria-activedescendant': `${offersId}-${String(chosen)}`,
        })}
        onInput={(event) => {
          onChange(event.currentTarget.value);
          setChosen(0);
          look(event);
        }}
        onClick={look}
        onBlur={() => {
          setCaret(undefined);
        }}
        onKeyDown={onKeyDown}
      />
      <div class="offers" hidden={shown.length === 0}>
        <ul class="plain" role="listbox" id={offersId} aria-label="Skills">
          {shown.map((skill, index) => (
            <li
              key={skill.name}
              id={`${offersId}-${String(index)}`}
              role="option"
              aria-selected={index === chosen}
              // This has to happen before the field loses the focus.
              onMouseDown={(event) => {
                event.preventDefault();
                take(skill);
              }}
            >
              <span class="mono">/{skill.name}</span>{' '}
              <bdi class="dim">{escapeInvisible(skill.description)}</bdi>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
