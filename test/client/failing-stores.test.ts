import { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { LonghaulClient } from '../../src/client/index.ts';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import { inMemory } from '../../src/memory/file-memory.ts';
import type { ArchiveSink } from '../../src/stores/file-archive.ts';
import type { PayloadStore } from '../../src/stores/payload-store.ts';

/** A server that has no run. */
function emptyServer(): Client {
  const nothing = Object.assign(new Error('not found'), { code: 5, details: 'not found', metadata: { get: () => [] } });
  const workflowService = {
    describeWorkflowExecution: () => Promise.reject(nothing),
    listWorkflowExecutions: () => Promise.resolve({ executions: [] }),
  };
  const run = (_: unknown, work: () => unknown): unknown => work();
  return new Client({ connection: { options: {}, workflowService, withDeadline: run, withAbortSignal: run } as never });
}

/** Stores that count what they are asked to remove, or fail with an error. */
class Stores {
  readonly removed: string[] = [];
  failure: Error | undefined;
  readonly payloadStore: PayloadStore = {
    name: 'cloud',
    type: 'cloud',
    store: () => this.#fail([]),
    retrieve: () => this.#fail([]),
    deleteRun: ({ runId }) => this.#remove(`payloads of ${runId}`),
  };
  readonly archive: ArchiveSink = {
    append: () => this.#fail(undefined),
    // oxlint-disable-next-line require-yield -- it fails, or has nothing
    read: async function* (this: Stores) {
      await this.#fail(undefined);
    }.bind(this),
    runsOf: () => this.#fail([]),
    deleteRun: ({ runId }) => this.#remove(`archive of ${runId}`),
  };

  get client(): LonghaulClient {
    const { payloadStore, archive } = this;
    return new LonghaulClient(emptyServer(), { payloadStore, archive, memory: inMemory() });
  }

  async #fail<Value>(value: Value): Promise<Value> {
    if (this.failure !== undefined) throw this.failure;
    return value;
  }

  async #remove(what: string): Promise<void> {
    await this.#fail(undefined);
    this.removed.push(what);
  }
}

const spilled = { store: 'cloud', claim: { key: 'k' }, bytes: 1, sha256: 'ab' };

test.each<[string, (client: LonghaulClient) => Promise<unknown>, object]>([
  [
    'delete, by the payload store',
    (client) => client.handle('r').delete(),
    {
      code: 'payload_store_failed',
      message: 'The spilled results of run "r" were not removed: no network. Try again once the payload store can be reached',
    },
  ],
  [
    'delete, by the archive',
    (client) => client.handle('r').delete({ payloadStore: new Stores().payloadStore }),
    { code: 'archive_failed', message: 'The archive of run "r" was not removed: no network. Try again once the archive can be reached' },
  ],
  [
    'forget',
    (client) => client.forget({ user: 'ada', without: ['streams'] }),
    {
      code: 'archive_failed',
      message: 'The archived runs of user "ada" without a tenant were not found: no network. Try again once the archive can be reached',
    },
  ],
  [
    'export',
    (client) => Array.fromAsync(client.handle('r').export()),
    { code: 'archive_failed', message: 'The archive of run "r" was not read: no network. Try again once the archive can be reached' },
  ],
  [
    'readSpilled',
    (client) => client.readSpilled(spilled),
    {
      code: 'payload_store_failed',
      message: 'The spilled content was not read: no network. Try again once the payload store can be reached',
    },
  ],
])('a store that fails is named, with the code that the service documents: %s', async (_, work, expected) => {
  const stores = new Stores();
  stores.failure = new Error('no network');
  await expect(work(stores.client)).rejects.toMatchObject(expected);
  stores.failure = new LonghaulError('spilled_unavailable', 'it was deleted');
  await expect(work(stores.client)).rejects.toBe(stores.failure);
});

test('a deletion removes the content from the stores of the client, also if its options name a store that is undefined', async () => {
  const stores = new Stores();
  expect(await stores.client.handle('r').delete({ archive: undefined, payloadStore: undefined, end: true })).toBe('not_found');
  expect(stores.removed).toEqual(['payloads of r', 'archive of r']);
});
