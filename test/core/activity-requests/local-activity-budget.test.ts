import { expect, test } from 'vitest';
import { z } from 'zod';
import type { RequestingRun } from '../../../src/core/activity-requests/activity-request.ts';
import { toolRequest } from '../../../src/core/activity-requests/activity-ports.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import type { ToolCall } from '../../../src/core/domain/content.ts';
import { recordEvent, newRunState } from '../../../src/core/loop/state/run-state.ts';
import { newSnapshot } from '../../fakes/snapshot.ts';

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
