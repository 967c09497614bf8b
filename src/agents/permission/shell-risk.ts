import { higher, type Place, type Risk } from './mark.ts';
import { pathRisk } from './path-risk.ts';
import { readingLine } from './reading-line.ts';

const FORCE = 'it removes by force or whole folders';
const FETCHED = 'it runs what it fetches from the network';
const LOSS = 'it may lose work that is in no commit, or commits';
const RIGHTS = 'it asks for the rights of another user';
const SETTINGS = 'it changes settings by which git runs commands, or rewrites history';

/** What is dangerous wherever it stands in a text, quoted or computed. It helps to see, and misses more than it finds. */
const ANYWHERE: readonly (readonly [RegExp, string])[] = [
  [/\b(?:sudo|doas|pkexec)\b/, RIGHTS],
  [/\brm\b[^\n;|&]{0,200}?\s-(?:-recursive|-force|[a-zA-Z]{0,20}[rRf])/, FORCE],
  [
    /\bfind\b[^\n;|&]{0,200}?\s-(?:delete|exec|ok|fls|fprint)/,
    'it removes, writes or runs something for each file that it finds',
  ],
  [/\bgit\s{1,20}-/, 'it changes how git works for one call, which may run commands'],
  [/\bgit\s{1,20}(?:config|submodule|filter-branch)\b/, SETTINGS],
  [/\bgit\s{1,20}(?:rebase|reflog|gc|prune|update-ref|restore)\b/, LOSS],
  [
    /\bgit\s{1,20}(?:reset\s{1,20}--hard|clean\s{1,20}-|branch\s{1,20}-[Df]|checkout\s{1,20}(?:-|\.))/,
    LOSS,
  ],
  [
    /\bgit\b[^\n;|&]{0,200}?\bpush\b[^\n;|&]{0,200}?\s(?:-[fd]\b|--(?:force|mirror|delete|prune)|[+:])/,
    'it rewrites or removes what others have',
  ],
  [
    /\|\s{0,20}(?:[\w/]{0,40}\/)?(?:(?:ba|z|da|k|fi)?sh|python|node|perl|ruby|php)[\d.]{0,9}\b/,
    'it gives what another command prints to a shell or an interpreter',
  ],
  [/\b(?:ba|z|da|k)?sh\b[^\n]{0,200}(?:<\(|\$\(|`)\s{0,20}(?:curl|wget)\b/, FETCHED],
  [
    /\b(?:curl|wget)\b[^\n;|&]{0,200}?\s-(?:T|d|F|X|-(?:upload|data|form|post|body|request))/,
    'it sends something to the network',
  ],
  [/\b(?:npm|pnpm|yarn|cargo)\s{1,20}publish\b/, 'it publishes something'],
  [
    /\bmkfs\b|\bdd\b[^\n]{0,200}\bof=|>\s{0,20}\/dev\/(?!null\b|stdout\b|stderr\b|tty\b)/,
    'it writes to a device',
  ],
  [/\/dev\/(?:tcp|udp)\//, 'it opens a connection to the network'],
  [/:\s{0,5}\(\)\s{0,5}\{/, 'it defines a function that starts itself'],
  [
    /(?:^|[\s;|&(])(?:PATH|LD_\w{1,40}|DYLD_\w{1,40}|NODE_OPTIONS|GIT_\w{1,40}|BASH_ENV|ENV|IFS|PYTHON\w{0,40})=/,
    'it sets a variable by which programs load others',
  ],
];

/** What is dangerous as the first word of a command, and why. */
const FIRST: readonly (readonly [RegExp, string])[] = [
  [/^(?:chmod|chown|chgrp|chattr|setfacl|setcap)$/, 'it changes who may use files'],
  [/^(?:kill|pkill|killall)$/, 'it ends processes'],
  [/^(?:shred|truncate|wipefs|fdisk|parted|mkswap)$/, 'it destroys what is stored'],
  [/^(?:mount|umount|iptables|nft|modprobe|sysctl|reboot|shutdown)$/, 'it changes the system'],
  [/^(?:systemctl|launchctl|service|crontab|at)$/, 'it starts or stops what stays after the run'],
  [/^(?:ssh|scp|sftp|rsync|ftp|nc|ncat|netcat|socat)$/, 'it talks to other machines'],
  [/^(?:docker|podman|kubectl|nsenter|chroot|unshare)$/, 'it starts or changes containers'],
  [/^(?:eval|source|\.|trap|alias)$/, 'it runs text as commands'],
  [/^(?:su|passwd|useradd|usermod|visudo)$/, RIGHTS],
];
const WRITERS = /^(?:cp|mv|ln|rm|tee|touch|mkdir|rmdir|install|patch|tar|unzip)$/;
/** Words before a command that only start it, and what they are given. */
const BEFORE = /^(?:\w{1,100}=.*|command|exec|nohup|time|nice|env|timeout|xargs|sudo|-.*|\d.*)$/;

/**
 * How dangerous a text is that a shell is to run. Only a whole line that is known to read is said to read. Of any
 * other nothing is known but, at times, that it is dangerous.
 */
export function shellRisk(text: string, place: Place): Risk {
  const operands = readingLine(text);
  if (operands !== undefined)
    return operands.map((operand) => pathRisk(operand, 'reads', place)).reduce(higher, READS);
  let risk: Risk = { mark: 'unknown', because: ['it is no line that is known to read only'] };
  const add = (reason: string): void => {
    risk = higher({ mark: 'dangerous', because: [reason] }, risk);
  };
  const plain = text.replaceAll(/['"\\]/g, '');
  for (const [pattern, reason] of ANYWHERE)
    if (pattern.test(text) || pattern.test(plain)) add(reason);
  for (const command of plain.split(/[;\n|&()`]/)) {
    const [words = '', ...targets] = command.split(/>{1,2}/);
    const all = words.split(/\s/).filter((word) => word !== '');
    const at = all.findIndex((word) => !BEFORE.test(word));
    const name = all[at] ?? '';
    for (const [names, reason] of FIRST) if (names.test(name)) add(reason);
    const written = targets.map((target) => target.trim().split(/\s/, 1)[0] ?? '');
    for (const word of all.slice(at + 1)) {
      const path = word.startsWith('-') ? word.slice(word.indexOf('=') + 1) : word;
      if (/^-|:\/\//.test(path)) continue;
      addPath(path, WRITERS.test(name) ? 'writes' : 'reads');
    }
    for (const path of written) if (!/^(?:\d?|\/dev\/\w{1,9})$/.test(path)) addPath(path, 'writes');
  }
  return risk;

  function addPath(path: string, kind: 'reads' | 'writes'): void {
    const found = pathRisk(path, kind, place);
    if (found.mark === 'dangerous') risk = higher(found, risk);
  }
}

const READS: Risk = { mark: 'reads', because: [] };
