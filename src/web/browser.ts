import { spawn } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A function that starts a program without waiting for it. */
export type LaunchProgram = (program: string, argument: string) => Promise<boolean>;

/**
 * Opens the page in the browser of this machine's user. The address contains the token, which other
 * users could see in the list of processes; therefore the browser is given a file that only its
 * owner may read, and that redirects there.
 *
 * @param folder where the file is created
 * @returns whether a browser was started; `forget` removes the file
 */
export async function openBrowser(
  url: string,
  folder: string,
  platform: NodeJS.Platform,
  launch: LaunchProgram = start,
): Promise<{ opened: boolean; forget: () => Promise<void> }> {
  const file = join(folder, 'web.html');
  const forget = (): Promise<void> => rm(file, { force: true });
  await forget();
  const html = `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${url}"><title>Crosstalk</title>\n`;
  await writeFile(file, html, { mode: 0o600, flag: 'wx' });
  const program = platform === 'darwin' ? 'open' : 'xdg-open';
  const opened = await launch(program, pathToFileURL(file).href);
  if (!opened) await forget();
  return { opened, forget };
}

function start(program: string, argument: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, [argument], { stdio: 'ignore', detached: true });
    child.once('error', () => {
      resolve(false);
    });
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
