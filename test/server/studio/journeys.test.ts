import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunHandle } from '../../../src/client/index.ts';
import { openapiDocument } from '../../../src/server/openapi.ts';
import { ROUTES } from '../../../src/server/routes/all-routes.ts';
import { shows, SKIPPED, StudioTestbed } from './studio-testbed.ts';

const BROKEN = 'My lamp arrived broken. It is order 42.';

describe.skipIf(SKIPPED !== '')(`journeys through Studio by keyboard alone${SKIPPED}`, { timeout: 120_000 }, () => {
  let studio: StudioTestbed;
  beforeAll(async () => {
    studio = await StudioTestbed.open({ everyMs: 5 });
  }, 120_000);
  afterAll(async () => studio?.[Symbol.asyncDispose]());

  /** Starts a run of the clerk, and returns it once its refund waits. */
  async function waitingRun(): Promise<RunHandle> {
    const run = await studio.client.start('clerk', { input: BROKEN });
    await expect.poll(async () => (await run.approvals()).pending.length, { timeout: 20_000 }).toBe(1);
    return run;
  }

  /** Presses Tab until the element with that name has the focus. */
  async function tabTo(page: Page, name: string | RegExp): Promise<void> {
    for (let presses = 0; presses < 80; presses += 1) {
      await page.keyboard.press('Tab');
      const text = await page.evaluate(
        '(() => { const one = document.activeElement; return [one.getAttribute("aria-label"), one.labels?.[0]?.textContent, one.textContent].find((text) => text) ?? ""; })()',
      );
      if (typeof name === 'string' ? String(text).startsWith(name) : name.test(String(text))) return;
    }
    throw new Error(`No element named ${name} can be reached by Tab`);
  }

  test('a reader finds a run that waits, edits its arguments, and approves it', async () => {
    const run = await waitingRun();
    const page = await studio.page();
    await shows(page, 'waiting');
    await tabTo(page, /^Inbox/);
    await page.keyboard.press('Enter');
    await shows(page, 'within 30 days');
    await page.keyboard.press('e');
    await tabTo(page, /^amount/);
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('75');
    await tabTo(page, 'Approve as edited');
    await page.keyboard.press('Enter');
    const result = await run.result();
    expect(result.status).toBe('completed');
    const [decision] = (await run.steps()).flatMap(({ toolCalls }) => toolCalls).filter(({ toolName }) => toolName === 'refund');
    expect(decision).toMatchObject({ arguments: { amount: 75, order: 42 }, isError: false });
    await shows(page, 'Nothing waits for a decision');
  });

  test('j and k move between decisions, a approves and r rejects with a reason', async () => {
    const runs = [await waitingRun(), await waitingRun()];
    const page = await studio.page('#/inbox');
    await shows(page, '2 decisions waiting');
    await page.keyboard.press('?');
    await shows(page, 'reject, with a reason');
    await page.keyboard.press('j');
    await expect.poll(() => page.locator('.waiting [aria-current=true]').count()).toBe(1);
    expect(await page.locator('.waiting button').nth(1).getAttribute('aria-current')).toBe('true');
    await page.keyboard.press('k');
    expect(await page.locator('.waiting button').first().getAttribute('aria-current')).toBe('true');
    await page.keyboard.press('r');
    await page.keyboard.type('Not without a photo');
    await tabTo(page, 'Reject');
    await page.keyboard.press('Enter');
    await shows(page, '1 decision waiting');
    await page.keyboard.press('a');
    await shows(page, 'Nothing waits');
    const decisions = [];
    for (const run of runs) {
      await run.result();
      for await (const { decision } of run.events())
        if (decision !== undefined) decisions.push(`${decision.type}: ${decision.reason ?? ''}`);
    }
    expect(decisions.toSorted()).toEqual(['approve: ', 'reject: Not without a photo']);
  });

  test('what was decided meanwhile is not decided again, and the page says so', async () => {
    const run = await waitingRun();
    const page = await studio.page('#/inbox');
    await shows(page, 'within 30 days');
    // Nothing of the list comes any more, as on a slow network.
    await page.route('**/v1/feed*', (route) => route.abort());
    await page.route('**/v1/approvals*', (route) => route.abort());
    const [pending] = (await run.approvals()).pending;
    await run.approve(pending!);
    await run.result();
    await page.keyboard.press('a');
    await shows(page, 'Somebody has decided it meanwhile');
    const decisions = [];
    for await (const { decision } of run.events()) if (decision !== undefined) decisions.push(decision.type);
    expect(decisions).toEqual(['approve']);
  });

  test('a reader talks to an agent, approves in place, and sees each step', async () => {
    const page = await studio.page('#/playground/clerk');
    await shows(page, 'Talk to an agent');
    await tabTo(page, 'Say something');
    await page.keyboard.type(BROKEN);
    await page.keyboard.press('Enter');
    await shows(page, 'Approve');
    await shows(page, 'Step 3');
    await tabTo(page, 'Approve');
    await page.keyboard.press('Enter');
    await shows(page, 'within three days. We are sorry');
    await shows(page, 'idle');
    expect(await page.locator('.bubble').count()).toBeGreaterThan(2);
  });

  test('a reader finds out what the model was asked, and what has changed since the step before', async () => {
    const run = await waitingRun();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'Step 3');
    await tabTo(page, 'Request of step 2');
    await page.keyboard.press('Enter');
    await shows(page, 'Both begin with about');
    await tabTo(page, 'Line by line');
    await page.keyboard.press('Enter');
    await shows(page, '+ ');
    expect(await page.locator('.lines ins').count()).toBeGreaterThan(0);
    await run.cancel('seen');
  });

  test('the filters of the list are in its address, and a credential never is', async () => {
    const page = await studio.page();
    await shows(page, 'runs');
    await tabTo(page, /^AgentAny/);
    await page.keyboard.type('parrot');
    await expect.poll(() => page.url()).toContain('agent=parrot');
    const other = await studio.page(`#${new URL(page.url()).hash.slice(1)}`);
    await shows(other, 'No run fits');
    await studio.client.start('parrot', { input: 'Hello' }).then((run) => run.result());
    // The feed brings it without a load.
    await expect.poll(() => other.locator('tbody tr').count(), { timeout: 20_000 }).toBe(1);
  });

  test('a message to a run is answered with its receipt, and a run can be cancelled', async () => {
    const run = await waitingRun();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'Controls');
    await tabTo(page, /^Message/);
    await page.keyboard.type('Please hurry');
    await tabTo(page, 'Send');
    await page.keyboard.press('Enter');
    await shows(page, 'Accepted');
    await tabTo(page, 'Cancel the run');
    await page.keyboard.press('Enter');
    await tabTo(page, 'Reason');
    await page.keyboard.type('A test');
    await tabTo(page, 'Yes, cancel it');
    await page.keyboard.press('Enter');
    await shows(page, 'The run has been asked to end');
    await expect.poll(async () => (await run.status()).status, { timeout: 20_000 }).toBe('cancelled');
    await shows(page, 'Retry');
  });

  test('a run of a child opens in the place of its call', async () => {
    const run = await waitingRun();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'Child run');
    await tabTo(page, 'Show it here');
    await page.keyboard.press('Enter');
    await shows(page, 'It was paid by card nine days ago.');
    await expect.poll(() => page.locator('.nested .row').count()).toBeGreaterThan(2);
    await run.cancel('seen');
  });

  test('the search finds what a call was given, and what it returned', async () => {
    const run = await waitingRun();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'Step 3');
    await tabTo(page, 'Search in the run');
    await page.keyboard.type('deliveredDaysAgo');
    await shows(page, '1 of 4 entries');
    expect(await page.locator('.rows > li').count()).toBe(1);
    await run.cancel('seen');
  });

  test('every request of the page is in the OpenAPI document, and nothing went wrong in any of them', () => {
    const { paths } = openapiDocument(ROUTES, '') as { paths: Record<string, Record<string, unknown>> };
    const known = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => [method.toUpperCase(), new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)] as const),
    );
    const asked = studio.requests.filter(({ path }) => !path.startsWith('/studio'));
    expect(asked.length).toBeGreaterThan(50);
    const unknown = asked.filter(({ method, path }) => !known.some(([one, pattern]) => one === method && pattern.test(path)));
    expect(unknown).toEqual([]);
    expect(studio.problems).toEqual([]);
  });
});
