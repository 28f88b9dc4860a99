import type { Client } from '@temporalio/client';
import type { AgentSnapshot } from '../core/domain/agent.ts';
import { defined } from '../core/domain/json.ts';
import { LonghaulError } from '../core/domain/errors.ts';
import type { Event } from '../core/domain/record.ts';
import type { RunResultFields } from '../core/domain/result.ts';
import { endedTurns, sessionOf, type TurnResultFields } from '../core/domain/sessions.ts';
import type { StepResult } from '../core/domain/tool-calls.ts';
import { type TracedEnd, type TracedPart, tracedPart, turnsOfEvents } from '../core/domain/traced-part.ts';
import { noUsage } from '../core/domain/usage.ts';
import { countsOf } from '../core/kernel/run-loop.ts';
import { type RunTrace, tracedRun, traceOfChild, traceOfStart, traceOfTurn } from '../telemetry/ids.ts';
import { describeRun, hasEndedAs, runOutcome } from '../temporal/run-workflow.ts';
import { executionChain } from './history-events.ts';
import { isOfFlow, type ReadBackRun, readExecution } from './read-run.ts';
import { executionBeginning } from './execution-reader.ts';
import { type AgentOf, type BurstCalls, burstCallsOf, type CallAt, endedCallOf, lossOf } from './recorded-calls.ts';
import { activitiesNamed, type EndedAttempt, type LostActivity } from './recorded-execution.ts';

/** What the trace of a run shows of its whole record, and the place of the run in it. */
interface RecordedTrace {
  trace: RunTrace;
  part: TracedPart;
}

/**
 * Reads what the trace of a run shows of its record, from the histories of all its executions. Throws `run_not_found`, and
 * `history_removed` if the server does not have the beginning of the run any more.
 */
export async function recordedTrace(client: Client, runId: string): Promise<RecordedTrace> {
  const { runId: newest, status, closeTime } = await describeRun(client, runId);
  const trace = await findTrace(client, { workflowId: runId, key: '' });
  const { executionIds } = await executionChain(client, runId, newest);
  const record = new WholeRecord();
  for (const executionId of executionIds) {
    const read = await readExecution(client, runId, executionId);
    if (read !== undefined) record.add(read);
  }
  if (trace === undefined || record.run === undefined)
    throw new LonghaulError('history_removed', `The beginning of run "${runId}" is not on the server any more: its trace is not known`);
  const isCutOff = status.name === 'TERMINATED' || status.name === 'TIMED_OUT';
  const hasEnded = hasEndedAs(status.name) && !isCutOff;
  const part = record.part(hasEnded ? await runOutcome(client, runId) : undefined);
  return { trace, part: isCutOff ? { ...part, end: cutOffEnd(record.run, status.name, closeTime?.getTime() ?? 0) } : part };
}

/** The records of the executions of a run, one after the other. */
class WholeRecord {
  run: ReadBackRun | undefined;
  readonly #events: Event[] = [];
  readonly #steps: StepResult[] = [];
  readonly #turns: TurnResultFields[] = [];
  readonly #losses: LostActivity[] = [];
  readonly #ended: { executionId: string; attempt: EndedAttempt; inBursts: BurstCalls }[] = [];
  /** The agents of the run, by digest: of each model call the agent that has made it. */
  readonly #agents = new Map<string, AgentSnapshot>();
  #firstOffset = 0;

  add(execution: NonNullable<Awaited<ReturnType<typeof readExecution>>>): void {
    const { executionId, run, recorded, firstOffset, events, steps, losses, endedAttempts } = execution;
    if (this.run === undefined) this.#firstOffset = firstOffset;
    this.run = run;
    this.#events.push(...events);
    this.#steps.push(...steps);
    this.#turns.push(...endedTurns(run.state ?? {}));
    this.#losses.push(...losses);
    const inBursts = { checkpoints: recorded.checkpoints, modelCalls: run.modelCalls, toolCalls: run.toolCalls };
    for (const attempt of [...endedAttempts, ...run.localAttempts]) this.#ended.push({ executionId, attempt, inBursts });
    const resolved = activitiesNamed(recorded, 'resolveAgent').flatMap(({ output }) => output ?? []);
    for (const agent of [...resolved, run.state?.snapshot ?? []].flat()) this.#agents.set(agent.digest, agent);
  }

