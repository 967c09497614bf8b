import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { packageRoot } from '../../package.ts';
import { shown } from '../../protocol/text/result.ts';

/** A topic that runs can read about: more than their prompt says, at no cost until one asks. */
export interface GuideTopic {
  topic: string;
  /** Its heading. */
  title: string;
  /** Markdown, with the heading. */
  text: string;
}

/** Returns the guide for runs, by topic in alphabetical order. It comes with the program and never from a transport. */
export async function guideTopics(): Promise<GuideTopic[]> {
  const dir = join(packageRoot(), 'docs', 'runs');
  const names = (await readdir(dir)).filter((name) => name.endsWith('.md')).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(dir, name), 'utf8');
      const title = (text.split('\n')[0] ?? '').replace(/^# /, '');
      return { topic: name.slice(0, -'.md'.length), title, text };
    }),
  );
}

/** @throws CrosstalkError `not_found` for a topic that is not there, with those that are */
export async function guideOn(topic: string): Promise<GuideTopic> {
  const topics = await guideTopics();
  const found = topics.find((one) => one.topic === topic);
  if (found !== undefined) return found;
  const names = topics.map((one) => one.topic).join(', ');
  throw new CrosstalkError('not_found', `no topic ${shown(topic)} in the guide; it has ${names}`);
}
