/** Headers of about a given number of characters that are slow to read for a careless parser. */
export const headers = {
  keys: (n: number): string => repeated(n, (i) => `k${String(i)}: v\n`),
  nullkeys: (n: number): string => repeated(n, (i) => `a${String(i)}:\n`),
  flowseq: (n: number): string => 'a: [' + 'b,'.repeat(n / 2) + 'b]\n',
  flowmap: (n: number): string => 'a: {' + repeated(n, (i) => `k${String(i)}: v,`) + 'z: z}\n',
  flowmap1: (n: number): string => 'a: {' + repeated(n, (i) => `${i.toString(36)},`) + 'z: z}\n',
  seq: (n: number): string => 'a:\n' + '- b\n'.repeat(n / 4),
  seqempty: (n: number): string => 'a:\n' + '-\n'.repeat(n / 2),
  comments: (n: number): string => 'a: b\n' + '#\n'.repeat(n / 2),
  commentsbefore: (n: number): string => '#\n'.repeat(n / 2) + 'a: b\n',
  commentsin: (n: number): string => 'a:\n' + ' #\n'.repeat(n / 3) + ' b\n',
  commentsseq: (n: number): string => 'a:\n' + '- b\n#\n'.repeat(n / 6),
  anchors: (n: number): string => 'a:\n' + repeated(n, (i) => `- &a${String(i)} x\n`),
  aliases: (n: number): string => 'a: &a x\nb:\n' + '- *a\n'.repeat(n / 5),
  anchalias: (n: number): string =>
    'a:\n' + repeated(n, (i) => `- &a${String(i)} x\n- *a${String(i)}\n`),
  sameanch: (n: number): string => 'a:\n' + repeated(n, () => `- &a x\n- *a\n`),
  tags: (n: number): string => 'a:\n' + '- !b x\n'.repeat(n / 7),
  tagd: (n: number): string => repeated(n, (i) => `%TAG !a${String(i)}! tag:x\n`) + '---\na: b\n',
  plainml: (n: number): string => 'a:\n' + ' b\n'.repeat(n / 3),
  plainmlblank: (n: number): string => 'a: b\n' + '\n'.repeat(n) + ' b\n',
  plainspace: (n: number): string => 'a: b' + ' '.repeat(n) + 'c\n',
  dq: (n: number): string => 'a: "' + 'b\n '.repeat(n / 3) + '"\n',
  dqblank: (n: number): string => 'a: "' + '\n'.repeat(n) + '"\n',
  dqesc: (n: number): string => 'a: "' + '\\\n '.repeat(n / 3) + '"\n',
  dqesc2: (n: number): string => 'a: "' + '\\x41'.repeat(n / 4) + '"\n',
  dqspace: (n: number): string => 'a: "' + ' '.repeat(n) + 'x"\n',
  dqbs: (n: number): string => 'a: "' + ' \\'.repeat(n / 2) + 'x"\n',
  sq: (n: number): string => "a: '" + 'b\n '.repeat(n / 3) + "'\n",
  sqq: (n: number): string => "a: '" + "''".repeat(n / 2) + "'\n",
  sqspace: (n: number): string => "a: '" + ' '.repeat(n) + "\n x'\n",
  unterm: (n: number): string => 'a: "' + 'b '.repeat(n / 2) + '\n',
  block: (n: number): string => 'a: |\n' + ' b\n'.repeat(n / 3),
  blockf: (n: number): string => 'a: >\n' + ' b\n'.repeat(n / 3),
  blockblank: (n: number): string => 'a: |\n' + '\n'.repeat(n) + ' b\n',
  blockspace: (n: number): string => 'a: |\n' + (' '.repeat(100) + '\n').repeat(n / 101) + ' b\n',
  blockmany: (n: number): string => repeated(n, (i) => `k${String(i)}: |\n x\n`),
  q: (n: number): string => repeated(n, (i) => `? k${String(i)}\n: v\n`),
  q1: (n: number): string => '?\n'.repeat(n / 2),
  q2: (n: number): string => repeated(n, (i) => `? k${String(i)}\n`),
  merge: (n: number): string => 'a: &a {b: c}\nd:\n' + ' <<: *a\n'.repeat(n / 9),
  deep: (n: number): string => {
    let s = '';
    for (let i = 0; i < 60; i++) s += ' '.repeat(i) + 'a:\n';
    return s + (' '.repeat(60) + '- x\n').repeat(n / 65);
  },
  deepflow: (n: number): string =>
    'a: ' + '['.repeat(60) + 'b,'.repeat(n / 2) + ']'.repeat(60) + '\n',
  flowopen: (n: number): string => 'a: ' + '['.repeat(n) + '\n',
  flowopen2: (n: number): string => 'a: ' + '[],'.repeat(n / 3) + '\n',
  flowempty: (n: number): string => 'a: [' + '[],'.repeat(n / 3) + ']\n',
  indent: (n: number): string => {
    let s = '';
    for (let i = 0; s.length < n; i++) s += ' '.repeat(i % 60) + 'a:\n';
    return s;
  },
  errors: (n: number): string => 'a: b\n' + '}\n'.repeat(n / 2),
  errors2: (n: number): string => 'a: b\n' + ' : \n'.repeat(n / 4),
  errors3: (n: number): string => 'a: ' + '@\n'.repeat(n / 2),
  errors4: (n: number): string => 'a: [' + '"a" "b" '.repeat(n / 8) + ']\n',
  dupkeys: (n: number): string => 'a: b\n'.repeat(n / 5),
  longkey: (n: number): string => 'a'.repeat(n) + ': b\n',
  longline: (n: number): string => 'a: ' + 'b'.repeat(n) + '\n',
  colons: (n: number): string => 'a: ' + 'b:'.repeat(n / 2) + 'c\n',
  hashes: (n: number): string => 'a: ' + 'b#'.repeat(n / 2) + 'c\n',
  cr: (n: number): string => 'a: b\r'.repeat(n / 5),
  cr2: (n: number): string => 'a: "' + '\r'.repeat(n) + '"\n',
  tabs: (n: number): string => 'a:' + '\t'.repeat(n) + 'b\n',
  blank: (n: number): string => 'a: b\n' + '\n'.repeat(n) + 'b: c\n',
  spaces: (n: number): string => 'a: b\n' + ' \n'.repeat(n / 2) + 'b: c\n',
  spaces2: (n: number): string => 'a: b\n' + ' '.repeat(n) + '\nb: c\n',
  docs: (n: number): string => 'a: b\n' + '...\n'.repeat(n / 4),
  docs2: (n: number): string => 'a: b\n...\n' + '# x\n...\n'.repeat(n / 8),
  comma: (n: number): string => 'a: [' + ','.repeat(n) + ']\n',
  colonflow: (n: number): string => 'a: [' + ':,'.repeat(n / 2) + ']\n',
  qflow: (n: number): string => 'a: [' + '?,'.repeat(n / 2) + ']\n',
  flowcomm: (n: number): string => 'a: [\n' + '#\n'.repeat(n / 2) + 'b]\n',
  flowcomm2: (n: number): string => 'a: [\n' + 'b, #\n'.repeat(n / 5) + 'b]\n',
  emptymapcomm: (n: number): string => 'a:\n' + 'b: #\n'.repeat(n / 5),
  nul: (n: number): string => 'a: ' + '\u0000'.repeat(n) + '\n',
  bom: (n: number): string => '\ufeff'.repeat(n) + 'a: b\n',
  surr: (n: number): string => 'a: ' + '\ud800'.repeat(n) + '\n',
  propspam: (n: number): string => 'a: ' + '!x '.repeat(n / 3) + 'b\n',
  propspam2: (n: number): string => 'a: ' + '&x '.repeat(n / 3) + 'b\n',
  seqseq: (n: number): string => 'a:\n' + '- - - - x\n'.repeat(n / 10),
  mapinseq: (n: number): string => 'a:\n' + repeated(n, () => `- k: v\n`),
  aliaskeys: (n: number): string => 'a: &a x\n' + repeated(n, () => `*a : v\n`),
  anchkeys: (n: number): string => repeated(n, (i) => `&a${String(i)} k${String(i)}: v\n`),
  mapkeys: (n: number): string => repeated(n, (i) => `? {a: ${String(i)}}\n: v\n`),
  flowkeys: (n: number): string => repeated(n, (i) => `[${String(i)}]: v\n`),
} as const;

function repeated(n: number, part: (i: number) => string): string {
  let text = '';
  for (let i = 0; text.length < n; i++) text += part(i);
  return text;
}
