import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { expect, test } from 'vitest';
import { ExecutionReader } from '../../src/history/execution-reader.ts';
import type { HistoryEvent } from '../../src/history/history-events.ts';
import { RecordedRun } from '../../src/history/recorded-ports.ts';
import { RecordedTasks } from '../../src/history/recorded-tasks.ts';

/** The marker that records that a workflow has asked for a change id and may show the changed behavior. */
function marker(id: string): HistoryEvent {
  const data = Buffer.from(JSON.stringify({ id, deprecated: false }));
  return { markerRecordedEventAttributes: { markerName: 'core_patch', details: { 'patch-data': { payloads: [{ data }] } } } };
}

test('a run that is read back has the changed behaviors whose ids its history records, and no others', async () => {
  const reader = new ExecutionReader('execution', {
    payloadConverter: defaultPayloadConverter,
    failureConverter: defaultFailureConverter,
    payloadCodecs: [],
  });
  await reader.read(marker('a-recorded-change'));
  const run = new RecordedRun(reader.execution, new RecordedTasks('run', reader.execution), { ids: new Map(), callEvents: new Map() });
  expect([run.allows('a-recorded-change'), run.allows('a-later-change')]).toEqual([true, false]);
});
