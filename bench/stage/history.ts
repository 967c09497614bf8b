import { messageFile, relPathAt } from '../../src/protocol/layout.ts';
import { formatMessage } from '../../src/protocol/message.ts';

const TOPICS = [
  'What changed in `dispatcher/retries.ts` since Monday?',
  'Which of our services have no health check?',
  'Summarise the incident of last night in **three** lines.',
  'Is the nightly backup of *billing* older than a day?',
  'Look at the flaky test in `e2e/window` and say what it waits for.',
  'How many requests failed in the last hour, and where?',
];
const ANSWERS = [
  'The first retry now waits `2s`, each one after it four times as long, at most 15 min.',
  'Two of them: **billing** and **mail**. Both answer on `/` but not on `/health`.',
  '1. 02:14 the disk of *mail* was full.\n2. Nothing was lost, 12 messages waited.\n3. Logs rotate by size since 03:00.',
  'No: it is from 04:00 this morning, 1.2 GB, and was read back once.',
  'It waits for a file that is written *before* it begins to look. I would look first.',
  '17, all of them at `/v1/export`, all with a timeout.',
];
const ASKERS = ['anna', 'anna', 'ben'];
const ACTORS = ['concierge', 'tester', 'librarian'];

/** Questions and answers of some hours, as files: the content of a bus on an ordinary day. */
export function historyFiles(channel: string, now: number, hours: number): Record<string, string> {
  const files: Record<string, string> = {};
  const write = (
    at: number,
    n: number,
    fields: { from: string; to: string; body: string; re?: string[]; host?: string },
  ): string => {
    const when = new Date(at);
    const relPath = relPathAt(when, n.toString(16).padStart(12, '0'));
    const { from, to, body, re = [], host } = fields;
    files[messageFile(channel, relPath)] = formatMessage({
      from,
      to: [{ name: to }],
      type: 'text',
      timestamp: when.toISOString(),
      re,
      cause: [],
      ...(host !== undefined && { host }),
      extra: {},
      body: `${body}\n`,
    });
    return relPath;
  };
  const count = hours * 5;
  for (let n = 0; n < count; n++) {
    // The times are irregular, and the same for every run.
    const asked = now - ((count - n) * hours * 3_600_000) / count + ((n * 37) % 11) * 20_000;
    const took = 20_000 + ((n * 53) % 17) * 18_000 * (n % 7 === 3 ? 4 : 1);
    const from = ASKERS[n % ASKERS.length] ?? 'anna';
    const to = ACTORS[(n * 5) % ACTORS.length] ?? 'concierge';
    const question = write(asked, 2 * n, { from, to, body: TOPICS[n % TOPICS.length] ?? '' });
    if (asked + took > now) continue;
    const body = ANSWERS[n % ANSWERS.length] ?? '';
    const host = to === 'concierge' ? 'laptop' : 'server';
    write(asked + took, 2 * n + 1, { from: to, to: from, body, re: [question], host });
  }
  return files;
}
