import { existsSync } from 'node:fs';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Web } from './web.ts';

const CHROMIUM = '/usr/bin/chromium';
/** Whether the tests of the page can run here. */
export const hasBrowser = existsSync(CHROMIUM);
/** The addition to the titles of tests that cannot run without a browser. */
export const UNLESS = '(skipped unless Debian’s chromium is installed)';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
export const WIDE = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

/** Milliseconds to wait for anything. */
const PATIENCE_MS = 100_000;

/** Expects something that will soon be true. */
export function soon<T>(look: () => T | Promise<T>): ReturnType<typeof expect.poll<T>> {
  return expect.poll(look, { timeout: PATIENCE_MS, interval: 50 });
}

/** For tests that load many pages, on a machine that may be busy. */
export const SLOW = { timeout: 480_000 };

/** One browser for the tests of a `describe`. */
export class Browsing {
  #browser: Browser | undefined;

  constructor() {
    beforeAll(async () => {
      this.#browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
    }, SLOW.timeout);
    afterAll(() => this.#browser?.close());
  }

  /** A window that is logged in, without any stored data. */
  async window(
    web: Pick<Web, 'url'>,
    options: Parameters<Browser['newContext']>[0] = {},
  ): Promise<Window> {
    if (this.#browser === undefined) throw new Error('the browser has not started');
    const context = await this.#browser.newContext({
      locale: 'en-GB',
      timezoneId: 'UTC',
      viewport: WIDE,
      ...options,
    });
    context.setDefaultTimeout(PATIENCE_MS);
    const { origin } = new URL(web.url);
    const window = new Window(context, await context.newPage(), origin);
    await window.page.goto(web.url);
    await window.page.waitForURL(`${origin}/`);
    return window;
  }
}

/** A page of a browser, with its errors and its requests to other origins. */
export class Window {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly origin: string;
  /** Requested addresses of other origins. */
  readonly abroad: string[] = [];
  /** Errors that scripts threw, and actions that the page's policies prevented. */
  readonly errors: string[] = [];

  constructor(context: BrowserContext, page: Page, origin: string) {
    this.context = context;
    this.page = page;
    this.origin = origin;
    context.on('request', (request) => {
      const address = request.url();
      if (!address.startsWith(`${origin}/`) && !/^(data|blob|about):/.test(address))
        this.abroad.push(address);
    });
    page.on('pageerror', (error) => this.errors.push(error.message));
    page.on('dialog', (dialog) => {
      this.errors.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('console', (message) => {
      if (/security policy|TrustedHTML|TrustedScript/i.test(message.text()))
        this.errors.push(message.text());
    });
  }

  /** Loads an address of the page. */
  async open(path: string): Promise<void> {
    await this.page.goto(this.origin + path);
  }

  close(): Promise<void> {
    return this.context.close();
  }
}
