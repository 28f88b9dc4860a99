// A worker with batches in a separate process, which is killed repeatedly.
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../src/index.ts';
import { answerRequests, readSetting } from '../../test/processes/program.ts';
import { createWorker, openai } from '../../worker/index.ts';
import { AGENT, type BatchWorkerReply, type BatchWorkerRequest, type BatchWorkerSetting } from '../batch.ts';

/** A call that has just come, or registers again, holds its slot for a moment. */
const MOMENT_MS = 5_000;

Runtime.install({ logger: new DefaultLogger('ERROR') });

const { apiURL, bundlePath, ...server } = readSetting<BatchWorkerSetting>();
const look = defineTool({
  name: 'look',
  description: 'Looks',
  parameters: z.object({ at: z.string() }),
  execute: ({ at }) => `seen ${at}`,
});

/** The start times of the model calls that hold a slot. */
const held = new Map<string, number>();

const worker = await createWorker({
  ...server,
  agents: [defineAgent({ name: AGENT, model: 'openai/gpt-4.1', instructions: 'You read.', tools: [look] })],
  providers: { openai: openai({ baseURL: apiURL, apiKey: 'key', api: 'chat' }) },
  batch: { openai: { window: '8s', deadline: '1h' } },
  heartbeatEvery: 1_000,
  shutdownGrace: 500,
  worker: {
    stickyQueueScheduleToStartTimeout: 1_000,
    workflowBundle: { codePath: bundlePath },
    interceptors: {
      activity: [
        ({ info }) => ({
          inbound: {
            execute: async (input, next) => {
              const key = info.base64TaskToken;
              if (info.activityType === 'callModel') held.set(key, performance.now());
              try {
                return await next(input);
              } finally {
                held.delete(key);
              }
            },
          },
        }),
      ],
    },
  },
});
const running = worker.run();
answerRequests<BatchWorkerRequest, BatchWorkerReply>({
  slots: () => ({ type: 'slots', held: [...held.values()].filter((since) => performance.now() - since > MOMENT_MS).length }),
});
await running;
process.exit(0);
