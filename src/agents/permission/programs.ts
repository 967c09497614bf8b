import type { Risk } from './mark.ts';

/** Programs that read what they are to do from their input or an argument. */
export const SHELLS =
  /^(?:ba|z|da|k|fi|c|tc)?sh$|^(?:python|node|deno|bun|perl|ruby|php|lua|osascript|pwsh|awk)[\d.]*$/;

const READERS = new Set(
  'ls cat head tail grep egrep fgrep rg wc pwd echo printf true false test which type file stat du df ps id whoami uname hostname date sort cut tr nl rev tac fold comm diff cmp basename dirname realpath readlink jq column seq md5sum sha1sum sha256sum sha512sum cksum strings hexdump od sleep uptime free nproc arch cd pushd popd'.split(
    ' ',
  ),
);
const WRITERS = new Set(
  'touch mkdir cp mv ln tee install patch rmdir unzip tar gzip gunzip zip npm pnpm yarn make cargo go tsc eslint prettier vitest jest pytest'.split(
    ' ',
  ),
);
/** What is dangerous by its name alone, and why. */
const DANGEROUS: readonly (readonly [RegExp, string])[] = [
  [/^(?:chmod|chown|chgrp|chattr|setfacl|setcap)$/, 'it changes who may use files'],
  [/^(?:kill|pkill|killall)$/, 'it ends processes'],
  [/^(?:shred|truncate|wipefs|fdisk|parted|mkswap|dd)$/, 'it destroys what is stored'],
  [
    /^(?:mount|umount|iptables|nft|modprobe|insmod|sysctl|reboot|shutdown|halt|poweroff)$/,
    'it changes the system',
  ],
  [
    /^(?:systemctl|launchctl|service|crontab|at|batch)$/,
    'it starts or stops what stays after the run',
  ],
  [/^(?:ssh|scp|sftp|rsync|ftp|telnet|nc|ncat|netcat|socat)$/, 'it talks to other machines'],
  [/^(?:docker|podman|kubectl|nsenter|chroot|unshare|bwrap)$/, 'it starts or changes containers'],
  [/^(?:eval|source|\.|trap|alias)$/, 'it runs text as commands'],
  [/^(?:su|passwd|useradd|usermod|visudo)$/, 'it asks for the rights of another user'],
];
const GIT_READS = new Set(
  'status log diff show rev-parse ls-files ls-tree blame describe shortlog'.split(' '),
);
const GIT_WRITES = new Set('add commit switch stash merge mv init fetch'.split(' '));
const UPLOADS = /^(?:-T|--upload-file|-d|--data.*|-F|--form.*|--post-.*|--body-.*|-X|--request)/;

/** How dangerous a program is with its arguments. */
export function programRisk(name: string, args: readonly string[]): Risk {
  for (const [names, reason] of DANGEROUS) if (names.test(name)) return dangerous(reason);
  if (name === 'git') return gitRisk(args);
  if (name === 'rm' || name === 'unlink') return rmRisk(args);
  if (name === 'find')
    return args.some((arg) =>
      /^-(?:delete|exec|execdir|ok|okdir|fprint|fls|fprintf|fprint0)$/.test(arg),
    )
      ? dangerous('it removes, writes or runs something for each file that it finds')
      : READS;
  if (name === 'curl' || name === 'wget')
    return args.some((arg) => UPLOADS.test(arg))
      ? dangerous('it sends something to the network')
      : { mark: 'unknown', because: ['it reaches the network'] };
  if (name === 'sed') return sedRisk(args);
  if (name === 'rg' && args.some((arg) => /^--(?:pre|hostname-bin)/.test(arg)))
    return { mark: 'unknown', because: ['it runs a program that it is given'] };
  if (/^(?:npm|pnpm|yarn|cargo)$/.test(name) && args.includes('publish'))
    return dangerous('it publishes something');
  if (SHELLS.test(name))
    return { mark: 'unknown', because: ['it runs a program that it is given'] };
  if (name === 'sort' && args.some((arg) => /^-o|^--output/.test(arg))) return WRITES;
  if (READERS.has(name)) return READS;
  if (WRITERS.has(name)) return WRITES;
  return { mark: 'unknown', because: ['it starts a program that is not known here'] };
}

