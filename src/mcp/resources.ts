import { CrosstalkError } from '../errors.ts';
import { messageJson, memoryJson, readMessageJson } from '../actions/shapes/as-json.ts';
import { tipOf } from '../actions/context.ts';
import { log } from '../actions/reading/log.ts';
import { showMemory } from '../actions/memory/list.ts';
import { shownMessage } from '../actions/reading/read.ts';
import { shown } from '../protocol/text/result.ts';
import { opening } from './kit/call.ts';
import type { Sdk, Server, ServerSurroundings } from './kit/tool.ts';
import { markedMessage, oneLine, Untrusted } from './kit/untrusted.ts';

const SCHEME = 'crosstalk://';
const CHANNEL = `${SCHEME}channel/`;
const JSON_TYPE = 'application/json';
/** The number of messages in a channel's resource. */
const NEWEST = 30;

/** Returns the URI of a channel's resource. */
export function channelUri(id: string): string {
  return `${CHANNEL}${id}`;
}

/** Returns the channel that a URI names; undefined for any other URI. */
export function channelOf(uri: string): string | undefined {
  const id = uri.startsWith(CHANNEL) ? uri.slice(CHANNEL.length) : '';
  return /^[0-9a-f-]{36}$/.test(id) ? id : undefined;
}

/**
 * Offers channels, messages and memories as resources: channels are listed, and all three have
 * templates.
 */
export function registerResources(
  { ResourceTemplate }: Sdk,
  server: Server,
  surroundings: ServerSurroundings,
  note: (line: string) => void,
): void {
  const open = opening(surroundings, note);
  const text = (uri: URL, result: object, marks: Untrusted) => ({
    contents: [
      {
        uri: uri.href,
        mimeType: JSON_TYPE,
        text: JSON.stringify(marks.finish(result, [])),
      },
    ],
  });
  server.registerResource(
    'channel',
    new ResourceTemplate(`${CHANNEL}{id}`, {
      list: () =>
        open(async (context) => {
          const channels = await context.reader.channels(await tipOf(context));
          return {
            resources: channels.map(({ id, name }) => ({
              uri: channelUri(id),
              name: `#${oneLine(name)}`,
              mimeType: JSON_TYPE,
            })),
          };
        }),
    }),
    { title: 'Channel', description: 'the newest messages of a channel', mimeType: JSON_TYPE },
    async (uri, { id }, { signal }) => {
      const marks = new Untrusted();
      const channel = one(uri, id);
      const result = await open(async (context) => {
        const { entries } = await log(context, { channel, limit: NEWEST, signal });
        return {
          channel: entries[0]?.channel.id ?? channel,
          messages: entries.map((entry) => markedMessage(marks, messageJson(entry))),
        };
      });
      return text(uri, result, marks);
    },
  );
  server.registerResource(
    'message',
    new ResourceTemplate(`${SCHEME}message/{channel}/{+relPath}`, { list: undefined }),
    { title: 'Message', description: 'one message whole', mimeType: JSON_TYPE },
    async (uri, { channel, relPath }) => {
      const marks = new Untrusted();
      const wanted = `${one(uri, channel)}/${one(uri, relPath)}`;
      const read = await open(async (context) =>
        readMessageJson(await shownMessage(context, wanted)),
      );
      return text(uri, markedMessage(marks, read), marks);
    },
  );
  server.registerResource(
    'memory',
    new ResourceTemplate(`${SCHEME}memory/{file}`, { list: undefined }),
    { title: 'Shared note', description: 'one shared note whole', mimeType: JSON_TYPE },
    async (uri, { file }) => {
      const marks = new Untrusted();
      const found = await open((context) => showMemory(context, one(uri, file)));
      const json = memoryJson(found);
      const marked = {
        subject: marks.mark(json.subject, json.from),
        body: marks.mark(found.memory.body, json.from, () => `crosstalk memory show ${json.file}`),
      };
      return text(uri, { ...json, ...marked }, marks);
    },
  );
}

function one(uri: URL, value: string | string[] | undefined): string {
  if (typeof value === 'string') return decodeURIComponent(value);
  throw new CrosstalkError('usage', `${shown(uri.href)} names no resource of this server`);
}
