import { expect, test } from 'vitest';
import { agentTool, defineAgent, quickjs } from '../../../../src/index.ts';
import { callTool, say, scriptedModel } from '../../../../src/testing/index.ts';
import { expectSameFromHistory } from '../../testbed/same-from-history.ts';
import { Testbed, until } from '../../testbed/testbed.ts';
import { careful, signing } from './agents-below.ts';

test('a run whose code waits for an agent continues as new, and the code continues with the answer', async () => {
  await using testbed = await Testbed.open();
  const coder = defineAgent({ name: 'coder', model: 'above/m', tools: [agentTool(careful)], code: { executor: quickjs() } });
  const code = 'const all = await Promise.all(["1", "2"].map((request) => tools.careful({ request }))); print(all.join(" and "));';
  const above = scriptedModel([callTool('run_code', { code }), say('Both.')]);
  await testbed.work({ agents: [coder], providers: { above, below: signing() }, continueAsNew: { updates: 2 } });
  const run = await testbed.client.start(coder, { input: 'Go', taskQueue: testbed.taskQueue });
  await until(async () => (await run.approvals()).pending.length === 2, 'both agents', 60);
  for (const message of ['one', 'two', 'three']) await run.send(message);
  await until(async () => (await run.status()).executions > 1, 'the next execution', 40);
  for (const waiting of (await run.approvals()).pending) await testbed.client.handle(waiting.runId ?? '').approve(waiting);
  const result = await run.result({ steps: true });
  expect(result).toMatchObject({ status: 'completed', descendants: { runs: 2 } });
  const [cell, ...calls] = result.steps?.[0]?.toolCalls ?? [];
  expect(cell?.result).toContain('answer 1 and answer 2');
  expect(calls.map(({ result: text, caller }) => [text, caller])).toEqual([
    ['answer 1', 'code'],
    ['answer 2', 'code'],
  ]);
  await expectSameFromHistory(testbed, run);
}, 60_000);
