import { knownActors } from '../operations/setup/actors.ts';
import { templateFiles } from '../operations/setup/template.ts';
import { OPERATOR_FILE } from '../protocol/layout.ts';
import { opening } from './kit/call.ts';
import type { GetPromptResult } from './kit/sdk.ts';
import type { Sdk, Server, ServerSurroundings } from './kit/tool.ts';

/** Explains to a client of this server how to read what OPERATOR.md says about commands. */
const WITH_TOOLS = `# With the tools of this server

You have the tools of the MCP server "crosstalk". Where the text below names a command, use the tool:
\`crosstalk send\` is send, \`crosstalk reply\` is reply, \`crosstalk cancel\` is cancel, \`crosstalk inbox\`
is inbox (with the operator's name), \`crosstalk replies --wait\` is wait, \`crosstalk replies\` is replies,
\`crosstalk status\` is status, \`crosstalk actor list\` is actors, \`crosstalk channel list\` is channels,
\`crosstalk dlq\` is dlq_list, \`crosstalk dlq --retry\` is dlq_retry. What has no tool is for the operator
to do in a terminal: tell them the command.
`;

function asUser(text: string): GetPromptResult {
  return { messages: [{ role: 'user', content: { type: 'text', text } }] };
}

/** Offers operator mode and a question to an actor as prompts. */
export function registerPrompts(
  { completable, z }: Sdk,
  server: Server,
  surroundings: ServerSurroundings,
): void {
  server.registerPrompt(
    'operator',
    {
      title: 'Operator mode',
      description: 'Make the model your assistant on the bus: what you wish becomes messages.',
    },
    async () => {
      // This version's own text, because anybody who can push may have edited the transport's.
      const files = await templateFiles('upstream');
      const operator = files.find(({ path }) => path === OPERATOR_FILE)?.content ?? '';
      return asUser(`${WITH_TOOLS}\n${operator}`);
    },
  );
  const names = (typed: string): Promise<string[]> =>
    opening(
      surroundings,
      () => undefined,
    )(async (context) =>
      (await knownActors(context)).map(({ name }) => name).filter((name) => name.startsWith(typed)),
    );
  server.registerPrompt(
    'ask',
    {
      title: 'Ask an actor',
      description: 'Ask an actor something and report the answer.',
      argsSchema: {
        name: completable(z.string().describe('the actor, as in concierge'), names),
        question: z.string().describe('what you want to know or have done'),
      },
    },
    ({ name, question }) =>
      asUser(
        `Send this to the actor "${name}" with the tool send, word for word, then call wait with the relPath it returned until the answer is there (for up to ten minutes), and tell me what ${name} says:\n\n${question}`,
      ),
  );
}
