import { expect, it } from 'vitest';
import { painter } from '../../src/cli/view/render.ts';
import { WatchedView } from '../../src/cli/commands/talk/watch.ts';

it('a line that comes in pieces is marked once, and what comes between begins a line of its own', () => {
  const view = new WatchedView(painter({ env: { NO_COLOR: '1' }, outIsTty: false }));
  const of = (kind: string, text: string): string =>
    view.text({
      kind: 'line',
      run: { id: '1', actor: 'worker', host: 'front' },
      line: { kind, text },
    } as never);
  // The first line is below a heading.
  of('out', 'none\n');
  const whole = of('out', 'one line\n');
  const mark = whole.slice(0, whole.indexOf('one'));
  expect(of('out', 'half ') + of('out', 'of it\nand ')).toBe(`${mark}half of it\n${mark}and `);
  const other = of('err', 'no\n');
  expect(other.startsWith('\n')).toBe(true);
});
