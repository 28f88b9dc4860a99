import { expect, test } from 'vitest';
import { z } from 'zod';
import { activityPorts, toolRequest } from '../../../src/core/activity-requests/activity-ports.ts';
import type { ToolCall } from '../../../src/core/domain/content.ts';
import { limitApproval } from '../../../src/core/kernel/approvals.ts';
import type { RunPorts } from '../../../src/core/kernel/ports.ts';
import { newRunState, recordEvent } from '../../../src/core/kernel/run-state.ts';
import { defineTool, type ToolOptions } from '../../../src/define/define-tool.ts';
import { newSnapshot } from '../../fakes/snapshot.ts';
import type { PerformActivity, RequestingRun } from '../../../src/core/activity-requests/activity-request.ts';

const REFUND = { name: 'refund', description: 'Refunds.', parameters: z.object({ order: z.int() }), execute: () => 'done' };

/** The summary of a "refund" call for order 42 with a reason from the model. */
function summaryOf(more: Partial<ToolOptions<typeof REFUND.parameters, unknown, string>>): string | undefined {
  const snapshot = newSnapshot({ tools: [defineTool({ ...REFUND, ...more })] });
  const [tool] = snapshot.tools;
  if (tool === undefined) throw new TypeError('The snapshot has no tool');
  const clock = { now: () => 0, uuid: () => 'first' };
  const state = newRunState({ runId: 'r', snapshot, input: 'Q', startedAt: 0 }, clock);
  const call: ToolCall = { type: 'tool_call', toolCallId: 'c', name: 'refund', arguments: { order: 42 } };
  recordEvent(state, clock, {
    id: 'response',
    author: 'bot',
    content: [{ type: 'message', role: 'assistant', content: 'It arrived broken.' }, call],
  });
  const request = toolRequest({ runId: 'r', snapshot, state }, { step: 1, call, tool, offset: 1, index: 1, eventId: 'response' });
  return request.options.summary;
}

test.each(['remote', 'local'] as const)('the summary of a %s call begins with the label of its tool', (tier) => {
  expect(summaryOf({ tier, label: 'Refund' })).toBe('Refund · 42 · It arrived broken.');
});

test.each(['remote', 'local'] as const)('the summary of a %s call of a tool without a label begins with its arguments', (tier) => {
  expect(summaryOf({ tier })).toBe('42 · It arrived broken.');
});

const tool = (name: string, tier: 'local' | 'remote', maxResultBytes?: number) =>
  defineTool({
    name,
    description: name,
    parameters: z.object({}),
    tier,
    ...(maxResultBytes === undefined ? {} : { maxResultBytes }),
    execute: () => '',
  });
const snapshot = newSnapshot({ tools: [tool('note', 'local'), tool('large', 'local', 400_000), tool('fetch', 'remote', 400_000)] });

/** The kind of activity, local or remote, for each call of a response with these tools. */
function tiersOf(names: readonly string[]): string[] {
  const clock = { now: () => 0, uuid: () => 'first' };
  const state = newRunState({ runId: 'r', snapshot, input: 'Q', startedAt: 0 }, clock);
  const calls = names.map((name, place): ToolCall => ({ type: 'tool_call', toolCallId: `c${place}`, name, arguments: {} }));
  recordEvent(state, clock, { id: 'response', author: 'bot', content: [{ type: 'message', role: 'assistant', content: 'so' }, ...calls] });
  const run: RequestingRun = { runId: 'r', snapshot, state };
  return calls.map((call, place) => {
    const called = snapshot.tools.find(({ name }) => name === call.name);
    if (called === undefined) throw new TypeError(`No tool "${call.name}"`);
    return toolRequest(run, { step: 1, call, tool: called, offset: 1, index: place + 1, eventId: 'response' }).tier;
  });
}

test('calls of local tools run within the workflow task as long as the records of the whole response fit into it', () => {
  expect(tiersOf(['note', 'fetch', 'note'])).toEqual(['local', 'remote', 'local']);
  expect(tiersOf(Array.from({ length: 30 }, () => 'note')).lastIndexOf('local')).toBe(24);
});

test('a remote call takes no room, and a small call may fit after a large one did not', () => {
  const four = ['large', 'large', 'fetch', 'fetch', 'large', 'large'];
  expect(tiersOf([...four, 'large'])).toEqual(['local', 'local', 'remote', 'remote', 'local', 'local', 'remote']);
  expect(tiersOf([...four, 'note'])).toEqual(['local', 'local', 'remote', 'remote', 'local', 'local', 'local']);
});

test('storing and loading outputs does not count as progress: an execution that does nothing else must not continue as new', async () => {
  const progress: [string, boolean][] = [];
  const perform: PerformActivity = (call) => {
    progress.push([call.name, call.isNoProgress !== true]);
    return Promise.resolve(call.failed(new Error('no store')));
  };
  const ports = activityPorts({ runId: 'r', snapshot, authorizing: new Map() }, perform, () => false);
  await ports.storeOutputs({ 'one.Ask': 'id' });
  await ports.loadOutput({ address: 'one.Ask', id: 'id', spilled: { store: 's', claim: {}, bytes: 2_000, sha256: '' } });
  await ports.readEarlier('earlier');
  expect(progress).toEqual([
    ['storeOutputs', false],
    ['loadOutput', false],
    ['readProgram', true],
  ]);
});

test('each wait at a limit has a notice with another id, also at the same place of the record, and one wait has one id in all executions', () => {
  const clock = { now: () => 0, uuid: () => 'first' };
  const state = newRunState({ runId: 'r', snapshot, input: 'Q', startedAt: 0 }, clock);
  const ids: string[] = [];
  const perform = (async ({ input }: { input: { notificationId: string } }) =>
    ids.push(input.notificationId)) as unknown as PerformActivity;
  const ports = activityPorts({ runId: 'r', snapshot, state, authorizing: new Map() }, perform, () => false);
  const reached = { stopReason: 'step_limit' as const, message: 'Step limit reached', proposal: { steps: 20 } };
  const waitFrom = (now: number): void => {
    const waiting = limitApproval(state, { now: () => now } as unknown as RunPorts, reached);
    void ports.notify(waiting);
    void ports.notify(structuredClone(waiting));
  };
  // An operator has raised the limit, and another one is reached; or the run was retried.
  waitFrom(1_000);
  waitFrom(2_000);
  expect(ids).toHaveLength(4);
  expect([...new Set(ids)]).toEqual([ids[0], ids[2]]);
});
