import { SIGNALS } from '../../core/protocol.ts';
import type { HistoryEvent } from '../history-events.ts';
import type { RecordedChild, RecordedExecution } from '../recorded-execution.ts';

/** Returns what is recorded of a child, and adds it if there is nothing yet. */
export function childOf({ children }: RecordedExecution, runId: string): RecordedChild {
  let child = children.get(runId);
  if (child === undefined) children.set(runId, (child = { nextTurns: [], interrupts: [], reports: [], reads: [] }));
  return child;
}

/** The part of a child that an event is about. */
export type ChildPart = 'started' | 'closed' | 'told' | 'cancelled';

/** The signals of which a child may receive several. */
type SignalList = 'nextTurns' | 'interrupts' | 'reports';

const LISTS = new Map<string, SignalList>([
  [SIGNALS.nextTurn, 'nextTurns'],
  [SIGNALS.interrupt, 'interrupts'],
  [SIGNALS.childEnded, 'reports'],
]);

/** The request of an event to a child: the parts that begin with it, and the list that a signal belongs to. */
export interface ChildRequest {
  runId: string;
  parts: ChildPart[];
  list?: SignalList;
}

/** Returns the child that an event requests something of, and the parts that begin with it. */
export function childRequest(event: HistoryEvent): ChildRequest | undefined {
  const start = event.startChildWorkflowExecutionInitiatedEventAttributes;
  if (start) return { runId: start.workflowId ?? '', parts: ['started', 'closed'] };
  const signal = event.signalExternalWorkflowExecutionInitiatedEventAttributes;
  if (signal?.signalName === SIGNALS.reportEnd) return { runId: signal.workflowExecution?.workflowId ?? '', parts: ['told'] };
  const list = LISTS.get(signal?.signalName ?? '');
  if (list !== undefined) return { runId: signal?.workflowExecution?.workflowId ?? '', parts: ['told'], list };
  const cancel = event.requestCancelExternalWorkflowExecutionInitiatedEventAttributes;
  return cancel ? { runId: cancel.workflowExecution?.workflowId ?? '', parts: ['cancelled'] } : undefined;
}

/** The answer to a request: its event, the part that ends with it, and what the answer holds. */
export interface ChildAnswer {
  initiatedEventId: unknown;
  part: ChildPart;
  result?: { payloads?: object[] | null } | null | undefined;
  failure?: object | null | undefined;
  /** The kind of an end without a failure of its own. */
  ended?: 'failed' | 'cancelled' | 'terminated' | 'timed_out';
}

/** Returns the answer that an event is to an earlier request; undefined for any other event. */
export function childAnswer(event: HistoryEvent): ChildAnswer | undefined {
  const answer = (
    part: ChildPart,
    attributes: { initiatedEventId?: unknown } | null | undefined,
    more: Partial<ChildAnswer> = {},
  ): ChildAnswer[] => (attributes ? [{ initiatedEventId: attributes.initiatedEventId, part, ...more }] : []);
  const completed = event.childWorkflowExecutionCompletedEventAttributes;
  const failed = event.childWorkflowExecutionFailedEventAttributes;
  const [found] = [
    ...answer('started', event.childWorkflowExecutionStartedEventAttributes),
    ...answer('started', event.startChildWorkflowExecutionFailedEventAttributes, { ended: 'failed' }),
    ...answer('closed', completed, { result: completed?.result }),
    ...answer('closed', failed, { failure: failed?.failure, ended: 'failed' }),
    ...answer('closed', event.childWorkflowExecutionCanceledEventAttributes, { ended: 'cancelled' }),
    ...answer('closed', event.childWorkflowExecutionTerminatedEventAttributes, { ended: 'terminated' }),
    ...answer('closed', event.childWorkflowExecutionTimedOutEventAttributes, { ended: 'timed_out' }),
    ...answer('told', event.externalWorkflowExecutionSignaledEventAttributes),
    ...answer('told', event.signalExternalWorkflowExecutionFailedEventAttributes, { ended: 'failed' }),
    ...answer('cancelled', event.externalWorkflowExecutionCancelRequestedEventAttributes),
    ...answer('cancelled', event.requestCancelExternalWorkflowExecutionFailedEventAttributes, { ended: 'failed' }),
  ];
  return found;
}
