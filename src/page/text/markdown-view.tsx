import type { ComponentChildren, JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { MARKDOWN_LIMIT, tokensOf, treeOf, type Node, safeLink } from './markdown.ts';
import { Link } from '../route/link.tsx';

/**
 * The text of a message. Elements are created individually from a fixed list, and text always stays
 * text, so that nothing in a message can become markup (invariant 7).
 *
 * @param props.channel the channel in which message paths in the text are looked up; without it they are only text
 */
export function Markdown({
  text,
  channel,
}: {
  text: string;
  channel?: string | undefined;
}): JSX.Element {
  const nodes = useMemo(
    () => (text.length > MARKDOWN_LIMIT ? undefined : treeOf(tokensOf(text))),
    [text],
  );
  if (nodes === undefined)
    return (
      <pre class="md md-plain" dir="auto">
        {text}
      </pre>
    );
  return <div class="md">{shownAll(nodes, { channel })}</div>;
}

/** Place of a part of a text. */
interface Place {
  channel: string | undefined;
  /** Set in a link, where links of other kinds are only text: browsers follow one link alone. */
  link?: 'around';
  /** Set in a list, whose direction its items share. */
  list?: 'around';
}

function shownAll(nodes: readonly Node[], place: Place): ComponentChildren[] {
  return nodes.map((node) => shown(node, place));
}

/** Tokens that are rendered as the element of the same name, without their attributes. */
const PLAIN = new Set(
  'p strong em s blockquote ul li table thead tbody tr hr br code'.split(' ').map(String),
);

const LISTS: readonly string[] = ['ul', 'ol'];

function shown(node: Node, place: Place): ComponentChildren {
  const { token, children } = node;
  const isList = LISTS.includes(token.tag);
  const inside = (): ComponentChildren[] =>
    shownAll(children, isList ? { ...place, list: 'around' } : place);
  // The direction of a block follows its first letter, as people write in many scripts.
  const isDirected = isList || (token.tag === 'p' && place.list === undefined);
  switch (token.type) {
    case 'inline':
      return inside();
    case 'text':
      if (place.link !== undefined || place.channel === undefined) return token.content;
      return <References text={token.content} channel={place.channel} />;
    case 'softbreak':
      return '\n';
    case 'code_inline':
      return <code>{token.content}</code>;
    case 'code_block':
    case 'fence':
      return <Code text={token.content} />;
    case 'heading_open':
      // All headings are below the heading of the message, at any level that its writer chose.
      return (
        <h3 class={`md-${token.tag}`} dir="auto">
          {inside()}
        </h3>
      );
    case 'link_open':
      return (
        <Out href={attribute(token, 'href')}>
          {shownAll(children, { ...place, link: 'around' })}
        </Out>
      );
    case 'image': {
      const words = `🖼 ${token.content === '' ? 'image' : token.content}`;
      return place.link === undefined ? <Out href={attribute(token, 'src')}>{words}</Out> : words;
    }
    case 'ordered_list_open':
      return (
        <ol start={Number(token.attrGet('start') ?? 1)} dir="auto">
          {inside()}
        </ol>
      );
    case 'th_open':
    case 'td_open': {
      const side = /right|center/.exec(attribute(token, 'style'))?.[0];
      const Cell = token.tag === 'th' ? 'th' : 'td';
      return (
        <Cell dir="auto" {...(side !== undefined && { class: `md-${side}` })}>
          {inside()}
        </Cell>
      );
    }
    case 'table_open':
      return (
        <div class="md-wide" role="group" aria-label="table" tabIndex={0}>
          <table>{inside()}</table>
        </div>
      );
    default:
      return element(token.tag, token.content, inside(), isDirected ? { dir: 'auto' } : {});
  }
}

function attribute(token: Node['token'], name: string): string {
  return String(token.attrGet(name) ?? '');
}

function element(
  tag: string,
  content: string,
  inside: ComponentChildren[],
  attributes: { dir?: 'auto' },
): ComponentChildren {
  if (!PLAIN.has(tag)) return content === '' ? inside : content;
  const Tag = tag as 'p';
  if (inside.length === 0) return <Tag />;
  return <Tag {...attributes}>{inside}</Tag>;
}

function Code({ text }: { text: string }): JSX.Element {
  return (
    <pre tabIndex={0} role="group" aria-label="code">
      <code>{text}</code>
    </pre>
  );
}

/** A link to another site, or only its text if it may not be followed. */
function Out({ href, children }: { href: string; children?: ComponentChildren }): JSX.Element {
  const safe = safeLink(href);
  if (safe === undefined) return <>{children}</>;
  return (
    <a href={safe} rel="noopener noreferrer" target="_blank" title={safe}>
      {children}
    </a>
  );
}

const REL_PATH = /(\d{4}\/\d{2}\/\d{2}\/\d{9}Z-[0-9a-f]{8,64}\.md)/;

/** A text in which the paths of messages are links to them. */
function References({ text, channel }: { text: string; channel: string }): JSX.Element {
  const parts = text.split(REL_PATH);
  if (parts.length === 1) return <>{text}</>;
  const shown = parts.map((part, at): ComponentChildren =>
    at % 2 === 0 ? part : <Link to={{ view: 'message', channel, relPath: part }}>{part}</Link>,
  );
  return <>{shown}</>;
}
