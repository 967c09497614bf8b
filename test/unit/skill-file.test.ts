import fc from 'fast-check';
import { expect, it } from 'vitest';
import { whyNotBeside } from '../../src/bus/automation/skills.ts';
import { parseProfile } from '../../src/protocol/files/actor.ts';
import { MAX_SKILL_BYTES, parseSkill } from '../../src/protocol/files/skill.ts';
import { skillAskedFor } from '../../src/protocol/text/skill-call.ts';

const skill = (header: string, body = 'Read it.\n'): string => `---\n${header}\n---\n\n${body}`;

it('a SKILL.md in the open form is read, whatever other fields it has', () => {
  const text = skill(
    'name: review\ndescription: >\n  Reviews\n  a change.\nlicense: MIT\nallowed-tools: [Bash]\nhooks: {Stop: [{command: touch /tmp/x}]}',
  );
  expect(parseSkill(text, 'review')).toEqual({
    ok: true,
    value: { name: 'review', description: 'Reviews a change.', body: 'Read it.\n' },
  });
});

it.each([
  ['no frontmatter', 'Read it.', 'no frontmatter'],
  ['another name', skill('name: other\ndescription: d'), 'name is "other", expected "review"'],
  ['no name', skill('description: d'), 'name is missing'],
  ['no description', skill('name: review'), 'description is missing'],
  ['a list as description', skill('name: review\ndescription: [a]'), 'description is "["a"]"'],
  ['an escape sequence', skill('name: review\ndescription: "a\\x1b[2Jb"'), 'description is "a'],
  ['a long description', skill(`name: review\ndescription: ${'d'.repeat(1025)}`), 'at most 1024'],
  ['no text', skill('name: review\ndescription: d', ' \n'), 'no text below'],
  [
    'too many bytes',
    skill('name: review\ndescription: d', 'ä'.repeat(MAX_SKILL_BYTES / 2)),
    `more than ${String(MAX_SKILL_BYTES)}`,
  ],
  ['a program as frontmatter', '---js\n{name: "review"}\n---\nx', 'a frontmatter language'],
])('a SKILL.md with %s is refused with its reason', (_, text, reason) => {
  const parsed = parseSkill(text, 'review');
  expect(parsed.ok ? '' : parsed.problems.join('; ')).toContain(reason);
});

it.each([
  ['/review', 'review'],
  ['/review the last commit', 'review'],
  ['/review\nthe last commit', 'review'],
  ['/usr/bin is missing', undefined],
  [' /review', undefined],
  ['text\n/review', undefined],
  ['/Review', undefined],
  ['//review', undefined],
  ['/../../etc', undefined],
  ['/review, please', undefined],
  ['/', undefined],
  [`/${'a'.repeat(65)}`, undefined],
])('%j asks for the skill %j', (text, name) => {
  expect(skillAskedFor(text)).toBe(name);
});

it('no text makes a name that is more than one part of a path', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(skillAskedFor(`/${text}`) ?? 'none').toMatch(/^[a-z0-9][a-z0-9-]*$/);
    }),
  );
});

it.each([
  '.claude',
  '.MCP.json',
  'CLAUDE.md',
  'claude.MD',
  'AGENTS.md',
  'opencode.json',
  'Skill.md',
])('a file or folder called %s beside a skill is left out', (name) => {
  expect(whyNotBeside(name)).toBeDefined();
});

it.each(['..', 'a\nb', 'a\u202eb', 'caf\u00e9', '-rf', 'a.', 'a '])(
  'the name %j could be taken for another, and is left out',
  (name) => {
    expect(whyNotBeside(name)).toBeDefined();
  },
);

it.each(['scripts', 'check.py', 'two words.md', '_draft', 'package.json'])(
  'a file called %s is one of the skill',
  (name) => {
    expect(whyNotBeside(name)).toBeUndefined();
  },
);

it('a profile narrows the skills of its actor by a list, and nothing else is read as one', () => {
  const profile = (skills: string): string =>
    `---\nname: w\nskills: ${skills}\n---\n\nYou are w.\n`;
  expect(parseProfile(profile('[review, standup]'), 'w')).toMatchObject({
    value: { skills: ['review', 'standup'] },
  });
  expect(parseProfile(profile('[]'), 'w')).toMatchObject({ value: { skills: [] } });
  for (const wrong of ['review', '[../x]', '{a: b}'])
    expect(parseProfile(profile(wrong), 'w')).toMatchObject({
      problems: [expect.stringContaining('expected a list of names of skills')],
    });
});

it.each([
  ['Use it. Triggers on: x', 'Use it. Triggers on: x'],
  ['Say "yes": or no', 'Say "yes": or no'],
])('a description with a second colon is read as a text: %s', (line, description) => {
  const read = parseSkill(`---\nname: sort\ndescription: ${line}\n---\nSort.\n`, 'sort');
  expect(read).toMatchObject({ ok: true, value: { description } });
});

it('what cannot be a text without quotes is refused with how to write it', () => {
  const read = parseSkill('---\nname: sort\ndescription: Use: it\n  more: x\n---\nSort.\n', 'sort');
  expect(read).toMatchObject({
    ok: false,
    problems: [expect.stringMatching(/; put the value in quotes$/)],
  });
});
