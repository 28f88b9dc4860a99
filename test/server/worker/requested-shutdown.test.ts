import { NativeConnection, Worker } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { defineAgent } from '../../../src/index.ts';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { createWorker, LonghaulPlugin } from '../../../worker/index.ts';
import { historyOf, sharedBundle, Testbed } from '../testbed/testbed.ts';

/** Workers by what they check before they poll. */
const KINDS = {
  plain: {},
  encrypting: { codec: { encryption: { activeKeyId: 'k1', keys: { k1: new Uint8Array(32).fill(7) } } } },
  versioned: { versioning: { deploymentName: 'ending', buildId: '1', behavior: 'PINNED' } },
} as const;

const agents = [defineAgent({ name: 'clerk', model: 'scripted/m' })];

/** A worker that has not been run. */
interface Created {
  run: () => Promise<void>;
  shutdown: () => void;
  close?: () => Promise<void>;
}

/** The ways to create a worker. */
const WAYS = {
  createWorker: async (testbed: Testbed, kind: keyof typeof KINDS): Promise<Created> =>
    createWorker({ ...partsOf(kind), address: testbed.address, taskQueue: testbed.taskQueue, worker: workerOf(kind) }),
  'the plugin': async (testbed: Testbed, kind: keyof typeof KINDS): Promise<Created> => {
    const connection = await NativeConnection.connect({ address: testbed.address });
    const plugins = [new LonghaulPlugin(partsOf(kind))];
    const worker = await Worker.create({ connection, taskQueue: testbed.taskQueue, plugins, ...workerOf(kind) });
    return { run: () => worker.run(), shutdown: () => worker.shutdown(), close: () => connection.close() };
  },
};

function partsOf(kind: keyof typeof KINDS): { agents: typeof agents; providers: { scripted: ReturnType<typeof scriptedModel> } } {
  return { agents, providers: { scripted: scriptedModel([say('done')]) }, ...KINDS[kind] };
}

function workerOf(kind: keyof typeof KINDS): { debugMode: true; workflowBundle: { codePath: string } } {
  return { debugMode: true, workflowBundle: sharedBundle(kind === 'encrypting' ? KINDS.encrypting.codec : undefined) };
}

const cells = Object.keys(KINDS).flatMap((kind) => Object.keys(WAYS).map((way) => [kind, way] as [keyof typeof KINDS, keyof typeof WAYS]));

test.each(cells)(
  'a worker that is %s, made with %s, ends if it is shut down right after it is run, and makes no call',
  async (kind, way) => {
    await using testbed = await Testbed.open();
    const run = await testbed.client.start('clerk', { input: 'Q', taskQueue: testbed.taskQueue });
    const worker = await WAYS[way](testbed, kind);
    const running = worker.run();
    worker.shutdown();
    await running;
    await worker.close?.();
    const types = (await historyOf(testbed, run)).map(({ eventType }) => String(eventType));
    // The server may hand out a task in the moment between the first poll and the shutdown: it is completed, or left to another worker.
    const MAY_BE = [1, 5, 6, 7, 10].map(String);
    expect(types).toEqual(MAY_BE.slice(0, types.length));
    await run.cancel('over').catch(() => undefined);
  },
);

test.each(Object.keys(KINDS) as (keyof typeof KINDS)[])(
  'a worker that is %s ends if it is shut down before it is run, and again',
  async (kind) => {
    await using testbed = await Testbed.open();
    const worker = await WAYS.createWorker(testbed, kind);
    worker.shutdown();
    worker.shutdown();
    await expect(worker.run()).resolves.toBeUndefined();
  },
);
