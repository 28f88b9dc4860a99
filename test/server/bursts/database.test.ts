import { expect, inject, test } from 'vitest';
import { z } from 'zod';
import { connect } from '../../../src/client/index.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, hang, say, scriptedModel } from '../../../src/testing/index.ts';
import { createWorker } from '../../../worker/index.ts';
import { codecWith } from '../codec/codec-agents.ts';
import { databaseOf } from '../testbed/server-database.ts';
import { sharedBundle, until } from '../testbed/testbed.ts';

const cliPath = inject('temporalCliPath');

const TEXTS = { argument: 'the-secret-page', result: 'the-secret-text', answer: 'the-secret-answer', part: 'the-secret-part' };

const read = defineTool({
  name: 'read_page',
  description: 'Reads a page',
  parameters: z.object({ page: z.string() }),
  execute: () => TEXTS.result,
});
const reader = defineAgent({ name: 'reader', model: 'scripted/m', tools: [read], burst: { steps: 16, seconds: 60 } });

/** A run whose burst ends with a call that a message interrupts: until then, the server has its outcomes as details of heartbeats. */
async function runOn(address: string, codec: ReturnType<typeof codecWith> | undefined): Promise<void> {
  const again = callTool('read_page', { page: TEXTS.argument }, 'c2');
  const scripted = scriptedModel([callTool('read_page', { page: TEXTS.argument }, 'c1'), again, hang(TEXTS.part), say(TEXTS.answer)]);
  const options = { address, taskQueue: 'bursts', ...(codec === undefined ? {} : { codec }) };
  const worker = await createWorker({
    ...options,
    agents: [reader],
    providers: { scripted },
    heartbeatEvery: 300,
    worker: { workflowBundle: sharedBundle(codec) },
  });
  const running = worker.run();
  const client = await connect(options);
  try {
    const run = await client.start(reader, { input: 'Q' });
    await until(() => scripted.requests.length === 3, 'the call that hangs');
    const { raw } = await client.temporal.workflow.getHandle(run.runId).describe();
    const [pending] = raw.pendingActivities ?? [];
    const details = Buffer.from(pending?.heartbeatDetails?.payloads?.[0]?.data ?? []).toString('latin1');
    expect(details.includes(TEXTS.result)).toBe(codec === undefined);
    expect(details.length).toBeGreaterThan(100);
    await run.send('rather this', { mode: 'interrupt' });
    expect(await run.result({ timeout: 20_000 })).toMatchObject({ status: 'completed', output: TEXTS.answer });
  } finally {
    worker.shutdown();
    await running;
    await client.close();
  }
}

function found(database: string): string[] {
  return Object.values(TEXTS).filter((text) => database.includes(text));
}

test.skipIf(cliPath === undefined)('with encryption and compression, the outcomes of a burst are nowhere in clear text', async () => {
  expect(found(await databaseOf(({ address }) => runOn(address, codecWith('k1', 1))))).toEqual([]);
});

test.skipIf(cliPath === undefined)('without them, all of the same texts are found', async () => {
  expect(found(await databaseOf(({ address }) => runOn(address, undefined)))).toEqual(Object.values(TEXTS));
});
