import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { RunHandle } from '../../../src/client/index.ts';
import { contentFilter, defineAgent, defineTool } from '../../../src/index.ts';
import { until } from '../testbed/testbed.ts';
import { shows, SKIPPED, StudioTestbed } from './studio-testbed.ts';

const model = 'scripted/clerk' as const;

const write = defineTool({
  name: 'look_up',
  description: 'Writes to a customer',
  parameters: z.looseObject({}),
  category: 'communicate',
  execute: () => 'written',
});

const quiet = defineAgent({
  name: 'quiet',
  model,
  instructions: 'You repeat.',
  tools: [write],
  quietHours: { from: '00:00', to: '23:59', zone: 'UTC' },
});
const failing = defineAgent({ name: 'failing', model, instructions: 'You fail.' });
const guarded = defineAgent({
  name: 'guarded',
  model,
  instructions: 'You repeat.',
  guardrails: [contentFilter({ type: 'output', keywords: ['secret'] })],
});

/** A state of a run: how a run gets into it, and what the list and the page say. */
interface State {
  name: string;
  start: () => Promise<Pick<RunHandle, 'runId'>>;
  /** The status in the list and in the heading. */
  status: string;
  /** Why it has ended, or what it waits for. */
  says: RegExp;
  /** What is in the place of an answer. */
  answer?: string;
}

/** Reads what is wrong with the page of a run in any state: parts without content, and texts that no person would write. */
const FAULTS = `(() => {
  const main = document.querySelector('#main');
  const empty = [...main.querySelectorAll('section, aside > *, .note, .row, .call, .text, h2, h3, dd, li')].filter((one) => {
    const rest = one.cloneNode(true);
    if (one.matches('section')) for (const heading of rest.querySelectorAll('h2, h3')) heading.remove();
    return rest.textContent.trim() === '' && rest.querySelector('input, textarea, svg, canvas') === null && !one.matches('.chart');
  });
  const words = [...main.querySelectorAll('h1, h2, h3, .note, .fact, .ending, .facts, .tag, .legend, .graph')].map((one) => one.textContent);
  return [
    ...empty.map((one) => 'empty: ' + one.outerHTML.slice(0, 200)),
    ...words.filter((text) => /undefined|null|NaN|\\[object|\\{"|\\[\\{|final_answer|step_limit|token_budget|tool_call_limit|max_iterations|pending_confirmation/.test(text)).map((text) => 'words: ' + text.slice(0, 200)),
  ];
})()`;

