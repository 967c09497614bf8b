// @module-tag long
import axe from 'axe-core';
import { describe, expect, it } from 'vitest';
import { Browsing, hasBrowser, PHONE, SLOW, UNLESS } from '../support/browser.ts';
import { OBEYS, Project, script } from '../support/project.ts';
import { put } from '../support/by-hand.ts';
import { Web } from '../support/web.ts';

const MARKUP = '<img src=x onerror="globalThis.hacked = 1"><b>bold</b>';

describe.skipIf(!hasBrowser)(`The branch of an answer ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();

  it('is a line below it, and its changes are shown as text when somebody asks for them', async () => {
    const project = new Project();
    const dev = { default: { cli: OBEYS, worktree: project.app } };
    const host = await project.host({ dev });
    const said = script(
      `printf '%s\\n' '${MARKUP}' 'a \u202edirection' > new`,
      'seq 100000 > zmany',
      'yes 0123456789 | tr -d "\\n" | head -c 20000 > wide',
      `printf 'x\\n' > "$(printf 'two\\nlines')"`,
      'git rm -q readme; git add . && git commit -qm work',
    );
    await host.run('send', '--to', 'dev', '--', said);
    await project.pass(host);
    const answer = project.bus.from('dev')[0]!;
    const { branch, re } = answer.message;
    const other = { ...branch!, name: 'crosstalk/elsewhere', commit: 'ab'.repeat(20), held: 'why' };
    const away = put(host, { from: 'dev', re, host: 'back', branch: other });
    const web = await Web.start(host);
    const window = await browsing.window(web, { viewport: PHONE });
    const { page } = window;
    await window.open(`/m/${host.channel()}/${answer.relPath}`);
    const article = page.locator('article', { hasText: branch?.name ?? '' });
    await article.getByText(`${branch?.name ?? ''} from`).waitFor();
    expect(await article.innerText()).toContain('5 files changed');
    expect(await page.locator('pre.patch').count()).toBe(0);
    await article.getByRole('button', { name: 'Show the changes' }).click();
    const patch = article.getByRole('region', { name: `Changes of ${branch?.name ?? ''}` });
    await patch.getByText('-hello').waitFor({ state: 'attached' });
    const text = await patch.innerText();
    expect(text).toContain(`+${MARKUP}\n`);
    expect(text).toContain('+a \\u202edirection\n');
    expect(await patch.locator('img, b').count()).toBe(0);
    expect(await page.evaluate('globalThis.hacked')).toBeUndefined();
    await article.getByText('The rest is left out').waitFor();
    // A long line is scrolled in its own place.
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
      PHONE.width,
    );
    await page.evaluate(axe.source);
    const found = await page.evaluate<{ violations: { id: string }[] }>('axe.run()');
    expect(found.violations.map(({ id }) => id)).toEqual([]);
    if (process.env['SCREENSHOTS'] !== undefined)
      await page.screenshot({ path: `${process.env['SCREENSHOTS']}/branch.png` });
    await article.getByRole('button', { name: 'Hide the changes' }).click();
    await patch.waitFor({ state: 'detached' });

    await window.open(`/m/${host.channel()}/${away}`);
    const there = page.locator('article', { hasText: 'crosstalk/elsewhere' });
    await there.getByText('; why').waitFor();
    await there.getByRole('button', { name: 'Show the changes' }).click();
    await there.getByText(/is not known on this machine; it was worked on back/).waitFor();
    expect(window.errors).toEqual([]);
    await window.close();

    const wall = await Web.start(host, '--read-only');
    const readOnly = await browsing.window(wall);
    await readOnly.open(`/m/${host.channel()}/${answer.relPath}`);
    await readOnly.page.getByText(`${branch?.name ?? ''} from`).waitFor();
    expect(await readOnly.page.getByRole('button', { name: 'Show the changes' }).count()).toBe(0);
    await readOnly.close();
  });
});
