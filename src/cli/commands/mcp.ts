import { serve } from '../../mcp/serve.ts';
import { given, inTransport, note, type Call } from '../command.ts';
import { EXIT } from '../exit.ts';

export async function run(call: Call): Promise<number> {
  const { io } = call;
  // A client shows why a server did not start, and not what its first call said.
  const transport = await inTransport(call, async (context) => context.transport.dir);
  if (process.stdin.isTTY)
    note(
      call,
      'this speaks MCP and waits for a client; enter it in one with: crosstalk mcp --install <client>',
    );
  await serve(
    { env: io.env, cwd: io.cwd, transport, login: io.login, ...given(call, 'from') },
    { input: process.stdin, output: process.stdout },
    io.stop,
    (line) => {
      note(call, line);
    },
  );
  return EXIT.ok;
}
