import { describe, expect, it } from 'vitest';
import { noWorkerHas } from '../../../../src/core/domain/tool-calls.ts';
import type { ToolOutcome } from '../../../../src/core/kernel/ports.ts';
import { call, called, type FakeScript, returned, runFake, said } from '../fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';

const GONE: ToolOutcome = {
  type: 'result',
  status: 'error',
  content: [noWorkerHas('gone')],
  durationMs: null,
  noWorker: { code: 'unknown_tool', message: 'No tool "gone" of agent "clerk" in this worker' },
};

/** A response with a call that no worker can make, and a call that every worker can make. */
const SCRIPT: FakeScript = {
  snapshot: testSnapshot({ tools: [testTool('gone'), testTool('look')] }),
  model: [called(call('c1', 'gone'), call('c2', 'look')), said('done')],
  tools: { gone: () => GONE, look: () => returned('seen') },
};

describe('a call that no worker could make in time', () => {
  it('ends the run with the reason and the results of the other calls, without another model call', async () => {
    const run = await runFake(SCRIPT);
    expect(run.result).toMatchObject({
      status: 'error',
      errorCode: 'unknown_tool',
      error: 'No tool "gone" of agent "clerk" in this worker',
    });
    expect(run.steps[0]?.toolCalls.map(({ result }) => result)).toEqual([noWorkerHas('gone'), 'seen']);
    expect(run.modelCalls).toHaveLength(1);
  });
});
