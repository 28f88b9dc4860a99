import type { AgentSnapshot } from '../domain/agent/agent-snapshot.ts';
import { oneLine } from '../domain/content/text.ts';
import { summaryText } from '../domain/content/summary-text.ts';
import type { EarlierRun } from '../domain/program/program-state.ts';
import type { AskCall, AskOutcome, EarlierOutcome, MemoryCall, MemoryOutcome, ProgramPorts } from '../program/interpreter/program-ports.ts';
import type { ReadProgramInput } from '../domain/program/messages.ts';
import type { AskStepInput, AskStepOutput, ProgramInput, ResolveProgramInput, UseMemoryInput, UseMemoryOutput } from '../protocol.ts';
import { ACTIVITIES } from '../protocol.ts';
import { activityProblem, modelFailure } from './activity-outcome.ts';
import type { ScheduleActivity } from './activity-request.ts';
import {
  type ActivityRequest,
  HEARTBEAT_TIMEOUT,
  type RequestingRun,
  RETRY_LOST,
  runReference,
  SCHEDULE_TO_CLOSE,
} from './activity-request.ts';
import { modelOptions } from './model-request.ts';
import { RESOLVE, unresolved } from './resolve-request.ts';
import type { Resolved } from '../domain/run/resolved.ts';

/** Returns the ports of a program that only schedule an activity. */
export function programPorts(run: RequestingRun, perform: ScheduleActivity): Pick<ProgramPorts, 'ask' | 'useMemory' | 'readEarlier'> {
  return {
    ask: (call) => perform(askRequest(run, call)),
    useMemory: (call) => perform(memoryRequest(run, call)),
    readEarlier: (runId) => perform(earlierRequest(run, runId)),
  };
}

/** Asks a worker to check a program and to pin it for the whole run. */
export function resolveProgramRequest(
  run: { key?: string },
  { program, limits, tags, live, parent }: ProgramInput,
): ActivityRequest<ResolveProgramInput, AgentSnapshot, Resolved> {
  const name = typeof program === 'string' ? program : program.name;
  return {
    name: ACTIVITIES.resolveProgram,
    tier: 'remote',
    options: { ...RESOLVE, summary: oneLine(name, 200) },
    input: {
      ...runReference(run),
      ...(typeof program === 'string' ? { program } : {}),
      ...(limits === undefined ? {} : { limits }),
      ...(parent?.left === undefined ? {} : { left: parent.left }),
      ...(tags === undefined ? {} : { tags }),
      ...(live === undefined ? {} : { live }),
    },
    returned: (snapshot) => ({ type: 'resolved', snapshot: withDocument(snapshot, program) }),
    failed: (error) => unresolved(`Program "${name}"`, error),
  };
}

/** Adds the document that came with the input of the run, and that the activity does not return again. */
function withDocument(snapshot: AgentSnapshot, program: ProgramInput['program']): AgentSnapshot {
  return typeof program === 'string' ? snapshot : { ...snapshot, program };
}

/** Returns one attempt of an `ask` as an activity: `sort · Kind · attempt 2`. */
export function askRequest(run: RequestingRun, call: AskCall): ActivityRequest<AskStepInput, AskStepOutput, AskOutcome> {
  const { address, attempt, outputs, failureId, edited, timeoutMs, model } = call;
  const options = modelOptions(run.snapshot, stepSummary(address, attempt));
  return {
    name: ACTIVITIES.askStep,
    tier: 'remote',
    // The attempts of the activity are one attempt of the step: they share its time.
    options: timeoutMs === undefined ? options : { ...options, startToCloseTimeout: timeoutMs, scheduleToCloseTimeout: timeoutMs },
    input: {
      ...ofStep(run, address, attempt, outputs),
      ...(failureId === undefined ? {} : { failure: failureId }),
      ...(edited === undefined ? {} : { edited }),
    },
    returned: askOutcome,
    failed: (error) => modelFailure(model, error),
  };
}

/** Returns the outcome of an attempt that completed. */
export function askOutcome(output: AskStepOutput): AskOutcome {
  if ('type' in output) return { type: 'cancelled', ...(output.partial === undefined ? {} : { partial: output.partial }) };
  const { response, verdict = {}, promptLength } = output;
  return { type: 'answered', response: { finishReason: 'stop', ...response }, verdict, promptLength };
}

/** Returns a use of the memory as an activity. */
export function memoryRequest(
  run: RequestingRun,
  { kind, address, attempt, outputs, now, edited, timeoutMs }: MemoryCall,
): ActivityRequest<UseMemoryInput, UseMemoryOutput, MemoryOutcome> {
  return {
    name: ACTIVITIES.useMemory,
    tier: 'remote',
    options: {
      summary: summaryText(`${kind} · ${stepSummary(address, attempt)}`),
      startToCloseTimeout: timeoutMs ?? '1 minute',
      scheduleToCloseTimeout: timeoutMs ?? SCHEDULE_TO_CLOSE,
      heartbeatTimeout: HEARTBEAT_TIMEOUT,
      retry: RETRY_LOST,
    },
    input: {
      ...ofStep(run, address, attempt, outputs),
      now,
      ...(edited === undefined ? {} : { edited }),
      ...(run.state?.principal === undefined ? {} : { principal: true }),
    },
    returned: ({ id, output }) => ({ type: 'done', id, output }),
    failed: (error) => memoryFailure(error, { isTimed: timeoutMs !== undefined }),
  };
}

/** Returns the outcome of a use of the memory that failed. */
export function memoryFailure(error: unknown, { isTimed = false }: { isTimed?: boolean } = {}): MemoryOutcome {
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return problem;
  if (problem.type === 'timed_out' && isTimed) return { type: 'failed', code: 'step_timeout', message: problem.message };
  return {
    type: 'failed',
    code: problem.type === 'failed' ? (problem.code ?? 'memory_failed') : 'memory_failed',
    message: problem.message,
  };
}

/** Reads the results of an earlier run as an activity. */
export function earlierRequest(run: RequestingRun, runId: string): ActivityRequest<ReadProgramInput, EarlierRun, EarlierOutcome> {
  return {
    name: ACTIVITIES.readProgram,
    tier: 'remote',
    options: { ...RESOLVE, startToCloseTimeout: '5 minutes', summary: summaryText(`results of ${runId}`) },
    input: { ...runReference(run), runId },
    returned: (earlier) => ({ type: 'read', earlier }),
    failed: earlierFailure,
  };
}

/** Returns the outcome of reading an earlier run that failed. */
export function earlierFailure(error: unknown): EarlierOutcome {
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return problem;
  return { type: 'failed', code: problem.type === 'failed' ? (problem.code ?? 'internal') : 'internal', message: problem.message };
}

/** Returns the summary of an activity of a step: `sort · Kind[3] · attempt 2`. */
function stepSummary(address: string, attempt: number): string {
  const [unit, step] = [address.slice(0, address.indexOf('.')), address.slice(address.indexOf('.') + 1)];
  return summaryText(`${unit} · ${step}${attempt > 1 ? ` · attempt ${attempt}` : ''}`);
}

function ofStep(
  run: RequestingRun,
  step: string,
  attempt: number,
  outputs: Record<string, string>,
): Omit<AskStepInput, 'failure' | 'edited'> {
  const named = Object.keys(outputs).length === 0 ? {} : { outputs };
  return { ...runReference(run), agent: run.snapshot.digest, step, ...(attempt === 1 ? {} : { attempt }), ...named };
}