const READS: Risk = { mark: 'reads', because: [] };
const WRITES: Risk = { mark: 'writes', because: [] };

function dangerous(reason: string): Risk {
  return { mark: 'dangerous', because: [reason] };
}

/** A script of sed may write to files and run commands: only one that prints lines is understood. */
function sedRisk(args: readonly string[]): Risk {
  if (args.some((arg) => /^-(?!-)[a-zA-Z]*i|^--in-place/.test(arg))) return WRITES;
  const isPrinting =
    args.includes('-n') && args.some((arg) => /^\d{1,9}(?:,(?:\d{1,9}|\$))?p$/.test(arg));
  const isOther = args.some((arg) => /^-(?!n$)/.test(arg));
  return isPrinting && !isOther
    ? READS
    : { mark: 'unknown', because: ['its script may write files or run commands'] };
}

function rmRisk(args: readonly string[]): Risk {
  const isHard = args.some((arg) => /^-(?!-)\w*[rRf]|^--(?:recursive|force)$/.test(arg));
  return isHard ? dangerous('it removes by force or whole folders') : WRITES;
}

function gitRisk(args: readonly string[]): Risk {
  const [command = '', ...rest] = args;
  if (command.startsWith('-'))
    return dangerous('it changes how git works for one call, which may run commands');
  const has = (pattern: RegExp): boolean => rest.some((arg) => pattern.test(arg));
  if (command === 'push')
    return has(/^(?:-f|--force.*|--mirror|--delete|-d|--prune|\+.*|:.*)$/)
      ? dangerous('it rewrites or removes what others have')
      : { mark: 'writes', because: ['it sends commits to another repository'] };
  if (command === 'config' || command === 'submodule' || command === 'filter-branch')
    return dangerous('it changes settings by which git runs commands, or rewrites history');
  const isLoss =
    (command === 'reset' && has(/^--hard$/)) ||
    (command === 'clean' && has(/^-(?!-)\w*f|^--force$/)) ||
    (command === 'branch' && has(/^-(?:D|f)$|^--force$/)) ||
    (command === 'checkout' && has(/^(?:-f|--force|--|\.)$/)) ||
    ['rebase', 'reflog', 'gc', 'prune', 'update-ref', 'restore'].includes(command);
  if (isLoss) return dangerous('it may lose work that is in no commit, or commits');
  const toFile = has(/^--(?:output|ext-diff|textconv)/);
  if (GIT_READS.has(command) && !toFile) return READS;
  if (GIT_WRITES.has(command)) return WRITES;
  return { mark: 'unknown', because: ['it is a command of git that is not judged here'] };
}

/** Words before a program that only start it, and the number of words that they take along. */
const STARTERS = new Set(
  'command exec nohup time nice env timeout stdbuf setsid xargs ionice'.split(' '),
);

/** A simple command without what only starts it, and what is dangerous about that. */
export function withoutStarters(words: readonly string[]): {
  started: readonly string[];
  by: readonly string[];
} {
  const by: string[] = [];
  let at = 0;
  let afterStarter = false;
  for (; at < words.length; at++) {
    const word = words[at] ?? '';
    const isSet = /^[A-Za-z_]\w*=/.test(word);
    if (
      isSet &&
      /^(?:PATH|LD_\w+|DYLD_\w+|NODE_OPTIONS|GIT_\w+|BASH_ENV|ENV|IFS|PYTHON\w+)=/.test(word)
    )
      by.push('it sets a variable by which programs load others');
    if (/^(?:sudo|doas|pkexec)$/.test(word)) by.push('it asks for the rights of another user');
    const isStarter = STARTERS.has(word) || /^(?:sudo|doas|pkexec)$/.test(word);
    const isOption = afterStarter && (word.startsWith('-') || /^\d+(?:\.\d+)?[smhd]?$/.test(word));
    if (!isSet && !isStarter && !isOption) break;
    afterStarter ||= isStarter;
  }
  return { started: words.slice(at), by };
}
