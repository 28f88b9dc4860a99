import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { type Client, ServiceError } from '@temporalio/client';
import { isOfFlow, readBack, type ReadBackRun } from '../../src/history/read-run.ts';
import { executionChain, type HistoryEvent } from '../../src/history/history-events.ts';
import type { StepState } from '../../src/core/domain/program-run.ts';
import { isRunResult, type RunResultFields } from '../../src/core/domain/result.ts';
import { fromContinueAsNewState } from '../../src/core/kernel/continue-as-new.ts';
import type { RunState } from '../../src/core/kernel/run-state.ts';
import { type RecordedChainLink, recordedChains } from './recorded-histories.ts';
import { SIGNALS } from '../../src/core/protocol.ts';
import { ExecutionReader } from '../../src/history/execution-reader.ts';
import type { RecordedExecution } from '../../src/history/recorded-execution.ts';
import { PARENT, parentOf } from '../../src/core/domain/run-input.ts';
import { defined } from '../../src/core/domain/json.ts';

const chains = await recordedChains();

/** The result in the closing event of a history, in whichever of its forms. */
function closingResult(events: readonly HistoryEvent[]): RunResultFields | undefined {
  const payloads = events.flatMap((event) => [
    ...(event.workflowExecutionCompletedEventAttributes?.result?.payloads ?? []),
    ...(event.workflowExecutionFailedEventAttributes?.failure?.applicationFailureInfo?.details?.payloads ?? []),
    ...Object.values(event.workflowPropertiesModifiedEventAttributes?.upsertedMemo?.fields ?? {}),
  ]);
  return payloads.map((payload) => defaultPayloadConverter.fromPayload<unknown>(payload)).find(isRunResult);
}

function pick({ status, stepsUsed }: Partial<RunResultFields>): Partial<RunResultFields> {
  return { ...(status === undefined ? {} : { status }), ...(stepsUsed === undefined ? {} : { stepsUsed }) };
}

/** The result without fields that did not exist when the history was recorded. */
function asThen({ usage, finishReason, ...read }: RunResultFields, closed: Partial<RunResultFields>): Partial<RunResultFields> {
  const { estimated, ...reported } = usage;
  return {
    ...read,
    ...(closed.finishReason === undefined || finishReason === undefined ? {} : { finishReason }),
    usage: closed.usage?.estimated === undefined || estimated === undefined ? reported : { ...reported, estimated },
  };
}

async function readChain(runId: string, links: readonly RecordedChainLink[]): Promise<ReadBackRun[]> {
  const runs: ReadBackRun[] = [];
  for (const [index, { recorded }] of links.entries())
    runs.push(await readBack(runId, recorded, links[index + 1]?.recorded.continuedState));
  return runs;
}

/** The number of steps in an execution: an agent's steps are in its record, a program's steps are its model calls. */
function stepsIn({ context, program, steps }: RunState): number {
  return program === undefined ? steps.length : context.events.filter(({ step }) => step?.promptLength !== undefined).length;
}

/** The state without what only the workflow knew: ids of outputs and events that no activity names, and the next look at the parent. */
function asTold<State extends Partial<RunState>>({ program, slices, ...state }: State): object {
  const parent = parentOf(defined({ slices }));
  const steps = program && new Map([...program.steps].map(([at, step]) => [at, withoutIds(step)]));
  const told = parent === undefined ? slices : { ...slices, [PARENT]: { ...parent, checkAt: undefined } };
  return { ...state, ...(program && { program: { ...program, steps } }), ...defined({ slices: told }) };
}

function withoutIds({ outputId: _, progress, ...step }: StepState): object {
  const failure = progress?.failure && { ...progress.failure, id: undefined };
  return { ...step, ...(progress && { progress: { ...progress, ...(failure && { failure }) } }) };
}

