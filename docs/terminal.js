// Draws docs/screenshots/first-conversation.svg: the first conversation with Crosstalk, as it goes on a terminal.
// Run by hand, after a build: node docs/terminal.js
// What is shown is what the real program wrote, in a home and a project of its own; the agent CLI is a script. The
// picture plays once, waits are cut short, and where nothing moves it shows how the conversation ended.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { spawn } from '@lydell/node-pty';

const OUT = 'docs/screenshots/first-conversation.svg';
const [COLS, ROWS] = [100, 60];
const PROMPT = '$ ';
const ENTER = '\r';
const PATIENCE_MS = 120_000;
/** Milliseconds between two keystrokes, and the longest of a wait that is shown. */
const [KEY, LONGEST] = [45, 1400];

const home = realpathSync(mkdtempSync(join(tmpdir(), 'c-')));

/** A machine with a project at a remote, and an agent CLI that is a script. */
function layOut() {
  const git = (...words) => execFileSync('git', words, { cwd: home, stdio: 'pipe', env: own() });
  mkdirSync(join(home, 'bin'));
  symlinkSync(resolve('bin/crosstalk.js'), join(home, 'bin/crosstalk'));
  const answer = 'A web shop: 34 files of TypeScript, a database, and no tests for the basket yet.';
  const script = `#!/bin/sh\ncat > /dev/null\nsleep 1\necho "${answer}"\n`;
  writeFileSync(join(home, 'bin/claude'), script, { mode: 0o755 });
  writeFileSync(
    join(home, '.gitconfig'),
    '[user]\n\tname = Anna\n\temail = anna@example.com\n[init]\n\tdefaultBranch = main\n',
  );
  git('init', '--quiet', '--bare', 'shop.git');
  git('init', '--quiet', 'src/shop');
  git('-C', 'src/shop', 'commit', '--quiet', '--allow-empty', '--message', 'a shop');
  git('-C', 'src/shop', 'remote', 'add', 'origin', join(home, 'shop.git'));
}

function own() {
  const PATH = `${join(home, 'bin')}:${process.env.PATH}`;
  // As somebody who is logged in.
  const ANTHROPIC_API_KEY = 'none';
  const TERM = 'xterm-256color';
  return {
    HOME: home,
    PATH,
    TERM,
    ANTHROPIC_API_KEY,
    PS1: PROMPT,
    GIT_CONFIG_NOSYSTEM: '1',
    LANG: 'C.UTF-8',
  };
}

/** Plays the conversation; returns what was written, each piece with its time. */
async function play() {
  const events = [];
  let text = '';
  let from = 0;
  const options = { cols: COLS, rows: ROWS, cwd: join(home, 'src/shop'), env: own() };
  const terminal = spawn('/bin/sh', ['-i'], { ...options, encoding: 'utf8' });
  const over = new Promise((done) => terminal.onExit(done));
  terminal.onData((data) => {
    text += data;
    events.push({ at: performance.now(), data });
  });
  const sees = async (...signs) => {
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      const shown = stripVTControlCharacters(text.slice(from));
      const found = signs.find((sign) => shown.includes(sign));
      if (found !== undefined) return found;
      if (performance.now() > until) throw new Error(`${signs} did not come:\n${shown}`);
      await sleep(20);
    }
  };
  const type = async (keys) => {
    await sleep(700);
    from = text.length;
    for (const key of keys) {
      terminal.write(key);
      await sleep(KEY);
    }
  };
  const done = async () => {
    await sees(`\n${PROMPT}`);
    await sleep(300);
  };
  await sees(PROMPT);
  await type(`crosstalk init${ENTER}`);
  const questions = ['Your name', 'Which agent CLI', 'Where does', 'sandbox?', 'service?', 'now?'];
  for (let seen = ''; seen !== 'now?';) {
    seen = await sees(...questions);
    questions.splice(0, questions.indexOf(seen) + 1);
    // "Not now", as what is asked is typed below.
    await type(seen === 'now?' ? `\x1b[B\x1b[B${ENTER}` : ENTER);
  }
  await done();
  await type(`crosstalk dispatch >/dev/null 2>&1 &${ENTER}`);
  await sees(PROMPT);
  await type(`crosstalk ask concierge "What is in this project? One line."${ENTER}`);
  await done();
  await type(`kill %1; wait; exit${ENTER}`);
  await over;
  // The end of the shell is no part of the conversation.
  const last = events.findLastIndex(({ data }) => data.includes('basket yet'));
  return events.slice(0, last + 2);
}

/** A terminal as far as the conversation needs one: text, colours, moves of the cursor, erasing. */
class Screen {
  rows = Array.from({ length: ROWS }, () => []);
  x = 0;
  y = 0;
  style = '';

