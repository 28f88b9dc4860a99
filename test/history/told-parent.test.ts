import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { SIGNALS } from '../../src/core/protocol.ts';
import { ExecutionReader } from '../../src/history/execution-reader.ts';
import type { HistoryEvent } from '../../src/history/history-events.ts';
import type { RecordedExecution } from '../../src/history/recorded-execution.ts';

/** The id of the event of the signal: the reader uses it as text. */
const SIGNALLED = { toString: () => '9' } as never;
const TASK: HistoryEvent[] = [{ workflowTaskStartedEventAttributes: {} }, { workflowTaskCompletedEventAttributes: {} }];
const TELLS: HistoryEvent = {
  eventId: SIGNALLED,
  signalExternalWorkflowExecutionInitiatedEventAttributes: { signalName: SIGNALS.childWaiting },
};
const DELIVERED: HistoryEvent = { externalWorkflowExecutionSignaledEventAttributes: { initiatedEventId: SIGNALLED } };
const LOST: HistoryEvent = { signalExternalWorkflowExecutionFailedEventAttributes: { initiatedEventId: SIGNALLED } };
const CONTINUED: HistoryEvent = { workflowExecutionContinuedAsNewEventAttributes: { newExecutionRunId: 'next' } };
const ARCHIVES: HistoryEvent = { activityTaskScheduledEventAttributes: { activityType: { name: 'archiveEvents' } } };

/** The tasks of an execution in which the loop can have ended: the first if it waited for its parent, and the last. */
async function endOfLoop(events: HistoryEvent[]): Promise<Pick<RecordedExecution, 'toldIn' | 'decidedIn'>> {
  const reader = new ExecutionReader('execution', {
    payloadConverter: defaultPayloadConverter,
    failureConverter: defaultFailureConverter,
    payloadCodecs: [],
  });
  for (const event of events) await reader.read(event);
  const { toldIn, decidedIn } = reader.execution;
  return { ...(toldIn === undefined ? {} : { toldIn }), ...(decidedIn === undefined ? {} : { decidedIn }) };
}

describe('the loop of an execution that continued as new', () => {
  test.each<[string, HistoryEvent[], object]>([
    ['has ended in the last task', [...TASK, ...TASK, CONTINUED], { decidedIn: 2 }],
    ['may have ended before its parent had been told', [...TASK, TELLS, DELIVERED, ...TASK, CONTINUED], { toldIn: 1, decidedIn: 2 }],
    ['may have ended before its parent was found to have ended', [...TASK, TELLS, LOST, ...TASK, CONTINUED], { toldIn: 1, decidedIn: 2 }],
    ['has not, if it went on after its parent had been told', [...TASK, TELLS, DELIVERED, ...TASK, ...TASK, CONTINUED], { decidedIn: 3 }],
    ['has ended before its events were archived', [...TASK, TELLS, ARCHIVES, DELIVERED, ...TASK, CONTINUED], { decidedIn: 1 }],
  ])('%s', async (_, events, expected) => {
    expect(await endOfLoop(events)).toEqual(expected);
  });
});