  part(result: RunResultFields | undefined): TracedPart {
    const agentName = result?.agentName ?? this.run?.agentName ?? '';
    const turnsBegun = sessionOf(this.run?.state ?? {})?.turns;
    const [events, turnOf] = [this.#events, turnsOfEvents(this.#events, turnsBegun)];
    const agentOf = (digest: string): ReturnType<AgentOf> => this.#agents.get(digest) ?? { name: agentName };
    const inTurns = <Traced extends object>(calls: readonly (CallAt<Traced> | undefined)[]): (Traced & { turn?: number })[] =>
      calls.flatMap((call) =>
        call === undefined ? [] : [{ ...call.traced, ...defined({ turn: turnOf(call.offset - this.#firstOffset) }) }],
      );
    const losses = inTurns(this.#losses.map((lost) => lossOf(lost, agentOf)));
    const calls = inTurns(
      this.#ended.flatMap(({ executionId, attempt, inBursts }) =>
        attempt.name === 'runBurst' ? burstCallsOf(attempt, inBursts, agentOf) : [endedCallOf(attempt, executionId, agentOf)],
      ),
    );
    const part = {
      agentName,
      firstOffset: this.#firstOffset,
      events,
      steps: this.#steps,
      turns: this.#turns,
      turnsBegun,
      isFlow: this.run !== undefined && isOfFlow(this.run),
      result,
    };
    return { ...tracedPart(part), losses, calls };
  }
}

/** Returns the end of a run that the server has ended: the run has recorded none. */
function cutOffEnd(run: ReadBackRun, status: string, to: number): TracedEnd {
  const { agentName, startedAt, state } = run;
  const how = status === 'TERMINATED' ? 'terminated' : 'timed_out';
  const { usage, stepsUsed, toolCallsTotal } =
    state === undefined ? { usage: noUsage(), stepsUsed: 0, toolCallsTotal: 0 } : countsOf(state);
  return {
    agent: state?.snapshot.name ?? agentName,
    status: how,
    stopReason: how,
    isWorkflow: state?.program !== undefined,
    ...(isOfFlow(run) ? { isFlow: true as const } : {}),
    usage,
    steps: stepsUsed,
    toolCalls: toolCallsTotal,
    from: startedAt,
    to,
  };
}

/** An execution of a workflow, and a run of it. */
export interface TracedExecution {
  workflowId: string;
  /** Temporal's run id. Absent: the newest execution. */
  executionId?: string;
  /** The key of a run inside a workflow of the user, or empty. */
  key: string;
  /** The offset of an event, if its turn is asked for. Absent: the place is that of the run as a whole. */
  offset?: number;
}

/** Finds the place of a run in its trace. */
type FindTrace = (client: Client, execution: TracedExecution) => Promise<RunTrace | undefined>;

/**
 * Finds the place of a run in its trace: what it needs is in the first events of its executions, and of those of the runs above it, whose
 * places `findParent` finds. Undefined if the server does not have one of them any more.
 */
export async function findTrace(
  client: Client,
  { workflowId, executionId, key, offset }: TracedExecution,
  findParent: FindTrace = findTrace,
): Promise<RunTrace | undefined> {
  const beginning = await executionBeginning(client, workflowId, executionId);
  const firstExecutionId = beginning?.firstExecutionId;
  if (beginning === undefined || firstExecutionId === undefined) return undefined;
  const run = tracedRun({ namespace: client.options.namespace, workflowId, firstExecutionId, key });
  // The input is that of a workflow of the user.
  if (key !== '') return traceOfStart(run, undefined);
  // An execution that continues another one has no start of its own.
  const first = beginning.before === undefined ? beginning : await executionBeginning(client, workflowId, firstExecutionId);
  // A session may outlive its first execution. Of its turns, only the first is in the trace of the caller.
  const start = first ?? (beginning.isSession ? beginning : undefined);
  if (start === undefined) return undefined;
  const { parentRunId, parentFirstId, traceparent, isSession } = start;
  if (parentRunId !== undefined && parentFirstId !== undefined) {
    const above = { workflowId: parentRunId, executionId: parentFirstId, key: '' };
    const whole = await findParent(client, above);
    const parent = whole?.isSession ? await findParent(client, { ...above, offset: offsetOfCall(workflowId) }) : whole;
    return parent === undefined ? undefined : traceOfChild(run, parent);
  }
  const trace = traceOfStart(run, traceparent);
  if (!isSession) return trace;
  const session: RunTrace = { ...trace, isSession };
  if (offset === undefined) return session;
  const turn = await turnAt(client, { runId: workflowId, firstExecutionId, offset });
  return turn === undefined ? undefined : traceOfTurn(session, turn);
}

/** Returns the offset of the event with the call that has started a child: the id of the child ends with its position. */
function offsetOfCall(childRunId: string): number {
  const { offset } = /\.(?<offset>\d+)\.\d+\.[^.]+$/.exec(childRunId)?.groups ?? {};
  return Number(offset ?? 0);
}

/** Returns the turn of a session to which the event at an offset belongs. Undefined if the server does not have that event any more. */
async function turnAt(
  client: Client,
  { runId, firstExecutionId, offset }: { runId: string; firstExecutionId: string; offset: number },
): Promise<number | undefined> {
  let executionId = (await describeRun(client, runId)).runId;
  for (;;) {
    const beginning = await executionBeginning(client, runId, executionId);
    if (beginning?.firstExecutionId !== firstExecutionId) return undefined;
    const { before, continuedState } = beginning;
    if (before === undefined || offset >= (continuedState?.window.through ?? 0)) break;
    executionId = before;
  }
  const read = await readExecution(client, runId, executionId);
  const later = read?.events.slice(Math.max(0, offset - read.firstOffset));
  return later?.find(({ turn }) => turn !== undefined)?.turn?.number ?? sessionOf(read?.run.state ?? {})?.turns;
}
