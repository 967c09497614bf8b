import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import { openBrowser } from '../../web/browser.ts';
import { isLoopback } from '../../web/guard.ts';
import { serveWeb, type ServerAddress } from '../../web/serve.ts';
import type { Context } from '../../actions/context.ts';
import { nonEmpty } from '../../actions/lookup/resolve.ts';
import { flag, inTransport, note, text, type Call } from '../command/command.ts';
import { EXIT } from '../command/io.ts';
import type { CommandSpec } from '../command/spec.ts';

const PORT = '7777';

export const commands: readonly CommandSpec[] = [
  {
    name: 'web',
    summary: 'a live page of the whole bus, on this machine; Ctrl-C ends it',
    options: [
      ['--port <n>', 'where it listens (default: 7777); 0 for any that is free'],
      ['--host <address>', 'the address it listens on (default: 127.0.0.1, this machine alone)'],
      ['--public-url <url>', 'what a tunnel or proxy shows it as, like https://bus.example.org'],
      ['--token <token>', 'what lets a browser in (default: a random one, new at each start)'],
      ['--open', 'open it in the browser'],
      ['--read-only', 'let nobody write'],
      ['--allow-approve', 'let it approve and deny although other machines can reach it'],
    ],
    details:
      'Prints an address that has the token in it. Another --host than this machine takes a --token of your own. Behind a tunnel from another port, or a proxy, --public-url names what the browser is to open.',
    interrupt: 'clean',
    example: 'crosstalk web --open',
    run,
  },
];

function run(call: Call): Promise<number> {
  const { io } = call;
  const port = portOf(call);
  const host = text(call, 'host') ?? '127.0.0.1';
  const publicUrl = text(call, 'publicUrl');
  const token = text(call, 'token') ?? nonEmpty(io.env['CROSSTALK_WEB_TOKEN']);
  if (text(call, 'token') !== undefined) hideToken(call);
  return inTransport(call, async (context) => {
    let forget: (() => Promise<void>) | undefined;
    const options = {
      host,
      port,
      readOnly: flag(call, 'readOnly'),
      allowApprove: flag(call, 'allowApprove'),
      login: io.login,
      stop: io.stop,
      ...(publicUrl !== undefined && { publicUrl }),
      ...(token !== undefined && { token }),
    };
    try {
      await serveWeb(context, options, async (address) => {
        announce(call, host, address);
        if (flag(call, 'open')) forget = await open(call, context, address);
      });
    } finally {
      await forget?.();
    }
    return EXIT.ok;
  });
}

/**
 * Other users can see the command lines of all processes, except for titles that were overwritten.
 */
function hideToken(call: Call): void {
  process.title = 'crosstalk web';
  note(
    call,
    '--token stands on a command line, where other users of this machine can read it; CROSSTALK_WEB_TOKEN keeps it to yourself',
  );
}

function announce(call: Call, host: string, { urls, port, token }: ServerAddress): void {
  const { io } = call;
  const readOnly = flag(call, 'readOnly');
  const [url, ...others] = urls;
  if (flag(call, 'json'))
    io.out(`${JSON.stringify({ url, urls, port, token, read_only: readOnly })}\n`);
  else
    io.out([`Open: ${url}`, ...others.map((one) => `from other machines: ${one}`), ''].join('\n'));
  if (!isLoopback(host))
    note(
      call,
      `${host} is open to other machines: whoever reaches it and has the token reads every message${readOnly ? '' : ' and sends as you'}, and so does whoever listens in, as http is not encrypted; a tunnel is safer: ssh -L ${String(port)}:127.0.0.1:${String(port)} <this machine>`,
    );
}

async function open(
  call: Call,
  { paths }: Context,
  { urls: [url] }: ServerAddress,
): Promise<() => Promise<void>> {
  const { opened, forget } = await openBrowser(url, paths.root, process.platform);
  if (!opened) note(call, 'no browser could be started; open the address by hand');
  return forget;
}

function portOf(call: Call): number {
  const given = text(call, 'port') ?? PORT;
  if (/^\d{1,5}$/.test(given) && Number(given) <= 65_535) return Number(given);
  throw new CrosstalkError(
    'usage',
    `--port is ${shown(given)}, expected 0 to 65535; try --port ${PORT}`,
  );
}
