import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runView } from '../../../src/cli/render/run-view.ts';
import { shows, SKIPPED, StudioTestbed } from './studio-testbed.ts';

/** Inputs of runs: answers, calls, children, failures, limits. */
const INPUTS = [
  ['clerk', 'Hello'],
  ['clerk', 'My lamp arrived broken.'],
  ['clerk', 'many steps 3'],
  ['clerk', 'many steps 12'],
  ['parrot', 'A text'],
  ['parrot', JSON.stringify({ args: { a: 1 }, say: 'x' })],
  ['parrot', JSON.stringify({ args: {}, tool: 'no_such_tool', say: 'y' })],
  ['clerk', 'many steps 7'],
] as const;

/** Reads the facts of a run off the page. */
const FACTS =
  'Object.fromEntries([...document.querySelectorAll("aside .facts > div")].map((one) => [one.querySelector("dt").textContent, one.querySelector("dd").textContent]))';

describe.skipIf(SKIPPED !== '')(`what Studio and the command line say of runs${SKIPPED}`, { timeout: 120_000 }, () => {
  let studio: StudioTestbed;
  beforeAll(async () => {
    studio = await StudioTestbed.open();
  }, 120_000);
  afterAll(async () => studio?.[Symbol.asyncDispose]());

  test('both have the same numbers, for runs that wait and runs that have ended', async () => {
    const runs = await Promise.all(INPUTS.map(([agent, input]) => studio.client.start(agent, { input })));
    await expect
      .poll(async () => (await Promise.all(runs.map((run) => run.status()))).filter(({ status }) => status === 'running').length, {
        timeout: 120_000,
      })
      .toBe(0);
    const page = await studio.page();
    for (const run of runs) {
      const view = await runView(studio.client, run.runId);
      const tree = await run.tree();
      await page.goto(`${studio.url}#/runs/${encodeURIComponent(run.runId)}`);
      await shows(page, run.runId);
      await expect.poll(() => page.locator('.facts dt').count(), { timeout: 40_000 }).toBeGreaterThan(3);
      // The tree comes after the status.
      const factsOf = async (): Promise<Record<string, string>> => (await page.evaluate(FACTS)) as Record<string, string>;
      const below = (node: typeof tree): number => node.children.reduce((sum, child) => sum + 1 + below(child), 0);
      const tokens = tree.treeUsage.totalTokens.toLocaleString('en');
      const expected = {
        Steps: `${view.steps.length} / ${view.limits?.steps}`,
        Tokens: below(tree) > 0 ? `${tokens} with ${below(tree)} run below` : tokens,
        'Tool calls': String(view.toolCallsTotal),
      };
      await expect.poll(async () => pick(await factsOf(), Object.keys(expected)), { timeout: 40_000 }).toEqual(expected);
      expect(await page.locator('.row.answer').count()).toBeGreaterThanOrEqual(view.steps.length);
    }
    expect(studio.problems).toEqual([]);
  }, 240_000);

  test('a page goes on when the service is gone for a moment, and has every step once', async () => {
    const run = await studio.client.start('clerk', { input: 'My lamp arrived broken.' });
    await expect.poll(async () => (await run.approvals()).pending.length, { timeout: 20_000 }).toBe(1);
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'Step 3');
    await studio.restart(async () => {
      await shows(page, 'The service does not answer');
      const [pending] = (await run.approvals()).pending;
      await run.approve(pending!);
      await run.result();
    });
    await shows(page, 'within three days. We are sorry');
    expect(await page.locator('.row.answer').count()).toBe(4);
    await shows(page, 'completed');
    expect(studio.problems.filter((one) => !/ERR_CONNECTION|fetch/.test(one))).toEqual([]);
  }, 120_000);
});

function pick(facts: Record<string, string>, names: readonly string[]): Record<string, string | undefined> {
  return Object.fromEntries(names.map((name) => [name, facts[name]]));
}
