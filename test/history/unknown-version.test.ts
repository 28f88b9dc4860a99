import { Client } from '@temporalio/client';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { expect, test } from 'vitest';
import { executionBeginning } from '../../src/history/execution-reader.ts';
import { readExecution } from '../../src/history/read-run.ts';
import { recordedHistories } from '../replay/histories.ts';

const recorded = (name: string): unknown => recordedHistories().find((one) => one.name === name)?.history;

/** A history whose execution began with a carried state of a future version. */
function ofAnotherVersion(history: unknown): unknown {
  const text = JSON.stringify(history, (key, value: unknown) => {
    if (key !== 'data' || typeof value !== 'string') return value;
    const data = Buffer.from(value, 'base64').toString();
    return data.startsWith('{"continuedState":') ? Buffer.from(data.replace('"version":1', '"version":99')).toString('base64') : value;
  });
  return JSON.parse(text);
}

const [first, second] = [recorded('continued-after-every-step'), ofAnotherVersion(recorded('continued-after-every-step-2'))];
const nextId = historyFromJSON(first).events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? '';

/** A client of a server that has the two executions. */
const client = new Client({
  connection: {
    options: { address: 'temporal.example:7233' },
    workflowService: {
      getWorkflowExecutionHistory: ({ execution }: { execution: { runId: string } }) =>
        Promise.resolve({ history: historyFromJSON(execution.runId === nextId ? second : first), nextPageToken: new Uint8Array() }),
    },
  } as never,
});

const unreadable = {
  code: 'history_unreadable',
  message: expect.stringMatching(/has version 99, and this code reads version 1/) as string,
};

test('an execution that begins with a carried state of an unknown version is unreadable, and neither empty nor removed', async () => {
  await expect(executionBeginning(client, 'run', nextId)).rejects.toMatchObject(unreadable);
  await expect(readExecution(client, 'run', nextId)).rejects.toMatchObject(unreadable);
});

test('the execution before it is unreadable too: the next one has the position of its end', async () => {
  await expect(readExecution(client, 'run', 'first')).rejects.toMatchObject(unreadable);
});
