import { expect, test } from 'vitest';
import type { ActivityRequest, PerformActivity } from '../../../src/core/activity-requests/activity-request.ts';
import { runSegment } from '../../../src/core/activity-requests/code-requests.ts';
import { DEFAULT_EXECUTION_LIMITS } from '../../../src/core/domain/code.ts';
import type { SegmentCall } from '../../../src/core/capabilities/code/code-cells.ts';
import { newRunState } from '../../../src/core/kernel/run-state.ts';
import type { RunSegmentInput, RunSegmentOutput } from '../../../src/core/protocol.ts';
import { call } from '../loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';

const CALL: SegmentCall = {
  step: 1,
  call: call('c1', 'run_code'),
  offset: 1,
  index: 0,
  eventId: 'response',
  code: 'find()',
  moment: { now: 1, seed: 2 },
  cell: 0,
  segment: 2,
  calls: 3,
  spentMs: 0,
  results: [{ value: 'x'.repeat(2_000) }],
};

function runOf(tier: 'local' | 'remote') {
  const executor = { kind: 'quickjs', language: 'javascript', limits: DEFAULT_EXECUTION_LIMITS, allowedImports: [] } as const;
  const snapshot = testSnapshot({ tools: [testTool('find')], code: { executor: { ...executor, allowedImports: [] }, tier } });
  const state = newRunState({ runId: 'run-1', snapshot, input: 'Q', startedAt: 0 }, { now: () => 0, uuid: () => 'event' });
  state.slices['code'] = { journal: { cells: [] }, journalBytes: 0, records: [] };
  return { runId: 'run-1', snapshot, state };
}

type SegmentRequest = ActivityRequest<RunSegmentInput, RunSegmentOutput, unknown>;

/** Runs a segment whose activity gives these outputs in order. */
async function ran(tier: 'local' | 'remote', outputs: RunSegmentOutput[], segment = CALL) {
  const requests: SegmentRequest[] = [];
  const perform: PerformActivity = (request) => {
    const output = outputs[requests.push(request as unknown as SegmentRequest) - 1];
    return Promise.resolve(request.returned(output as never));
  };
  return { outcome: await runSegment(runOf(tier), segment, perform), requests };
}

const CALLS: RunSegmentOutput = { type: 'calls', calls: [{ name: 'find', arguments: { n: 1 } }], digest: 'd', durationMs: 1 };

test('the ids of calls and of their event follow from the place of the segment: they are the same if it runs again', async () => {
  const { outcome } = await ran('local', [{ ...CALLS, at: [1, 0], segment: 2 }]);
  expect(outcome).toEqual({
    type: 'calls',
    id: 'response.0.2',
    calls: [{ type: 'tool_call', toolCallId: 'c1.4', name: 'find', arguments: { n: 1 } }],
    digest: 'd',
    durationMs: 1,
  });
});

test('a local segment whose worker lacks the namespace gets the journal with its input', async () => {
  const { requests } = await ran('local', [{ type: 'cold' }, CALLS]);
  expect(requests.map(({ tier, input }) => [tier, input.whole === undefined])).toEqual([
    ['local', true],
    ['local', false],
  ]);
  expect(requests[0]?.input.results).toEqual(CALL.results);
});

test('a worker that asks for the journal again is an error', async () => {
  const { outcome } = await ran('local', [{ type: 'cold' }, { type: 'cold' }]);
  expect(outcome).toEqual({ type: 'failed', message: 'the worker asked twice for the earlier cells' });
});

test('the input of a remote segment holds small results, and no large ones', async () => {
  const large = await ran('remote', [CALLS]);
  expect(large.requests[0]).toMatchObject({ tier: 'remote' });
  expect(large.requests[0]?.input).not.toHaveProperty('results');
  const small = await ran('remote', [CALLS], { ...CALL, results: [{ value: 'x' }] });
  expect(small.requests[0]?.input.results).toEqual([{ value: 'x' }]);
});

test('a segment that must end its workflow task is remote', async () => {
  const { requests } = await ran('local', [CALLS], { ...CALL, remote: true });
  expect(requests[0]?.tier).toBe('remote');
});
