import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { connect } from '../../../src/client/index.ts';
import type { CodecOptions } from '../../../src/codec/encryption.ts';
import { defineAgent } from '../../../src/index.ts';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { createWorker } from '../../../worker/index.ts';
import { sharedBundle, Testbed } from '../testbed/testbed.ts';

test('a worker that cannot load its encryption key is not created and reports why, and the run waits for another worker', async () => {
  await using testbed = await Testbed.open();
  const key = randomBytes(32);
  const agent = defineAgent({ name: 'keeper', model: 'scripted/m' });
  const codec: CodecOptions = { encryption: { activeKeyId: 'k1', keys: { k1: key } } };
  const client = await connect({ address: testbed.address, taskQueue: testbed.taskQueue, codec });
  try {
    const run = await client.start(agent, { input: 'Q' });
    let asked = 0;
    const failing = createWorker({
      agents: [agent],
      providers: { scripted: scriptedModel([]) },
      codec: {
        encryption: {
          activeKeyId: 'k2',
          keys: (id) => {
            if (id === 'k1') return key;
            asked += 1;
            throw new Error('the key service is down');
          },
        },
      },
      address: testbed.address,
      namespace: testbed.client.temporal.options.namespace,
      taskQueue: testbed.taskQueue,
      worker: { debugMode: true, workflowBundle: sharedBundle(codec) },
    });
    await expect(failing).rejects.toMatchObject({
      code: 'encryption_key_missing',
      message: expect.stringContaining('"k2" is missing (asking for it failed: the key service is down)'),
    });
    expect(asked).toBe(1);
    await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([say('done')]) }, codec });
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'done' });
  } finally {
    await client.close();
  }
});
