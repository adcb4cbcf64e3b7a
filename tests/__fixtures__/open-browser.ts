// A real browser for a test: the Chromium of the standard image, which must be there.
import { STANDARD_IMAGE } from '@switchyard/contracts';
import Docker from 'dockerode';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core';
import { vi } from 'vitest';

/** Until Chromium takes commands. */
const BROWSER_MS_MAX = 180_000;
/** Until a page that Chromium has loaded shows what is waited for. */
const READY_MS_MAX = 60_000;
const VISIT_MS_MAX = 240_000;

/**
 * Chromium aborts loads when the host's networks change, which other tests on this machine cause. A page without its
 * scripts or its styles is reloaded, as a person would do. What a loaded page lacks it requests again itself.
 */
const LOAD_AGAIN = `addEventListener('error', ({ target }) => {
  if (target instanceof HTMLScriptElement) location.reload();
  if (target.rel === 'stylesheet' && document.readyState !== 'complete') location.reload();
}, true);`;

/** Pages may use a fake one without a prompt. */
const MICROPHONE = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'];

/** A host name that reaches this machine's pages as if from another. */
export const OTHER_HOST = 'switchyard.test';
const HOSTS = `--host-resolver-rules=MAP ${OTHER_HOST} 127.0.0.1`;

export interface OpenBrowser {
  readonly browser: Browser;
  /** A context whose pages reload if their scripts or styles fail to load. Not for pages with refused scripts. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>;
  close(): Promise<void>;
}

/**
 * Opens the address in the tab, again when the page is not loaded, for the reason above.
 * @param ready what the page then has, perhaps hidden; without it, only an address that fails is opened again
 */
export async function visit(tab: Page, url: string, ready?: Locator): Promise<void> {
  const open = async () => {
    await tab.goto(url);
    await ready?.waitFor({ state: 'attached', timeout: READY_MS_MAX });
  };
  await vi.waitFor(open, { timeout: VISIT_MS_MAX, interval: 250 });
}

/** The Chromium of the standard image, on this machine's own network: a browser as far from the computer as any. */
export async function openBrowser(): Promise<OpenBrowser> {
  const container = await new Docker().createContainer({
    Image: STANDARD_IMAGE,
    Cmd: ['chromium', '--headless', '--remote-debugging-port=0', ...MICROPHONE, HOSTS, 'about:blank'],
    HostConfig: { NetworkMode: 'host', AutoRemove: true, Init: true },
  });
  const remove = () => container.remove({ force: true }).catch(() => {}); // it goes by itself, too
  const connect = async () => {
    const said = (await container.logs({ stdout: true, stderr: true })).toString();
    const address = /DevTools listening on ws:\/\/(\S+?)\//.exec(said)?.[1];
    if (address === undefined) throw new Error(`Chromium does not listen: ${said}`);
    return chromium.connectOverCDP(`http://${address}`);
  };
  try {
    await container.start();
    const browser = await vi.waitFor(connect, { timeout: BROWSER_MS_MAX, interval: 250 });
    return {
      browser,
      async newContext(options) {
        const context = await browser.newContext(options);
        await context.addInitScript(LOAD_AGAIN);
        return context;
      },
      async close() {
        await browser.close();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
