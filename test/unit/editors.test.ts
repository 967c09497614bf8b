import { describe, expect, it } from 'vitest';
import { withHeader } from '../../src/actions/setup/hosts.ts';
import { parseSchedule } from '../../src/protocol/automation/schedule.ts';
import { parseSubscription } from '../../src/protocol/automation/subscription.ts';
import { parseProfile } from '../../src/protocol/files/actor.ts';
import { parseChannel } from '../../src/protocol/files/channel.ts';
import { parseHostFile } from '../../src/protocol/files/host-file.ts';
import { parseMemory } from '../../src/protocol/files/memory.ts';
import { parseSkill } from '../../src/protocol/files/skill.ts';
import { parseMessage } from '../../src/protocol/message.ts';

const HOST = 'alias: mac\nactors:\n  a:\n    default: run\n';

/** A file of each kind, by its header, and how it is read. */
const KINDS: [kind: string, header: string, read: (text: string) => unknown][] = [
  [
    'message',
    'from: a\nto: b\ntype: text\ntimestamp: 2026-01-01T00:00:00.000Z\n',
    (text) => parseMessage(Buffer.from(text)),
  ],
  ['host file', HOST, parseHostFile],
  ['channel', 'name: general\n', (text) => parseChannel(text, 'c')],
  ['profile', 'name: a\ndescription: d\n', (text) => parseProfile(text, 'a')],
  ['skill', 'name: sort\ndescription: d\n', (text) => parseSkill(text, 'sort')],
  ['memory', 'from: a\ntimestamp: 2026-01-01T00:00:00.000Z\nsubject: t\n', parseMemory],
  ['schedule', 'cron: 0 9 * * *\nhost: mac\nto: a\n', (text) => parseSchedule(text, 's')],
  ['subscription', 'source: answer:b\nto: a\n', (text) => parseSubscription(text, 's')],
];

/** What an editor leaves in a file that nobody sees. */
const LEFT: [what: string, leave: (text: string) => string][] = [
  ['a byte order mark', (text) => `\ufeff${text}`],
  ['blanks behind the first line', (text) => text.replace('---\n', '---  \t\n')],
  ['blanks behind the line that closes the header', (text) => text.replace('\n---\n', '\n--- \n')],
  ['line ends of Windows', (text) => text.replaceAll('\n', '\r\n')],
  ['all of them', (text) => `\ufeff${text.replaceAll('---\n', '--- \n').replaceAll('\n', '\r\n')}`],
];

const lineEnds = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll('\\r', ''));

describe.each(KINDS)('a %s', (_kind, header, read) => {
  const plain = `---\n${header}---\n\nsome text\n`;

  it.each(LEFT)('is read with %s', (_what, leave) => {
    expect(read(plain)).toMatchObject({ ok: true });
    expect(lineEnds(read(leave(plain)))).toEqual(lineEnds(read(plain)));
    expect(JSON.stringify(read(leave(plain)))).not.toContain('frontmatter');
  });
});

it.each(LEFT)('a host file is changed and read with %s', (_what, leave) => {
  const text = leave(`---\n${HOST}---\n\nnotes\n`);
  const changed = withHeader(text, (header) => {
    header.set('alias', 'tower');
  });
  expect(parseHostFile(changed)).toMatchObject({ ok: true, value: { alias: 'tower' } });
  expect(changed.trim().endsWith('notes')).toBe(true);
  expect(changed.startsWith('\ufeff')).toBe(text.startsWith('\ufeff'));
});
