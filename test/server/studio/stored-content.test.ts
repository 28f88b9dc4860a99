import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LonghaulClient } from '../../../src/client/index.ts';
import { defineAgent, defineTool, toolOutput } from '../../../src/index.ts';
import { createHandler } from '../../../src/server/index.ts';
import { fileStore } from '../../../worker/index.ts';
import { codecWith } from '../codec/codec-agents.ts';
import { press, shows, SKIPPED, StudioTestbed } from './studio-testbed.ts';

const ROWS = Array.from({ length: 3_000 }, (_, index) => ({ row: index, text: `content of row ${index}` }));

const exportRows = defineTool({
  name: 'export_rows',
  description: 'Exports all rows',
  parameters: z.object({}),
  maxResultBytes: 2_000,
  overflow: 'spill',
  execute: () => toolOutput(['All rows:', { rows: ROWS }]),
});

const exporter = defineAgent({ name: 'exporter', model: 'scripted/clerk', instructions: 'You export.', tools: [exportRows] });

describe.skipIf(SKIPPED !== '')(`content that is stored in another form than the page shows${SKIPPED}`, { timeout: 120_000 }, () => {
  let directory = '';
  let studio: StudioTestbed;
  let runId = '';
  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'longhaul-studio-'));
    studio = await StudioTestbed.open({ codec: codecWith('k1', 1), payloadStore: fileStore({ directory }), more: [exporter] });
    const run = await studio.client.start('exporter', { input: 'Export the rows of Ada' });
    await run.result();
    ({ runId } = run);
  }, 120_000);
  afterAll(async () => {
    await studio?.[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  test('an encrypted run is readable where the service has the key: its record, its times, and the requests to the model', async () => {
    const page = await studio.page(`#/runs/${encodeURIComponent(runId)}`);
    await shows(page, 'Export the rows of Ada');
    await shows(page, 'All rows are exported.');
    await shows(page, /workflow tasks \d/);
    await press(page, 'Request of step 2');
    await shows(page, 'As sent');
    await shows(page, 'You export.');
    expect(studio.problems).toEqual([]);
  });

  test('a result that is too large for the record is read when its reader asks for it, and not before', async () => {
    const page = await studio.page(`#/runs/${encodeURIComponent(runId)}`);
    await shows(page, 'All rows are exported.');
    const read = (): number => studio.requests.filter(({ path: asked }) => asked.includes('/spilled/')).length;
    await shows(page, /bytes of this result are not shown here/);
    expect(read()).toBe(0);
    await press(page, 'Read it');
    await expect.poll(() => page.getByRole('button', { name: 'Read it' }).count()).toBe(0);
    await shows(page, 'content of row 0');
    expect(read()).toBe(1);
    expect(studio.problems).toEqual([]);
  });

  test.each([
    ['with another key', codecWith('k2', 2)],
    ['without any', undefined],
  ])('elsewhere, the page of a service %s says that it cannot decode the run, and shows no part of it', async (_, codec) => {
    await using other = await StudioTestbed.open(codec === undefined ? {} : { codec });
    // The same runs, read with what the other service has.
    const foreign = new LonghaulClient(other.client.temporal);
    const service = createHandler(foreign, { studio: true, limits: false });
    other.changeService((request) => service(request));
    const page = await other.page(`#/runs/${encodeURIComponent(runId)}`);
    await shows(page, 'This service cannot decode the run');
    await page.goto(`${other.url}#/runs/${encodeURIComponent(runId)}/steps/1/request`);
    await shows(page, 'This service cannot decode the run');
    expect(await page.locator('body').innerText()).not.toContain('rows of Ada');
    // The list has what the server itself says of a run.
    await page.goto(`${other.url}#/runs?agent=exporter`);
    await shows(page, 'exporter');
    expect(other.problems).toEqual([]);
  });
});
