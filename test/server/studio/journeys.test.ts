import type { FileChooser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { RunHandle } from '../../../src/client/index.ts';
import { openapiDocument } from '../../../src/server/openapi.ts';
import { ROUTES } from '../../../src/server/routes/all-routes.ts';
import { LOGIN_ROUTES } from '../../../src/server/routes/login.ts';
import { until } from '../testbed/testbed.ts';
import { press, shows, SKIPPED, StudioTestbed, tabTo } from './studio-testbed.ts';

const BROKEN = 'My lamp arrived broken. It is order 42.';

describe.skipIf(SKIPPED !== '')(`journeys through Studio by keyboard alone${SKIPPED}`, { timeout: 120_000 }, () => {
  let studio: StudioTestbed;
  beforeAll(async () => {
    studio = await StudioTestbed.open({ everyMs: 5 });
  }, 120_000);
  afterAll(async () => studio?.[Symbol.asyncDispose]());

  // What waits is in the inbox of the next reader.
  afterEach(async () => {
    for await (const { runId, endTime } of studio.client.list()) if (endTime === null) await studio.client.handle(runId).cancel('seen');
    await until(async () => (await studio.client.approvals().next()).done === true, 'nothing waits', 30);
  });

  /** Starts a run of the clerk, and returns it once its refund waits. */
  async function waitingRun(): Promise<RunHandle> {
    const run = await studio.client.start('clerk', { input: BROKEN });
    await expect.poll(async () => (await run.approvals()).pending.length, { timeout: 20_000 }).toBe(1);
    return run;
  }

  // The first one: there is no run yet.
  test('a newcomer finds a chat with an agent on the first page, and sees its steps next to it', async () => {
    const page = await studio.page();
    await shows(page, 'No runs yet');
    await tabTo(page, 'Say something');
    await page.keyboard.type('Hello');
    await page.keyboard.press('Enter');
    await shows(page, 'How can I help?');
    await shows(page, 'Step 1');
    expect(page.url()).toContain('#/playground/clerk/');
  });

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
    await page.locator('input:focus, textarea:focus').waitFor();
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

  test('a call that was decided meanwhile is not decided again, and the page says so', async () => {
    const run = await waitingRun();
    const page = await studio.page('#/agents');
    await page.locator('.badge').waitFor();
    // From then on, the list no longer arrives, as on a slow network: not even an answer in flight.
    let isCut = false;
    await page.route('**/approvals*', async (route) => {
      const response = await route.fetch();
      await (isCut ? route.abort() : route.fulfill({ response }));
    });
    await page.goto(`${studio.url}#/inbox`);
    await shows(page, 'within 30 days');
    isCut = true;
    await page.route('**/v1/feed*', (route) => route.abort());
    const [pending] = (await run.approvals()).pending;
    await run.approve(pending!);
    await run.result();
    await page.keyboard.press('a');
    await shows(page, 'Somebody has decided it meanwhile');
    const decisions = [];
    for await (const { decision } of run.events()) if (decision !== undefined) decisions.push(decision.type);
    expect(decisions).toEqual(['approve']);
    // What is on its way would fail once the browser is closed.
    await page.unrouteAll({ behavior: 'ignoreErrors' });
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

  test('a reader finds the request to the model, and the changes since the previous step', async () => {
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

  test('a filter applies while it is written, and no longer once it is emptied', async () => {
    await studio.client.start('parrot', { input: 'Hello', tags: ['nightly'] }).then((run) => run.result());
    await studio.client.start('parrot', { input: 'Hello' }).then((run) => run.result());
    const page = await studio.page('#/runs?agent=parrot');
    await shows(page, 'completed');
    const all = await page.locator('tbody tr').count();
    await tabTo(page, /^Tag/);
    await page.keyboard.type('nightly');
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
    expect(page.url()).toContain('tag=nightly');
    // As the cross of the field does.
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('tbody tr').count()).toBe(all);
    expect(page.url()).not.toContain('tag');
    // What was written and not applied is no filter of another page.
    await page.keyboard.type('x');
    await page.evaluate(`location.hash = '#/inbox'`);
    await shows(page, 'Nothing waits');
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(page.url()).toMatch(/#\/inbox$/);
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
    await expect.poll(() => page.locator('.nested .row').count(), { timeout: 20_000 }).toBeGreaterThan(2);
    await run.cancel('seen');
  });

  test('a record that is on its way is not said to be empty', async () => {
    const run = await studio.client.start('parrot', { input: 'Hello' });
    await run.result();
    const session = studio.client.session('parrot', { id: `chat-${run.runId}` });
    await session.ask('Good morning');
    const held = Promise.withResolvers<void>();
    for (const [place, says] of [
      [`runs/${encodeURIComponent(run.runId)}`, 'Hello'],
      [`playground/parrot/${session.id}`, 'Good morning'],
    ] as const) {
      const page = await studio.page('#/agents');
      await page.route('**/v1/runs/*/stream*', async (route) => {
        await held.promise;
        await route.continue();
      });
      await page.goto(`${studio.url}#/${place}`);
      await shows(page, 'Loading …');
      expect(await page.locator('main').innerText()).not.toMatch(/Nothing is (recorded|said)/);
      held.resolve();
      await shows(page, says);
      await page.unrouteAll({ behavior: 'wait' });
    }
    await session.close();
  });

  test('a chat that is opened anew is at its end and stays there', async () => {
    const session = studio.client.session('parrot', { id: `chat-${Date.now()}` });
    await session.ask(`${'One line\n'.repeat(40)}The end`);
    const page = await studio.page('#/agents', { viewport: { width: 900, height: 400 } });
    // A browser tells of scrolling when more has been said already.
    await page.addInitScript(`addEventListener('DOMContentLoaded', () =>
      new MutationObserver(() => document.querySelector('.talk')?.dispatchEvent(new Event('scroll')))
        .observe(document.body, { childList: true, subtree: true, characterData: true }))`);
    await page.goto(`${studio.url}#/playground/parrot/${session.id}`);
    await page.reload();
    const left = async (): Promise<number> =>
      Number(
        await page.evaluate(
          `(({ scrollHeight, clientHeight, scrollTop }) => scrollHeight - clientHeight - scrollTop)(document.querySelector('.talk'))`,
        ),
      );
    await shows(page, 'idle');
    await expect.poll(left).toBeLessThan(5);
    await session.ask(`${'Another line\n'.repeat(40)}The very end`);
    await shows(page, 'The very end');
    await expect.poll(left).toBeLessThan(5);
    // A reader who goes back stays there.
    await page.evaluate(`document.querySelector('.talk').scrollTo({ top: 100 })`);
    await session.ask('And more');
    await shows(page, 'And more');
    expect(await left()).toBeGreaterThan(200);
    await session.close();
  });

  test('a file that was attached can be removed again', async () => {
    const page = await studio.page('#/playground/parrot');
    await shows(page, 'Attach a file');
    const field = page.locator('input[type=file]');
    await field.setInputFiles({ name: 'map.png', mimeType: 'image/png', buffer: Buffer.from('not a picture') });
    await shows(page, 'Attached: map.png');
    // What the field itself says is the same.
    expect(await field.inputValue()).toContain('map.png');
    await press(page, 'Remove the file');
    await shows(page, 'Attach a file');
    expect(await field.inputValue()).toBe('');
    await tabTo(page, 'Say something');
    await page.keyboard.type('Nothing attached');
    await page.keyboard.press('Enter');
    await shows(page, 'turn 1 answers it');
    expect(await page.locator('.talk').innerText()).not.toContain('[image');
  });

  test('each line of an answer has its own direction', async () => {
    const run = await studio.client.start('parrot', { input: 'Hello\nمرحبا 12 Lamp\nשלום 34 Chair\nTable مرحبا' });
    await run.result();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'Ended');
    const order = await page.evaluate(`(() => {
      const node = document.createTreeWalker(document.querySelector('.ending .text'), NodeFilter.SHOW_TEXT).nextNode();
      const leftOf = (word, from = 0) => {
        const range = document.createRange();
        const at = node.data.indexOf(word, from);
        range.setStart(node, at);
        range.setEnd(node, at + word.length);
        return range.getBoundingClientRect().left;
      };
      const last = node.data.indexOf('Table');
      return [leftOf('مرحبا') > leftOf('Lamp'), leftOf('שלום') > leftOf('Chair'), leftOf('Table') < leftOf('مرحبا', last)];
    })()`);
    expect(order).toEqual([true, true, true]);
  });

  test('the receipt of a message is not shown in another chat', async () => {
    const page = await studio.page('#/playground/parrot');
    await tabTo(page, 'Say something');
    await page.keyboard.type('Hello there');
    await page.keyboard.press('Enter');
    await shows(page, 'Accepted: turn 1 answers it');
    await press(page, 'New chat');
    await shows(page, 'Nothing is said yet.');
    expect(await page.locator('main').innerText()).not.toContain('Accepted');
  });

  test('the search finds the arguments and the result of a call', async () => {
    const run = await waitingRun();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'Step 3');
    await tabTo(page, 'Search in the run');
    await page.keyboard.type('deliveredDaysAgo');
    await shows(page, '1 of 4 entries');
    expect(await page.locator('.rows > li').count()).toBe(1);
    await run.cancel('seen');
  });

  test('a reader finds out why step 7 did not know what step 1 had read', async () => {
    const run = await studio.client.start('forgetful', { input: 'What is the price on page 1?' });
    await run.result();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'I do not know the price');
    await press(page, 'Request of step 7');
    await shows(page, 'As sent');
    // What the model had read first is not in its request.
    const asked = await page.locator('section[aria-labelledby=wire]').innerText();
    expect([asked.includes('The price on page 6'), asked.includes('The price on page 1 ')]).toEqual([true, false]);
    // The step before says where it went.
    const taken = async (): Promise<boolean> =>
      /Content taken out|not in the conversation any more/i.test(await page.locator('main').innerText());
    for (let step = 7; step > 1 && !(await taken()); step -= 1) {
      await press(page, /Previous step/);
      await shows(page, `Request of step ${step - 1}`);
      await shows(page, 'As sent');
    }
    expect(await taken()).toBe(true);
  });

  test('a link leads to a step, and who has looked at its request is at it again', async () => {
    // More steps than are shown open, and few.
    for (const [steps, step] of [
      [150, 100],
      [6, 5],
    ] as const) {
      const run = await studio.client.start('clerk', { input: `many steps ${steps}`, limits: { steps: 200, toolCalls: 200 } });
      await run.result();
      const place = `#/runs/${encodeURIComponent(run.runId)}`;
      const page = await studio.page(`${place}/steps/${step}`, { viewport: { width: 1000, height: 500 } });
      const row = page.locator('.row[aria-current=location]');
      const isSeen = (): Promise<unknown> =>
        page.evaluate(
          `(() => { const place = document.querySelector('.row[aria-current=location] summary')?.getBoundingClientRect(); return place !== undefined && place.top >= 0 && place.bottom <= innerHeight; })()`,
        );
      await expect.poll(() => row.count(), { timeout: 40_000 }).toBe(1);
      expect(await row.innerText()).toContain(`Step ${step}\n`);
      // It is open.
      expect(await row.innerText()).toContain('Lamp');
      await expect.poll(isSeen).toBe(true);
      await page.getByRole('link', { name: `Request of step ${step - 1}` }).click();
      await shows(page, 'Both begin with about');
      await page.goBack();
      await expect.poll(() => row.innerText(), { timeout: 40_000 }).toContain(`Step ${step - 1}\n`);
      expect(page.url()).toContain(`${place}/steps/${step - 1}`);
      await expect.poll(isSeen).toBe(true);
      await page.goto(`${studio.url}${place}/steps/999`);
      await shows(page, 'The run has no step 999 so far.');
      await page.goto(`${studio.url}${place}/steps/abc/request`);
      await shows(page, 'There is no such page.');
    }
  });

  test("the last step's request has no successor, and the one before leads to it", async () => {
    const run = await studio.client.start('clerk', { input: 'many steps 1' });
    await run.result();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}/steps/1/request`);
    await shows(page, 'As sent');
    await press(page, /Next step/);
    await shows(page, 'Request of step 2');
    await shows(page, 'As sent');
    expect(await page.getByText('Next step').count()).toBe(0);
  });

  test('a request is copied as a command, without a key', async () => {
    const run = await studio.client.start('clerk', { input: "It's order 41" });
    await run.result();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}/steps/1/request`, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await shows(page, 'As sent');
    await press(page, 'Copy as curl');
    await shows(page, 'Copied');
    const copied = String(await page.evaluate('navigator.clipboard.readText()'));
    expect(copied).toMatch(/^curl "\$BASE_URL"'\/chat\/completions' -H "authorization: Bearer \$API_KEY"/);
    const [, body = ''] = /--data-raw '(.*)'$/s.exec(copied) ?? [];
    expect(JSON.parse(body.replaceAll(String.raw`'\''`, "'"))).toMatchObject({ model: 'clerk' });
  });

  test('a run is paused, gets more steps and other permissions, and continues, each with its receipt', async () => {
    const run = await waitingRun();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'Controls');
    await press(page, 'Pause');
    await shows(page, 'The run pauses after its current step');
    await press(page, 'Raise limits');
    await tabTo(page, 'Steps');
    await page.keyboard.type('77');
    await press(page, 'Apply');
    await shows(page, /Limits that hold now: .*77/);
    await press(page, 'Permissions');
    await tabTo(page, 'Rules as JSON');
    await page.keyboard.type('{"deny": [{"tool": "ask_warehouse"}]}');
    await press(page, 'Apply');
    await shows(page, 'The permissions are set');
    await press(page, 'Resume');
    await shows(page, 'The run continues');
    expect((await run.status()).limits).toMatchObject({ steps: 77 });
    await run.cancel('seen');
  });

  test('a run that was paused here and continued elsewhere is not said to be paused', async () => {
    const run = await studio.client.start('asker', { input: 'Paint it, also inside' });
    const answered = async (): Promise<void> => {
      await expect.poll(async () => (await run.approvals()).pending.length, { timeout: 20_000 }).toBe(1);
      const [pending] = (await run.approvals()).pending;
      await run.respond(pending!, { colour: 'blue', glossy: false });
    };
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'Which colour?');
    await press(page, 'Pause');
    await shows(page, 'The run pauses after its current step');
    const resume = page.getByRole('button', { name: 'Resume', exact: true });
    await resume.waitFor();
    await answered();
    await expect.poll(async () => (await run.status()).status, { timeout: 20_000 }).toBe('paused');
    await page.locator('h1').getByText('paused', { exact: true }).waitFor();
    await run.resume();
    await shows(page, 'And which one inside?');
    await page.getByRole('button', { name: 'Pause', exact: true }).waitFor();
    expect(await resume.count()).toBe(0);
    await run.cancel('seen');
  });

  test('parts that a reader has opened in a long run are open when they scroll back into view', async () => {
    const run = await waitingRun();
    const page = await studio.page();
    const texts = Array.from({ length: 200 }, (_, offset) => ({
      type: 'event',
      offset,
      event: {
        id: `e${offset}`,
        author: 'user',
        timestamp: '2026-11-01T00:00:00Z',
        content: [{ type: 'message', role: 'user', content: `Row ${offset}. ${'It is about lamps. '.repeat(20)}The end of row ${offset}` }],
      },
    }));
    const body = texts.map((item) => `id: ${item.offset}\nevent: event\ndata: ${JSON.stringify(item)}\n\n`).join('');
    const end = `event: end\ndata: ${JSON.stringify({ type: 'end', result: { status: 'completed', stopReason: 'final_answer', error: null, output: 'Read.' } })}\n\n`;
    await page.route('**/v1/runs/*/stream*', (route) => route.fulfill({ contentType: 'text/event-stream', body: body + end }));
    await page.evaluate(`location.hash = '#/runs/${encodeURIComponent(run.runId)}'`);
    const rows = page.locator('.windowed');
    await rows.getByText('Row 0.').first().waitFor();
    expect(await rows.getByText('The end of row 0').count()).toBe(0);
    await rows.locator('summary').first().click();
    await rows.getByText('The end of row 0').waitFor();
    await page.evaluate(`document.querySelector('.windowed').scrollTo(0, 5000)`);
    await expect.poll(() => rows.getByText('Row 0.').count(), { timeout: 20_000 }).toBe(0);
    await page.evaluate(`document.querySelector('.windowed').scrollTo(0, 0)`);
    await rows.getByText('The end of row 0').waitFor();
  });

  test('a message steers a run before its next model call, and another one interrupts the model', async () => {
    const run = await studio.client.start('clerk', { input: 'Answer slowly' });
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'and slowly and slowly');
    await tabTo(page, /^Message/);
    await page.keyboard.type('By the way');
    await tabTo(page, /^When the model reads it/);
    await page.keyboard.type('before');
    await press(page, 'Send');
    await shows(page, 'Accepted: the model reads it before step');
    await tabTo(page, /^Message/);
    await page.keyboard.type('Stop. My lamp arrived broken.');
    await tabTo(page, /^When the model reads it/);
    await page.keyboard.type('now');
    await press(page, 'Send');
    await shows(page, 'The answer was interrupted');
    await shows(page, 'Step 3');
    expect((await run.status()).status).not.toBe('completed');
    await run.cancel('seen');
  });

  test('a run that has failed is retried from a step, and the page shows how it continues', async () => {
    const run = await studio.client.start('clerk', { input: 'many steps 3' });
    await run.result();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'completed');
    await tabTo(page, 'From step');
    await page.keyboard.type('2');
    await press(page, 'Retry');
    await shows(page, /The run continues from step 2|Problem:/);
    await shows(page, 'completed');
    await expect.poll(() => page.locator('.row.answer').count(), { timeout: 20_000 }).toBe(4);
    await shows(page, /Ended\s+completed/);
  });

  test('a decision that is remembered is made once for every call of the tool', async () => {
    const run = await studio.client.start('clerk', { input: 'Pay twice' });
    const page = await studio.page('#/inbox');
    await shows(page, 'Pay twice');
    await tabTo(page, 'Remember for this run');
    await page.keyboard.type('every');
    await press(page, 'Approve');
    expect(await run.result()).toMatchObject({ output: 'Paid twice.' });
    const decisions = [];
    for await (const { decision } of run.events()) if (decision !== undefined) decisions.push([decision.type, decision.source]);
    expect(decisions).toEqual([
      ['approve', 'update'],
      ['approve', 'remembered'],
    ]);
  });

  test('invalid arguments are refused with the words of the validator, and can be corrected', async () => {
    const run = await waitingRun();
    const page = await studio.page(`#/inbox`);
    await shows(page, 'within 30 days');
    await page.keyboard.press('e');
    await tabTo(page, /^amount/);
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('-5');
    await press(page, 'Approve as edited');
    await shows(page, 'Problem: invalid_arguments');
    await shows(page, /amount/);
    expect((await run.approvals()).pending).toHaveLength(1);
    await tabTo(page, /^amount/);
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('5');
    await press(page, 'Approve as edited');
    await run.result();
    await shows(page, 'Nothing waits');
  });

  test('a question is answered in the form of its schema, and a limit is raised by approval', async () => {
    const asked = await studio.client.start('asker', { input: 'Paint it' });
    const page = await studio.page('#/inbox');
    await shows(page, 'Which colour?');
    await tabTo(page, /^colour/);
    await page.keyboard.type('blue');
    await tabTo(page, /^glossy/);
    await page.keyboard.press('Space');
    await press(page, 'Answer');
    expect(await asked.result()).toMatchObject({ output: 'It is done.' });
    const [answered] = (await asked.steps()).flatMap(({ toolCalls }) => toolCalls);
    expect(JSON.parse(answered?.result ?? '')).toEqual({ colour: 'blue', glossy: true });
    const limited = await studio.client.start('limited', { input: 'many steps 3' });
    await shows(page, 'The run has reached a limit');
    await page.keyboard.press('a');
    expect(await limited.result()).toMatchObject({ status: 'completed' });
  });

  test('a chat begins with deps and a file, and a second turn follows', async () => {
    const page = await studio.page('#/playground/guide');
    // The browser reports choosers from the moment on when it has heard of the first listener: not at the moment of the key.
    const chosen = new Promise<FileChooser>((resolve) => page.once('filechooser', resolve));
    await shows(page, 'Deps of the session');
    await tabTo(page, /^city/);
    await page.keyboard.type('Hamburg');
    await tabTo(page, /^days/);
    await page.keyboard.type('3');
    await tabTo(page, 'Say something');
    await page.keyboard.type('Show me this');
    await tabTo(page, 'Attach a file');
    await page.keyboard.press('Enter');
    await (await chosen).setFiles({ name: 'map.png', mimeType: 'image/png', buffer: Buffer.from('not a picture') });
    await shows(page, 'Attached: map.png');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await shows(page, 'You have sent 1 files');
    await shows(page, 'image/png');
    await tabTo(page, 'Say something');
    await page.keyboard.type('And now?');
    await page.keyboard.press('Enter');
    await shows(page, /turn 2 answers it|Turn 2 ended/);
    await press(page, 'Open the run');
    await shows(page, 'Turn 2 ended');
    expect(await page.locator('main img').count()).toBe(0);
  });

  test('an agent, a handoff, a flow and a program are graphs, with the state of a run', async () => {
    const [passed, flow, program] = await Promise.all([
      studio.client.start('desk', { input: 'Hello' }),
      studio.client.start('article', { input: 'Write' }),
      studio.client.startProgram('letter', {}),
    ]);
    await Promise.all([passed.result(), flow.result(), program.result()]);
    const page = await studio.page('#/agents');
    await shows(page, 'Passes people on');
    await press(page, 'desk');
    await shows(page, 'by handoff');
    await page.locator('svg.graph g').nth(1).waitFor();
    const draws = async (runId: string, text: RegExp): Promise<void> => {
      await page.goto(`${studio.url}#/runs/${encodeURIComponent(runId)}`);
      await expect.poll(() => page.locator('svg.graph').first().textContent(), { timeout: 20_000 }).toMatch(text);
    };
    await draws(passed.runId, /desk.*1 step.*parrot.*1 step/);
    await draws(flow.runId, /sequential flow.*writer.*1 step.*editor.*1 step/);
    await draws(program.runId, /Letter.*2 attempts · 1 breach/);
  });

  test('the tree leads to a descendant, and from there back to its parent', async () => {
    const run = await waitingRun();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'with 1 run below');
    await tabTo(page, 'order_reader');
    await page.keyboard.press('Enter');
    await shows(page, 'It was paid by card');
    await press(page, run.runId);
    await shows(page, 'My lamp arrived broken');
    expect(page.url()).toContain(encodeURIComponent(run.runId));
    await run.cancel('seen');
  });

  test('every request of the page is in the OpenAPI document, and nothing went wrong in any of them', () => {
    const { paths } = openapiDocument([...ROUTES, ...LOGIN_ROUTES], '') as { paths: Record<string, Record<string, unknown>> };
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
