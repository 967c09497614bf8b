import type { JSX } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Draft } from '../live/drafts.ts';
import { SchemaField } from './schema-field.tsx';
import { offeredBy } from './sending.ts';

interface Props {
  draft: Pick<Draft, 'options' | 'schema'>;
  onChange: (patch: Partial<Draft>) => void;
  readOnly: boolean;
}

/**
 * Settings that few messages need, folded: the answers that a message offers, and the form of its answer. Its label
 * states its content, so that nothing is sent unseen.
 */
export function More({ draft, onChange, readOnly }: Props): JSX.Element {
  const held = inWords(draft);
  // Only at first: after that it is as its reader leaves it.
  const [isOpen] = useState(held !== '');
  return (
    <details class="extras" open={isOpen}>
      <summary>
        More<span class="dim">{held}</span>
      </summary>
      <Options
        options={draft.options}
        onChange={(options) => {
          onChange({ options });
        }}
        readOnly={readOnly}
      />
      <SchemaField
        value={draft.schema}
        onChange={(schema) => {
          onChange({ schema });
        }}
        readOnly={readOnly}
      />
    </details>
  );
}

function inWords(draft: Props['draft']): string {
  const count = offeredBy(draft).length;
  const parts = [
    ...(count > 0 ? [count === 1 ? '1 option' : `${String(count)} options`] : []),
    ...(draft.schema.trim() === '' ? [] : ['a JSON Schema']),
  ];
  return parts.length === 0 ? '' : `: ${parts.join(' and ')}`;
}

interface OptionsProps {
  options: readonly string[];
  onChange: (options: string[]) => void;
  readOnly: boolean;
}

/** Fields for the answers from which the addressees may choose by number. */
function Options({ options, onChange, readOnly }: OptionsProps): JSX.Element {
  const id = useId();
  const place = useRef<HTMLFieldSetElement>(null);
  const added = useRef(false);
  const focusOn = (at: number): void => {
    place.current?.querySelectorAll('input')[at]?.focus();
  };
  // As soon as the new field is there, so that not even the next key goes elsewhere.
  useLayoutEffect(() => {
    if (added.current) focusOn(options.length - 1);
    added.current = false;
  }, [options.length]);
  const add = (): void => {
    added.current = true;
    onChange([...options, '']);
  };
  return (
    <fieldset ref={place} aria-describedby={`${id}-hint`}>
      <legend>Options</legend>
      <p class="dim" id={`${id}-hint`}>
        Short answers, from which one is chosen by its number.
      </p>
      {options.map((option, at) => (
        <div class="option" key={at}>
          <input
            dir="auto"
            value={option}
            readOnly={readOnly}
            aria-label={`Option ${String(at + 1)}`}
            onInput={({ currentTarget: { value } }) => {
              onChange(options.map((one, index) => (index === at ? value : one)));
            }}
            onKeyDown={(event) => {
              // Enter would send the message; here it leads on, as in any list.
              if (event.key !== 'Enter' || event.ctrlKey || event.metaKey) return;
              event.preventDefault();
              if (at + 1 < options.length) focusOn(at + 1);
              else add();
            }}
          />
          <button
            type="button"
            disabled={readOnly}
            aria-label={`Remove option ${String(at + 1)}`}
            onClick={() => {
              onChange(options.filter((_, index) => index !== at));
              // The focus would be lost with the button.
              place.current?.querySelector<HTMLElement>('.add')?.focus();
            }}
          >
            ×
          </button>
        </div>
      ))}
      <button type="button" class="add" disabled={readOnly} onClick={add}>
        Add an option
      </button>
    </fieldset>
  );
}
