import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { RunHandle } from '../../../src/client/index.ts';
import { defineAgent, defineHook, defineTool } from '../../../src/index.ts';
import { until } from '../testbed/testbed.ts';
import { press, shows, SKIPPED, StudioTestbed, tabTo } from './studio-testbed.ts';

const BROKEN = 'My lamp arrived broken. It is order 42.';

const fileAway = defineTool({
  name: 'file_away',
  description: 'Files papers',
  parameters: z.looseObject({}),
  approval: 'always',
  execute: () => 'filed',
});

/** Puts its own words into each paper, whatever the model has written. */
const stamp = defineHook({
  name: 'stamp',
  on: 'pre_tool_use',
  match: 'file_away',
  failClosed: true,
  run: ({ arguments: args }) =>
    args['stamped'] === true ? { modify: { arguments: { ...args, paper: `${args['paper'] as string} Stamped.` } } } : 'allow',
});

const filer = defineAgent({ name: 'filer', model: 'scripted/clerk', instructions: 'You repeat.', tools: [fileAway], hooks: [stamp] });

describe.skipIf(SKIPPED !== '')(`the inbox of Studio${SKIPPED}`, { timeout: 120_000 }, () => {
  let studio: StudioTestbed;
  beforeAll(async () => {
    studio = await StudioTestbed.open({ more: [filer] });
  }, 120_000);
  afterAll(async () => studio?.[Symbol.asyncDispose]());

  // What waits is in the inbox of the next reader.
  afterEach(async () => {
    for await (const { runId, endTime } of studio.client.list()) if (endTime === null) await studio.client.handle(runId).cancel('seen');
    await until(async () => (await studio.client.approvals().next()).done === true, 'nothing waits', 30);
  });

  async function waitingRun(agent = 'clerk', input = BROKEN): Promise<RunHandle> {
    const run = await studio.client.start(agent, { input });
    await expect.poll(async () => (await run.approvals()).pending.length, { timeout: 20_000 }).toBe(1);
    return run;
  }

  const shownRun = (page: Page): Promise<string> => page.locator('.decision header').innerText();

  test('what cannot be asked of one run is said, next to what waits in the others, until it is answered', async () => {
    const [one, other] = [await waitingRun(), await waitingRun()];
    const page = await studio.page('#/inbox');
    await shows(page, '2 decisions waiting');
    let isBroken = true;
    const path = `**/v1/runs/${encodeURIComponent(other.runId)}/approvals`;
    await page.route(path, (route) =>
      isBroken && route.request().method() === 'GET'
        ? route.fulfill({ status: 500, json: { code: 'internal', detail: 'The worker does not answer', status: 500 } })
        : route.continue(),
    );
    // The reader looks at the run that does not answer.
    while (!(await shownRun(page)).includes(other.runId)) await page.keyboard.press((await currentIndex(page)) === 0 ? 'j' : 'k');
    await shows(page, 'The worker does not answer');
    await shows(page, '2 decisions waiting');
    // The other one can be decided meanwhile, and does not answer for it.
    await page.keyboard.press((await currentIndex(page)) === 0 ? 'j' : 'k');
    await expect.poll(() => shownRun(page), { timeout: 20_000 }).toContain(one.runId);
    await page.keyboard.press('a');
    await one.result();
    await shows(page, '1 decision waiting');
    await shows(page, 'The worker does not answer');
    isBroken = false;
    await expect.poll(() => page.locator('main').innerText(), { timeout: 40_000 }).not.toContain('The worker does not answer');
    await shows(page, '1 decision waiting');
  });

  test('a key that is pressed as soon as a decision is drawn counts', async () => {
    await waitingRun();
    const page = await studio.page('#/agents');
    await page.locator('.badge').waitFor();
    // Before the page is painted, and so before any person.
    await page.evaluate(`new MutationObserver((_, watch) => {
      if (![...document.querySelectorAll('.decision button')].some((button) => button.textContent === 'Edit')) return;
      watch.disconnect();
      dispatchEvent(new KeyboardEvent('keydown', { key: 'e', cancelable: true }));
    }).observe(document.body, { childList: true, subtree: true })`);
    await press(page, /^Inbox/);
    await shows(page, 'Approve as edited');
    expect(await page.locator('.edit').count()).toBe(1);
  });

  test('a run that asks a second time is answered a second time', async () => {
    const run = await waitingRun('asker', 'Paint it, also inside');
    const page = await studio.page('#/inbox');
    await shows(page, 'Which colour?');
    await tabTo(page, /^colour/);
    await page.keyboard.type('blue');
    await press(page, 'Answer');
    await shows(page, 'And which one inside?');
    // No part of the first answer is in the second form.
    expect(await page.getByRole('textbox', { name: 'colour *' }).inputValue()).toBe('');
    await tabTo(page, /^colour/);
    await page.keyboard.type('white');
    await press(page, 'Answer');
    expect(await run.result()).toMatchObject({ output: 'It is done.' });
    expect(JSON.stringify(await run.steps())).toMatch(/blue.*white/);
    await shows(page, 'Nothing waits');
  });

  test('those who hear the page can tell decisions about one tool apart, and hear how many wait', async () => {
    const run = await studio.client.start('filer', { input: JSON.stringify({ names: ['file_away', 'file_away'], say: 'Filed' }) });
    await expect.poll(async () => (await run.approvals()).pending.length, { timeout: 20_000 }).toBe(2);
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await page.getByRole('link', { name: 'Inbox 2 decisions waiting', exact: true }).waitFor();
    const second = page.getByRole('article', { name: 'file_away, 2 of 2', exact: true });
    await page.getByRole('article', { name: 'file_away, 1 of 2', exact: true }).waitFor();
    await second.getByRole('button', { name: 'Reject' }).click();
    await second.getByRole('button', { name: 'Reject' }).click();
    await page.getByRole('article', { name: 'file_away', exact: true }).waitFor();
    await press(page, /^Inbox/);
    await expect.poll(() => page.getByRole('status').allInnerTexts()).toContain('1 decision waiting');
    // What was asked tells the items of the list apart.
    expect(await page.locator('.waiting li').innerText()).toContain('"names":["file_away"');
  });

  test('the item that its reader looks at stays on the screen when another one is inserted before it, and a key decides only that item', async () => {
    const first = await waitingRun();
    const page = await studio.page('#/inbox');
    await shows(page, '1 decision waiting');
    // Another one comes before it in the list.
    await page.route('**/v1/runs/*/approvals', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { pending: { requestedAt: string }[] };
      const isFirst = route.request().url().includes(encodeURIComponent(first.runId));
      const pending = isFirst ? body.pending : body.pending.map((one) => ({ ...one, requestedAt: '2000-01-01T00:00:00Z' }));
      await route.fulfill({ response, json: { ...body, pending } });
    });
    const second = await waitingRun();
    await shows(page, '2 decisions waiting');
    await expect.poll(() => currentIndex(page), { timeout: 20_000 }).toBe(1);
    expect(await shownRun(page)).toContain(first.runId);
    await page.keyboard.press('a');
    await first.result();
    await expect.poll(() => shownRun(page), { timeout: 20_000 }).toContain(second.runId);
    expect((await second.approvals()).pending).toHaveLength(1);
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('when somebody else has decided the shown call, the key that was meant for it decides nothing', async () => {
    const runs = [await waitingRun(), await waitingRun()];
    const page = await studio.page('#/inbox');
    await shows(page, '2 decisions waiting');
    const shown = await shownRun(page);
    const [one, other] = shown.includes(runs[0]!.runId) ? [runs[0]!, runs[1]!] : [runs[1]!, runs[0]!];
    const [pending] = (await one.approvals()).pending;
    await one.approve(pending!);
    await shows(page, 'The decision that was shown here no longer waits');
    expect(await shownRun(page)).toContain(other.runId);
    await page.keyboard.press('a');
    await expect.poll(() => page.locator('main').innerText(), { timeout: 20_000 }).not.toContain('no longer waits');
    expect((await other.approvals()).pending).toHaveLength(1);
    await page.keyboard.press('a');
    expect(await other.result()).toMatchObject({ status: 'completed' });
  });

  test('a decision that the service refuses is reported even when its subject is gone', async () => {
    const run = await waitingRun();
    const page = await studio.page('#/inbox');
    await shows(page, '1 decision waiting');
    const held = Promise.withResolvers<void>();
    await page.route(`**/v1/runs/*/approvals/*`, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.keyboard.press('r');
    await page.locator('textarea:focus').waitFor();
    await press(page, 'Reject with this reason');
    const [pending] = (await run.approvals()).pending;
    await run.approve(pending!);
    await run.result();
    await shows(page, 'Nothing waits');
    held.resolve();
    await shows(page, 'Your decision was not taken');
    const note = page.getByRole('alert').filter({ hasText: 'Your decision was not taken' });
    expect(await note.innerText()).not.toContain('Error:');
    expect(await note.getByRole('link').getAttribute('href')).toContain(run.runId);
    const decisions = [];
    for await (const { decision } of run.events()) if (decision !== undefined) decisions.push(decision.type);
    expect(decisions).toEqual(['approve']);
  });

  test('of two who decide one call at once, the one whose decision was not taken reads so, also on the page of the run', async () => {
    const run = await waitingRun();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'within 30 days');
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    // The form stays until the refusal has come, and goes then.
    const refused = page.waitForResponse((response) => response.request().method() === 'POST' && response.status() === 409);
    const isRefused = refused.then(() => new Promise((resolve) => setTimeout(resolve, 200)));
    await page.route('**/approvals*', async (route) => {
      if (route.request().method() === 'GET') await isRefused;
      await route.continue();
    });
    const [pending] = (await run.approvals()).pending;
    await run.reject(pending!, { reason: 'Not without a photo' });
    await run.result();
    await press(page, 'Approve');
    await expect.poll(() => page.locator('.decision').count(), { timeout: 20_000 }).toBe(0);
    const note = page.getByRole('alert').filter({ hasText: 'Your decision was not taken' });
    expect(await note.innerText()).toContain('Somebody has decided it meanwhile.');
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('the page does not claim that a decision failed if it was taken and only its answer is lost', async () => {
    const run = await waitingRun();
    const page = await studio.page('#/inbox');
    await shows(page, '1 decision waiting');
    const held = Promise.withResolvers<void>();
    await page.route(`**/v1/runs/*/approvals/*`, async (route) => {
      await route.fetch();
      await held.promise;
      await route.fulfill({ status: 504, body: '' });
    });
    await page.keyboard.press('a');
    await run.result();
    await shows(page, 'Nothing waits');
    held.resolve();
    await shows(page, 'It is not known whether your decision was taken');
    expect(await page.getByText('not taken').count()).toBe(0);
    const note = page.getByRole('alert');
    expect(await note.getByRole('link').getAttribute('href')).toContain(run.runId);
    await note.getByRole('button', { name: 'Hide' }).click();
    await expect.poll(() => note.count(), { timeout: 20_000 }).toBe(0);
  });

  test('long arguments that could not be loaded are loaded again, at once with a button', async () => {
    await waitingRun('filer', JSON.stringify({ tool: 'file_away', args: { paper: 'p'.repeat(21_000), letter: 'l' }, say: 'Filed' }));
    const page = await studio.page();
    let isAway = true;
    await page.route('**/v1/runs/*/calls/*', (route) =>
      isAway ? route.fulfill({ status: 503, json: { code: 'overloaded', detail: 'Restarting' } }) : route.continue(),
    );
    await page.evaluate(`location.hash = '#/inbox'`);
    await shows(page, 'Restarting');
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await shows(page, 'Restarting');
    isAway = false;
    await shows(page, 'Show all of the arguments first');
    expect(await page.getByText('Restarting').count()).toBe(0);
  });

  test('several long arguments must each be opened before they can be approved, and the call runs with them', async () => {
    const [paper, letter] = ['p'.repeat(21_000), 'l'.repeat(22_000)];
    const args = { paper, letter, short: 'yes', stamped: true };
    const run = await waitingRun('filer', JSON.stringify({ tool: 'file_away', args, say: 'Filed' }));
    const page = await studio.page('#/inbox');
    await shows(page, 'Show all of the arguments first');
    const approve = page.getByRole('button', { name: 'Approve', exact: true });
    const more = page.locator('.decision button.more');
    await expect.poll(() => more.count(), { timeout: 20_000 }).toBe(2);
    await more.first().click();
    await expect.poll(() => more.count(), { timeout: 20_000 }).toBe(1);
    expect(await approve.isDisabled()).toBe(true);
    await more.first().click();
    // The hook has changed what the model wrote: the reader sees what will run.
    await shows(page, 'p Stamped.');
    expect(await approve.isEnabled()).toBe(true);
    await approve.click();
    await run.result();
    const [call] = (await run.steps()).flatMap(({ toolCalls }) => toolCalls);
    expect(call).toMatchObject({ arguments: { paper: `${paper} Stamped.`, letter } });
  });

  test('many short arguments can be approved without opening them', async () => {
    const args = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`field_${index}`, 'x'.repeat(600)]));
    const run = await waitingRun('filer', JSON.stringify({ tool: 'file_away', args, say: 'Filed' }));
    const page = await studio.page('#/inbox');
    await shows(page, 'field_39');
    expect(await page.getByText('Show all of the arguments first').count()).toBe(0);
    await page.keyboard.press('a');
    expect(await run.result()).toMatchObject({ output: 'Filed' });
    // Nothing went wrong in any of these pages.
    expect(studio.problems).toEqual([]);
  });
});

async function currentIndex(page: Page): Promise<number> {
  const entries = await page.locator('.waiting button').all();
  const current = await Promise.all(entries.map((one) => one.getAttribute('aria-current')));
  return current.indexOf('true');
}
