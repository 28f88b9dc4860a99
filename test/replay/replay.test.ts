import { IllegalStateError } from '@temporalio/common';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { installSilentRuntime } from '../../src/cli/commands/replay.ts';
import { Replayer } from '../../worker/index.ts';
import { recordedHistories } from './histories.ts';

// Building a bundle takes a while on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

// Files share a process: another one may have made the runtime.
await installSilentRuntime().catch((error: unknown) => {
  if (!(error instanceof IllegalStateError)) throw error;
});
const replayer = new Replayer({ workflowsPath: fileURLToPath(new URL('../server/testbed/host-workflows.ts', import.meta.url)) });
afterAll(async () => replayer.close());

test.each(recordedHistories())(
  '$name is replayed by the present code',
  async ({ runId, history }) => {
    expect(await replayer.replay(runId, history)).toEqual({ type: 'ok' });
  },
  60_000,
);

describe('a file that is not a history of this code', () => {
  test('is refused with the reason, and the next one is still replayed', async () => {
    expect(await replayer.replay('r', {})).toEqual({
      type: 'failed',
      message: 'This is not a history: it has no list of events',
      step: null,
    });
    expect(await replayer.replay('r', { events: [] })).toMatchObject({ message: 'This is not a history: its list of events is empty' });
    expect(await replayer.replay('r', { events: [{ eventId: '1', eventType: 'WorkflowExecutionStarted' }] })).toMatchObject({
      type: 'failed',
      message: expect.stringContaining('This is not a history: Missing attributes') as string,
    });
    expect(await replayer.replay('r', recordedHistories()[0]?.history)).toEqual({ type: 'ok' });
  });

  test('is reported by its workflow type if the code has no workflow of that name', async () => {
    const text = JSON.stringify(recordedHistories()[0]?.history).replaceAll('"agentRun"', '"anotherRun"');
    expect(await replayer.replay('r', JSON.parse(text))).toEqual({
      type: 'failed',
      message:
        'The code has no workflow of type "anotherRun": it is not the run of an agent. Name the module that has it with --workflows (workflowsPath)',
      step: null,
    });
  });
});
