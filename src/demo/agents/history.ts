// Demo actor "history": reads the log of the repository. It is a script without a model.
import { git, plural } from './repository.ts';

const log = git('log', '--format=%an%x09%ad%x09%s', '--date=short');
if (log === undefined || log.trim() === '') {
  process.stdout.write('There is no git history here.\n');
} else {
  const commits = log
    .trim()
    .split('\n')
    .map((line) => line.split('\t'));
  const authors = new Set(commits.map(([author]) => author));
  const [, newest = '', subject = ''] = commits[0] ?? [];
  const oldest = commits.at(-1)?.[1] ?? '';
  process.stdout.write(
    `${plural(commits.length, 'commit')} by ${plural(authors.size, 'author')}, ${oldest} to ${newest}; the last one: "${subject}".\n`,
  );
}
