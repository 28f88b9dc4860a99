import { describe, expect, it } from 'vitest';
import { INTERRUPTED_CALL, noWorkerHas } from '../../../src/core/domain/content/tool-text.ts';
import type { ToolOutcome } from '../../../src/core/loop/ports.ts';
import { call, called, type FakeScript, resultsOf, returned, runFake, said } from './fake-ports.ts';
import { testSnapshot, testTool } from './snapshot.ts';

const GONE: ToolOutcome = {
  type: 'result',
  status: 'error',
  content: [noWorkerHas('gone')],
  durationMs: null,
  noWorker: { code: 'unknown_tool', message: 'No tool "gone" of agent "clerk" in this worker' },
};

/** A response with a call that no worker can make, and one that any can. */
function script(changes: Partial<FakeScript> & { parallel?: boolean; approval?: boolean } = {}): FakeScript {
  const { parallel = true, approval = false, ...rest } = changes;
  const look = testTool('look', approval ? { approval: { when: 'always' } } : {});
  const response = called(call('c1', 'gone'), call('c2', 'look'));
  if (approval && response.type === 'response') response.response.approvals = { c2: { digest: 'd2' } };
  return {
    snapshot: testSnapshot({ tools: [testTool('gone'), look], parallel }),
    model: [response, said('done')],
    tools: { gone: () => GONE, look: () => returned('seen') },
    ...rest,
  };
}

describe('a call that no worker could make in time', () => {
  it('ends the run with the reason, with the results of the calls beside it, and no model is asked again', async () => {
    const run = await runFake(script());
    expect(run.result).toMatchObject({
      status: 'error',
      errorCode: 'unknown_tool',
      error: 'No tool "gone" of agent "clerk" in this worker',
    });
    expect(run.steps[0]?.toolCalls.map(({ result }) => result)).toEqual([noWorkerHas('gone'), 'seen']);
    expect(run.modelCalls).toHaveLength(1);
  });

  it('keeps the calls after it from being started, where they run one after the other', async () => {
    const run = await runFake(script({ parallel: false }));
    expect(run.result).toMatchObject({ status: 'error', errorCode: 'unknown_tool' });
    expect(run.invocations.map(({ tool }) => tool.name)).toEqual(['gone']);
    expect(resultsOf(run, 1)).toEqual([noWorkerHas('gone'), INTERRUPTED_CALL]);
  });

  it('lets nobody be waited for who would decide about another call', async () => {
    const run = await runFake(script({ approval: true }));
    expect(run.result).toMatchObject({ status: 'error', errorCode: 'unknown_tool' });
    expect(run.invocations.map(({ tool }) => tool.name)).toEqual(['gone']);
  });

  it('is a result that the model reads in a run that began before there was anything else', async () => {
    const run = await runFake(script({ ports: { allows: () => false } }));
    expect(run.result).toMatchObject({ status: 'completed', output: 'done' });
    expect(resultsOf(run, 1)).toEqual([noWorkerHas('gone'), 'seen']);
  });
});
