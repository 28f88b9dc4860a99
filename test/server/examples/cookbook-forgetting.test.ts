import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LonghaulClient } from 'longhaul/client';
import { expect, onTestFinished, test } from 'vitest';
import { forgetUser, storesIn } from '../../../examples/cookbook/forgetting.ts';
import { monitor } from '../../../examples/options/agents.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { Testbed, until } from '../testbed/testbed.ts';

test("all data of a user is forgotten, and no other user's", async () => {
  await using testbed = await Testbed.open();
  const directory = await mkdtemp(join(tmpdir(), 'longhaul-forgetting-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const stores = storesIn(directory);
  const scripted = scriptedModel([callTool('read_log', { hour: 2_000 }), say('Fine.'), say('Fine.')]);
  await testbed.work({ agents: [monitor], providers: { openai: scripted }, ...stores });
  const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue, ...stores });
  const tenant = `acme-${randomUUID()}`;
  const started = (user: string) => client.as({ tenant, user }).run(monitor, { input: `The log of ${user}` });
  const [ada, eve] = [await started('ada'), await started('eve')];
  await until(async () => (await Array.fromAsync(client.list({ tenant }))).length === 2, 'both are listed');
  expect(await forgetUser(client, tenant, 'ada')).toMatchObject({ runs: [ada.runId], kept: [] });
  await expect(client.handle(ada.runId).status()).rejects.toMatchObject({ code: 'run_not_found' });
  expect((await client.handle(eve.runId).result()).output).toBe('Fine.');
  expect(await forgetUser(client, tenant, 'ada')).toMatchObject({ runs: [] });
}, 120_000);