describe.skipIf(SKIPPED !== '')(`a run in each status${SKIPPED}`, { timeout: 120_000 }, () => {
  let studio: StudioTestbed;
  let page: Page;
  beforeAll(async () => {
    studio = await StudioTestbed.open({ more: [quiet, failing, guarded] });
    page = await studio.page('#/runs');
  }, 120_000);
  afterAll(async () => studio?.[Symbol.asyncDispose]());

  const start = (agent: string, input: string, options: object = {}): Promise<RunHandle> =>
    studio.client.start(agent, { input, ...options });
  const waiting = async (): Promise<RunHandle> => {
    const run = await start('asker', 'Paint it');
    await until(async () => (await run.approvals()).pending.length === 1, 'the question waits', 60);
    return run;
  };

  const STATES: State[] = [
    { name: 'completed', start: () => start('clerk', 'Hello'), status: 'completed', says: /Ended completed/, answer: 'How can I help?' },
    {
      name: 'cancelled, with a reason',
      start: async () => {
        const run = await waiting();
        await run.cancel('the customer has called off', { by: 'kim' });
        return run;
      },
      status: 'cancelled',
      says: /It was cancelled\. Reason: the customer has called off \(kim\)/,
      answer: 'It has ended without an answer.',
    },
    {
      name: 'cancelled, without a reason',
      start: async () => {
        const run = await waiting();
        await studio.client.temporal.workflow.getHandle(run.runId).cancel();
        return run;
      },
      status: 'cancelled',
      says: /It was cancelled, without a reason\./,
      answer: 'It has ended without an answer.',
    },
    {
      name: 'at its deadline',
      start: () => start('asker', 'Paint it', { limits: { deadline: '2s' } }),
      status: 'limit reached',
      says: /Its deadline has passed, 2\.0 s after its start/,
      answer: 'It has ended without an answer.',
    },
    {
      name: 'at its limit of steps',
      start: () => start('clerk', 'many steps 9', { limits: { steps: 2 } }),
      status: 'max iterations reached',
      says: /It has reached its limit: 2 steps\./,
      answer: 'It has ended without an answer.',
    },
    {
      name: 'at its limit of tokens',
      start: () => start('clerk', 'many steps 9', { limits: { totalTokens: 1_000 } }),
      status: 'limit reached',
      says: /It has reached its limit: 1,000 tokens\./,
      answer: 'It has ended without an answer.',
    },
    {
      name: 'failed',
      start: () => start('failing', 'Hello'),
      status: 'error',
      says: /The request is not understood \(model_bad_request\)/,
      answer: 'It has ended without an answer.',
    },
    {
      name: 'blocked by a guardrail',
      start: () => start('guarded', 'the secret'),
      status: 'error',
      says: /Guardrail “content-filter” blocked the answer: It contains "secret"/,
      answer: 'Response blocked: It contains "secret"',
    },
    {
      name: 'terminated',
      start: async () => {
        const run = await waiting();
        await studio.client.temporal.workflow.getHandle(run.runId).terminate('ops did it');
        return run;
      },
      status: 'error',
      says: /Ended terminated\s.*was terminated by an operator \(ops did it\)/s,
    },
    { name: 'waiting for a decision', start: waiting, status: 'waiting', says: /Which colour\?.*Waits for a decision\./s },
    {
      name: 'paused',
      start: async () => {
        const run = await start('clerk', 'many steps 90', { limits: { steps: 100, toolCalls: 100 } });
        await run.pause();
        return run;
      },
      status: 'paused',
      says: /It is paused: it continues when somebody resumes it\./,
    },
    {
      name: 'without a worker',
      start: () => start('clerk', 'Hello', { taskQueue: `nobody-${randomUUID()}` }),
      status: 'running',
      says: /No worker polls the task queue “nobody-.*”: it waits since .*Nothing is recorded yet\./s,
    },
    {
      name: 'refused by its provider',
      start: () => start('failing', 'busy'),
      status: 'running',
      says: /The model call: the provider has refused it (once|\d+ times) \(model_server_error\), it is tried again at [\d:]+, given up at .* Overloaded/,
    },
    {
      name: 'in quiet hours',
      start: () => start('quiet', JSON.stringify({ args: {} })),
      status: 'running',
      says: /A call of look_up waits until .*: quiet hours until 23:59 \(UTC\)\..*Waits until /s,
    },
    {
      name: 'idle',
      start: async () => {
        const session = studio.client.session('clerk', { id: `idle-${randomUUID()}` });
        await session.ask('Hello');
        return { runId: session.id };
      },
      status: 'idle',
      says: /It waits for the next message\./,
    },
    {
      name: 'a program that has ended',
      start: async () => {
        const run = await studio.client.startProgram('letter', {});
        await run.result();
        return run;
      },
      status: 'completed',
      says: /Ended completed/,
      answer: 'We pay',
    },
  ];

  test.each(STATES)('$name: the list, the heading, the answer and the steps say so, without an empty part', async (state) => {
    const { runId } = await state.start();
    await page.goto(`${studio.url}#/runs/${encodeURIComponent(runId)}`);
    await expect
      .poll(
        () =>
          page
            .locator('header.title .status')
            .innerText()
            .catch(() => ''),
        { timeout: 30_000 },
      )
      .toBe(state.status);
    await shows(page, state.says);
    const endings = (await page.locator('.ending').allInnerTexts()).join();
    expect(endings).toContain(state.answer ?? '');
    expect(endings !== '').toBe(/Ended/.test(state.says.source) || state.answer !== undefined);
    await expect.poll(() => page.evaluate(FAULTS), { timeout: 10_000 }).toEqual([]);
    await page.goto(`${studio.url}#/runs`);
    const row = page.locator('tr', { hasText: runId });
    await expect
      .poll(
        () =>
          row
            .locator('.status')
            .innerText()
            .catch(() => ''),
        { timeout: 20_000 },
      )
      .toBe(state.status);
    expect(studio.problems).toEqual([]);
  });
});