  write(data) {
    // eslint-disable-next-line no-control-regex -- these characters are what a terminal is told
    for (const [all, parameters, final] of data.matchAll(/\x1b\[([?\d;]*)([A-Za-z])|\x1b.|[^]/gu))
      if (final !== undefined) this.control(parameters, final);
      else if (!all.startsWith('\x1b')) this.put(all);
  }

  put(char) {
    if (char === '\n') this.y++;
    else if (char === '\r') this.x = 0;
    else if (char === '\b') this.x--;
    else if (char >= ' ') {
      if (this.x === COLS) [this.x, this.y] = [0, this.y + 1];
      this.row[this.x++] = { char, style: this.style };
    }
    if (this.y === ROWS) throw new Error('it is longer than the terminal; give that more rows');
  }

  get row() {
    return this.rows[this.y];
  }

  control(parameters, final) {
    const [first = 0] = parameters.split(';').map(Number);
    const steps = Math.max(1, first);
    if (final === 'A') this.y = Math.max(0, this.y - steps);
    else if (final === 'B') this.y = Math.min(ROWS - 1, this.y + steps);
    else if (final === 'C') this.x = Math.min(COLS - 1, this.x + steps);
    else if (final === 'D') this.x = Math.max(0, this.x - steps);
    else if (final === 'G') this.x = steps - 1;
    else if (final === 'K') this.row.length = first === 2 ? 0 : Math.min(this.row.length, this.x);
    else if (final === 'J') {
      this.row.length = Math.min(this.row.length, this.x);
      for (const row of this.rows.slice(this.y + 1)) row.length = 0;
    } else if (final === 'm') this.style = styleAfter(this.style, parameters);
  }

  /** The lines as pieces of one style each: `[column, style, text]`. */
  get lines() {
    return this.rows.map((row) => {
      const pieces = [];
      for (let x = 0; x < row.length; x++) {
        const { char, style } = row[x] ?? { char: ' ', style: '' };
        const last = pieces.at(-1);
        if (last?.[1] === style) last[2] += char;
        else pieces.push([x, style, char]);
      }
      const said = (text) =>
        text.replaceAll(home, '/home/anna').replace(`host ${hostname()}.`, 'host laptop.');
      return JSON.stringify(
        pieces
          .map(([x, style, text]) => [x, style, said(text.trimEnd())])
          .filter(([, , text]) => text !== ''),
      );
    });
  }
}

const COLOURS = ['#1e1e2e', '#f38ba8', '#a6e3a1', '#f9e2af', '#89b4fa', '#cba6f7', '#94e2d5'];

/** The attributes of SVG for what is written after a change of colours. */
function styleAfter(style, parameters) {
  let next = style;
  for (const code of parameters.split(';').map(Number)) {
    const fill = COLOURS[(code % 60) - 30];
    if (code === 0) next = '';
    else if (code === 1) next += ' font-weight="bold"';
    else if (code === 2 || code === 90) next = ' fill="#7f849c"';
    else if (code === 22 || code === 39) next = '';
    else if (fill !== undefined && next !== ' fill="#7f849c"') next = ` fill="${fill}"`;
  }
  return next;
}

/** What is on the screen after each piece, with its time in seconds, waits cut short. */
function frames(events) {
  const screen = new Screen();
  let [at, before] = [0, events[0].at];
  return events.map((event) => {
    at += Math.min(event.at - before, LONGEST);
    before = event.at;
    screen.write(event.data);
    return { at: at / 1000, lines: screen.lines };
  });
}

function drawing(all) {
  const last = all.at(-1);
  const used = last.lines.findLastIndex((line) => line !== '[]') + 1;
  const [wide, high, line, pad] = [8.4, 14, 18, 16];
  const [width, height] = [Math.ceil(COLS * wide) + 2 * pad, used * line + 2 * pad];
  const texts = [];
  for (let y = 0; y < used; y++) {
    for (let from = 0; from < all.length;) {
      const content = all[from].lines[y];
      let to = from;
      while (to < all.length && all[to].lines[y] === content) to++;
      if (content !== '[]') texts.push(shown(content, y, from, to));
      from = to;
    }
  }
  function shown(content, y, from, to) {
    const spans = JSON.parse(content)
      .map(
        ([x, style, text]) =>
          `<tspan x="${(pad + x * wide).toFixed(1)}"${style}>${xml(text)}</tspan>`,
      )
      .join('');
    const begin = all[from].at.toFixed(2);
    // Where nothing is animated, what stays is to be seen, and nothing else.
    const isLast = to === all.length;
    const state = isLast
      ? from === 0
        ? ''
        : `<set attributeName="visibility" to="hidden" begin="0s" end="${begin}s"/>`
      : `<set attributeName="visibility" to="visible" begin="${begin}s" end="${all[to].at.toFixed(2)}s"/>`;
    const hidden = isLast ? '' : ' visibility="hidden"';
    return `<text y="${pad + high + y * line}"${hidden}>${spans}${state}</text>`;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="crosstalk init in a project, and the first question with its answer, on a terminal">
<rect width="100%" height="100%" rx="8" fill="#1e1e2e"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${high}" fill="#cdd6f4" xml:space="preserve">
${texts.join('\n')}
</g>
</svg>
`;
}

function xml(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

try {
  layOut();
  const events = await play();
  writeFileSync(OUT, drawing(frames(events)));
} finally {
  rmSync(home, { recursive: true, force: true });
}
