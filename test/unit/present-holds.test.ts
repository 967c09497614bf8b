import { expect, it } from 'vitest';
import { unreadableLine } from '../../src/present/holds.ts';
import { failed } from '../../src/transport/git/git.ts';

it('however many host files cannot be read, one line names some of them', () => {
  expect(unreadableLine(['hosts/a.md'], 'reviewer')).toBe(
    'hosts/a.md cannot be read, so whether its host serves reviewer is not known',
  );
  const many = Array.from({ length: 1000 }, (_, at) => `hosts/h${String(at)}.md`);
  const line = unreadableLine(many, 'reviewer');
  expect(line).toMatch(/hosts\/h7\.md and 992 more cannot be read, so whether one of their hosts/);
  expect(line.length).toBeLessThan(300);
});

it('a git that cannot be started is no fault of the repository', () => {
  const said = (kind: 'not_started' | 'other'): string =>
    failed('/bus', 'init', { kind, reason: 'spawn git ENOENT' }).message;
  expect(said('not_started')).toMatch(/; see whether git is on the PATH, with: git --version$/);
  expect(said('other')).toMatch(/; check the repository with: git -C \/bus fsck$/);
});