describe.each([...chains])('%s', (runId, links) => {
  test('ends with the closing result of its history', async () => {
    const runs = await readChain(runId, links);
    const { cancelReason: _, ...closed }: Partial<RunResultFields> = closingResult(links.at(-1)?.events ?? []) ?? {};
    const { state, result } = runs.at(-1) ?? {};
    const { steps: __, ...read }: Partial<RunResultFields> = result === undefined ? {} : asThen(result, closed);
    // A run whose agent was never resolved has recorded nothing.
    const unresolved = { status: 'error', stepsUsed: 0 } as const;
    expect(state === undefined ? unresolved : read).toEqual(state === undefined ? pick(closed) : closed);
  });

  test('has no gap in its events and steps, and the state at the end of each execution equals that at the start of the next', async () => {
    const runs = await readChain(runId, links);
    let offset = 0;
    let steps = 0;
    for (const [place, { state, executions }] of runs.entries()) {
      if (state === undefined) continue;
      expect(executions).toBe(place + 1);
      expect(state.firstOffset).toBe(offset);
      expect(state.steps.map(({ step }) => step)).toEqual(state.steps.map((_, index) => steps + index + 1));
      offset += state.context.events.length;
      steps += stepsIn(state);
      const continuedState = links[place + 1]?.recorded.continuedState;
      if (continuedState === undefined) continue;
      const {
        status: _,
        context,
        firstOffset: __,
        carriedEventId: ___,
        steps: ____,
        ...carried
      } = fromContinueAsNewState(continuedState).state;
      expect(asTold(state)).toMatchObject({ ...asTold(carried), context: { currentStep: context.currentStep, state: context.state } });
    }
    const used = runs.at(-1)?.result?.stepsUsed ?? 0;
    // The steps of children count too, and are in their own records.
    const hasChildren = links.some(({ recorded }) => recorded.children.size > 0);
    expect(hasChildren ? used >= steps : used === steps).toBe(true);
  });

  test('is the same when it is read again, ids included', async () => {
    expect(await readChain(runId, links)).toEqual(await readChain(runId, links));
  });
});

test.each([
  ['a flow whose agents act in turn', 'flow-in-rounds-over-executions', true],
  ['a flow whose agents act together', 'side-by-side-over-executions', true],
  ['an agent that hands over', 'handed-over-and-back', false],
  ['an agent that calls others', 'sub-agents-called', false],
])('the trace of %s says if it is a flow', async (_, runId, isFlow) => {
  const runs = await readChain(runId, chains.get(runId) ?? []);
  expect(new Set(runs.map(isOfFlow))).toEqual(new Set([isFlow]));
});

test('the recorded runs cover every form', () => {
  const executions = [...chains.values()].map((links) => links.length);
  expect(Math.max(...executions)).toBeGreaterThan(3);
  expect(executions.length).toBeGreaterThan(8);
});

test('the closing event that a recorded program is compared with has the results of its units', () => {
  const programs = [...chains.values()].filter(([first]) => first?.recorded.resolved?.snapshot.program !== undefined);
  expect(programs.length).toBeGreaterThan(30);
  for (const links of programs) expect(closingResult(links.at(-1)?.events ?? [])?.units).not.toHaveLength(0);
});

/** A server on which each execution has continued the named one; undefined for the first of a chain. */
function serverWith(continued: Record<string, string | undefined>): Client {
  const getWorkflowExecutionHistory = ({ execution }: { execution: { runId: string } }): Promise<unknown> => {
    const { runId } = execution;
    if (!Object.hasOwn(continued, runId)) return Promise.reject(gone());
    const started = { workflowExecutionStartedEventAttributes: { continuedExecutionRunId: continued[runId] ?? '' } };
    return Promise.resolve({ history: { events: [started] } });
  };
  return { options: { namespace: 'n' }, workflowService: { getWorkflowExecutionHistory } } as Partial<Client> as Client;
}

function gone(): Error {
  return new ServiceError('gone', { cause: Object.assign(new Error('not found'), { code: 5, details: 'not found', metadata: {} }) });
}

test('a run that never continued is one execution', async () => {
  expect(await executionChain(serverWith({ a: undefined }), 'w', 'a')).toEqual({ executionIds: ['a'], complete: true });
});

test('the executions of a run are in order, the oldest first', async () => {
  const chain = await executionChain(serverWith({ a: undefined, b: 'a', c: 'b' }), 'w', 'c');
  expect(chain).toEqual({ executionIds: ['a', 'b', 'c'], complete: true });
});

test('a chain reports that its beginning is missing', async () => {
  expect(await executionChain(serverWith({ b: 'a', c: 'b' }), 'w', 'c')).toEqual({ executionIds: ['b', 'c'], complete: false });
});

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

/** The tasks where the loop of an execution can have ended: the first if it waited for its parent, and the last. */
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
    ['may have ended before its parent was notified', [...TASK, TELLS, DELIVERED, ...TASK, CONTINUED], { toldIn: 1, decidedIn: 2 }],
    ['may have ended before its parent was found to have ended', [...TASK, TELLS, LOST, ...TASK, CONTINUED], { toldIn: 1, decidedIn: 2 }],
    ['has not, if it continued after its parent was notified', [...TASK, TELLS, DELIVERED, ...TASK, ...TASK, CONTINUED], { decidedIn: 3 }],
    ['has ended before its events were archived', [...TASK, TELLS, ARCHIVES, DELIVERED, ...TASK, CONTINUED], { decidedIn: 1 }],
  ])('%s', async (_, events, expected) => {
    expect(await endOfLoop(events)).toEqual(expected);
  });
});
