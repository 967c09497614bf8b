import type { ExportedActor } from '../../protocol/files/exported-actor.ts';
import { namesSecret, type McpServer } from '../../protocol/files/mcp-servers.ts';
import { saidSecrets } from '../../protocol/text/found-secret.ts';
import { skillFolders } from '../../protocol/files/skill.ts';
import { profileFiles } from '../../protocol/layout.ts';
import type { Context } from '../context.ts';
import { knowSecrets } from '../setup/secrets.ts';

/** How variables, headers and options are called whose values are secret. */
const SECRET_NAME = /key|token|secret|passw|auth|credential|cookie/i;

/** Notes what in an actor that is given away looks like a secret; whoever gives it away decides. */
export async function noteSecrets(
  context: Context,
  { name, profile, skills }: Pick<ExportedActor, 'name' | 'profile' | 'skills'>,
  mcps: readonly McpServer[],
): Promise<void> {
  for (const server of mcps)
    for (const where of literalsIn(server))
      context.note(
        `the tool ${server.name} has a value of its own for ${where}, which is given away; if it is secret, keep it with crosstalk secret set <name>, and write \${<name>} in its place`,
      );
  await knowSecrets(context);
  const files = [
    { path: profileFiles(name)[0], content: profile },
    ...skills.flatMap((skill) =>
      skill.files.map(({ path, content }) => ({
        path: `${skillFolders(skill.name)[0]}/${path}`,
        content,
      })),
    ),
  ];
  const author = { name: '', email: '' };
  const found = await context.screen.look({ commits: [{ author, at: '', subject: '', files }] });
  if (found.length > 0)
    context.note(`what is given away looks like a secret: ${saidSecrets(found)}`);
}

/** The names of variables, headers and options that look as if their values were secret. */
function literalsIn(server: McpServer): string[] {
  const texts = 'command' in server ? server.env : server.headers;
  const named = Object.entries(texts)
    .filter(([name, value]) => SECRET_NAME.test(name) && !namesSecret(value))
    .map(([name]) => name);
  const options = 'command' in server ? server.args.filter((one) => one.startsWith('-')) : [];
  const words = options.map((one) => one.split('=', 1).join());
  return [...named, ...words.filter((one) => SECRET_NAME.test(one))];
}
