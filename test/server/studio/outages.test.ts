import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { connect, type LonghaulClient, type RunHandle } from '../../../src/client/index.ts';
import { BreakableNetwork } from '../examples/breakable-network.ts';
import { shows, SKIPPED, StudioTestbed } from './studio-testbed.ts';

describe.skipIf(SKIPPED !== '')(`a page of Studio whose service has trouble${SKIPPED}`, { timeout: 120_000 }, () => {
  let studio: StudioTestbed;
  let network: BreakableNetwork;
  let served: LonghaulClient;
  beforeAll(async () => {
    // The connection from the service to Temporal, which tests cut. The worker and the tests have separate ones.
    network = await BreakableNetwork.to(Number(inject('temporalAddress').split(':').at(-1)));
    served = await connect({ address: network.url.replace('http://', ''), namespace: inject('temporalNamespace') });
    studio = await StudioTestbed.open({ temporal: served.temporal });
  }, 120_000);
  afterAll(async () => {
    await studio?.[Symbol.asyncDispose]();
    await served?.close();
    network?.close();
  });

  /** Starts a run of the clerk, and returns it once its refund waits. */
  async function waitingRun(): Promise<RunHandle> {
    const run = await studio.client.start('clerk', { input: 'My lamp arrived broken.' });
    await expect.poll(async () => (await run.approvals()).pending.length, { timeout: 20_000 }).toBe(1);
    return run;
  }

  async function approve(run: RunHandle): Promise<void> {
    const [pending] = (await run.approvals()).pending;
    await run.approve(pending!);
    await run.result();
  }

  /** Problems other than the ones that the outage itself causes. */
  function otherProblems(): string[] {
    return studio.problems.filter((one) => !/ERR_CONNECTION|fetch/.test(one));
  }

  test('it continues when the service was gone for a moment, and has every step once', async () => {
    const run = await waitingRun();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'Step 3');
    await studio.restart(async () => {
      await shows(page, 'The service does not answer');
      await approve(run);
    });
    await shows(page, 'within three days. We are sorry');
    await expect.poll(() => page.locator('.row.answer').count()).toBe(4);
    await shows(page, 'completed');
    await expect.poll(() => page.locator('.lost').count(), { timeout: 40_000 }).toBe(0);
    expect(otherProblems()).toEqual([]);
  });

  test('it says so while the service has lost Temporal, decides nothing twice, and has every step once afterwards', async () => {
    const run = await waitingRun();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'Step 3');
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    network.cut();
    try {
      await page.getByRole('button', { name: 'Approve', exact: true }).click();
      await shows(page, 'The service has lost its Temporal server');
      expect((await run.approvals()).pending).toHaveLength(1);
    } finally {
      network.restore();
    }
    const again = page.getByRole('button', { name: 'Approve', exact: true });
    // Temporal's client reconnects; the reader decides again once the page says that the call still waits.
    await expect
      .poll(
        async () => {
          if ((await run.approvals()).pending.length > 0 && (await again.isEnabled().catch(() => false)))
            await again.click().catch(() => undefined);
          return (await run.status()).status;
        },
        { timeout: 60_000, interval: 1_000 },
      )
      .toBe('completed');
    await shows(page, 'within three days. We are sorry');
    await shows(page, 'completed');
    expect(await page.locator('.row.answer').count()).toBe(4);
    const decisions = [];
    for await (const { decision } of run.events()) if (decision !== undefined) decisions.push(decision.type);
    expect(decisions).toEqual(['approve']);
    expect(otherProblems()).toEqual([]);
  });

  test('it says that the service has another version, and that parts of the page no longer exist', async () => {
    const run = await waitingRun();
    const page = await studio.page(`#/runs/${encodeURIComponent(run.runId)}/steps/2/request`);
    await shows(page, 'As sent');
    let isWithoutParts = true;
    const isPart = (path: string): boolean => isWithoutParts && path.includes('/studio/assets/');
    studio.changeService(async (request, next) => {
      const { pathname } = new URL(request.url);
      if (isPart(pathname)) return new Response('There is no such file', { status: 404 });
      const response = await next(request);
      if (pathname !== '/v1/me') return response;
      const me = (await response.json()) as { versions: object };
      return Response.json({ ...me, versions: { ...me.versions, longhaul: '99.0.0' } });
    });
    await studio.restart(async () => shows(page, 'The service does not answer'));
    await shows(page, 'The service seems to have another version');
    await page.getByText('Line by line').click();
    const again = page.getByRole('button', { name: 'Load the page again' });
    await again.waitFor();
    // A part that is there again says nothing about the version.
    isWithoutParts = false;
    await expect.poll(() => page.locator('.lines').first().textContent(), { timeout: 40_000 }).not.toBe('');
    expect(await again.count()).toBe(1);
    // The page keeps showing what it has, and the service keeps doing what it can.
    await page.goto(`${studio.url}#/runs/${encodeURIComponent(run.runId)}`);
    await shows(page, 'Step 3');
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await shows(page, 'within three days. We are sorry');
    expect(await run.result()).toMatchObject({ status: 'completed' });
  });
});
