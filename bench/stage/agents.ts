import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Scripted actors: a shell script prints what a model would answer. */
const SCRIPTS: Record<string, string> = {
  concierge: `
prompt=$(cat)
mine=$(printf '%s\\n' "$prompt" | sed -n 's/^> [^ ]* (you) to [^ ]* (ref: \\([^,)]*\\).*/\\1/p')
if [ -z "$mine" ]; then
  crosstalk send --to tester "Run the full test suite on \\\`release/2.4\\\` and tell me what fails." >&2
  crosstalk send --to librarian "Which open questions about 2.4 are in the channels of last week?" >&2
  exit 0
fi
replies=$(crosstalk replies $mine) || exit 1
case $replies in *PENDING*) exit 0 ;; esac
cat <<'END'
**Not yet.** Two things stand in the way of 2.4:

1. \`billing/rounding\` fails on the server, reproducibly.
2. Nobody has decided whether \`--legacy\` goes away ([discussion](https://example.com/discussions/118)).

Everything else is green, see the table of the tester. I would fix 1 and postpone 2.
END`,
  tester: `
cat > /dev/null
cat <<'END'
1,204 tests, **3 failed**, all in one place:

| suite | passed | failed | time |
| --- | ---: | ---: | ---: |
| unit | 861 | 0 | 12 s |
| integration | 302 | 3 | 4 min |
| e2e | 38 | 0 | 9 min |

\`\`\`
billing/rounding.test.ts:41
  expected 10.35, got 10.34
\`\`\`
END`,
  librarian: `
cat > /dev/null
cat <<'END'
Three, the first two are answered since:

- what \`retry_delay\` starts from
- whether the window may be longer than a year
- **open:** does \`--legacy\` go away with 2.4?
END`,
  painter: `
cat > /dev/null
echo "error: 401 invalid API key; run: painter login" >&2
exit 4`,
  researcher: `
cat > /dev/null
exec sleep 3600`,
};

/** Writes the scripts into a folder; returns the command line of each one. */
export function writeAgents(folder: string): Record<string, string> {
  mkdirSync(folder, { recursive: true });
  return Object.fromEntries(
    Object.entries(SCRIPTS).map(([name, script]) => {
      const path = join(folder, name);
      writeFileSync(path, `#!/bin/sh${script}\n`, { mode: 0o755 });
      return [name, path];
    }),
  );
}
