// Demo actor "concierge": delegates, ends instead of waiting, and sums up. It is a script without a
// model; it reads its prompt as a model would and does what PROTOCOL.md tells actors to do.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const PEERS: Record<string, string> = {
  languages: 'Which languages is the repository written in, and how many lines of each?',
  history: 'What does the history of the repository tell?',
  marks: 'Which open marks (TODO and the like) does the repository hold?',
  structure: 'How is the repository structured?',
};

const prompt = readFileSync(0, 'utf8');
const asked = [...prompt.matchAll(/^> concierge \(you\) to (\S+) \(ref: (\S+?\.md)/gm)];

if (asked.length === 0) {
  // The question has arrived: give each peer its part and end. Their answers start this actor
  // again.
  for (const [peer, task] of Object.entries(PEERS)) crosstalk('send', '--to', peer, task);
} else {
  // An answer has arrived: the thread shows the actors that were asked. Print nothing until all have
  // answered.
  const refs = asked.map(([, , ref = '']) => ref);
  const replies = JSON.parse(crosstalk('replies', '--json', ...refs)) as {
    state: string;
    replies: { from: string; body: string }[];
  }[];
  if (replies.every(({ state }) => state === 'REPLIED')) {
    const lines = replies.flatMap(({ replies: list }) =>
      list.map(({ from, body }) => `- ${from}: ${body.trim()}`),
    );
    process.stdout.write(`What is in this repository:\n\n${lines.join('\n')}\n`);
  }
}

function crosstalk(...args: string[]): string {
  return execFileSync('crosstalk', args, { encoding: 'utf8' });
}
