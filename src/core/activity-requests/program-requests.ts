import type { ActivityOptions } from '@temporalio/common';
import type { AgentSnapshot } from '../domain/agent.ts';
import { joinPieces } from '../domain/byte-budgets.ts';
import type { Resolved } from '../domain/children.ts';
import { defined, type JsonValue } from '../domain/json.ts';
import type { LoadOutputOutput, StoredOutput, StoreOutputsOutput } from '../domain/program-run.ts';
import { oneLine, summaryText } from '../domain/text.ts';
import type {
  AskCall,
  AskOutcome,
  EarlierOutcome,
  LoadOutcome,
  MemoryCall,
  MemoryOutcome,
  ProgramPorts,
  StoreOutcome,
} from '../program/program-ports.ts';
import type { AskStepInput, AskStepOutput, ProgramInput } from '../protocol.ts';
import {
  activityProblem,
  HEARTBEAT_TIMEOUT,
  type PerformActivity,
  type RequestingRun,
  type RequestOf,
  RETRY_LOST,
  runReference,
  SCHEDULE_TO_CLOSE,
  withoutBatch,
} from './activity-request.ts';
import { modelFailure, modelOptions, modelOutcome, RESOLVE, unresolved } from './agent-requests.ts';

/** The ports of program steps. */
export function programPorts(
  run: RequestingRun,
  perform: PerformActivity,
): Pick<ProgramPorts, 'ask' | 'useMemory' | 'readEarlier' | 'storeOutputs' | 'loadOutput'> {
  return {
    ask: (call) => perform(askRequest(run, call)),
    useMemory: (call) => perform(memoryRequest(run, call)),
    readEarlier: (runId) => perform(earlierRequest(run, runId)),
    storeOutputs: (outputs) => perform(storeRequest(run, outputs)),
    loadOutput: (stored) => loadOutput(run, stored, perform),
  };
}

/** Asks a worker to check a program and pin it for the whole run. */
export function resolveProgramRequest(
  run: { key?: string },
  { program, limits, tags, live, tier, parent, resume }: ProgramInput,
): RequestOf<'resolveProgram', Resolved> {
  const name = typeof program === 'string' ? program : program.name;
  return {
    name: 'resolveProgram',
    isNoProgress: true,
    tier: 'remote',
    options: { ...RESOLVE, summary: oneLine(name, 200) },
    input: {
      ...runReference(run),
      ...(typeof program === 'string' ? { program } : {}),
      ...defined({ limits, left: parent?.left, tags, live, tier: tier ?? parent?.tier, from: resume?.from }),
    },
    returned: (snapshot) => ({ type: 'resolved', snapshot: withDocument(snapshot, program) }),
    failed: (error) => unresolved(`Program "${name}"`, error),
  };
}

/** Adds the document from the run's input, which the activity does not return again. */
function withDocument(snapshot: AgentSnapshot, program: ProgramInput['program']): AgentSnapshot {
  return typeof program === 'string' ? snapshot : { ...snapshot, program };
}

/** Returns one attempt of an `ask` as an activity: `sort · Kind · attempt 2`. */
function askRequest(run: RequestingRun, call: AskCall): RequestOf<'askStep', AskOutcome> {
  const { address, attempt, outputs, failureId, edited, timeoutMs, model, isBatched } = call;
  const { tier: _, ...snapshot } = run.snapshot;
  const options = modelOptions({ ...snapshot, ...(isBatched ? { tier: 'batch' } : {}) }, stepSummary(address, attempt));
  const input: AskStepInput = { ...ofStep(run, address, attempt, outputs), ...defined({ failure: failureId, edited }) };
  return {
    name: 'askStep',
    key: attemptKey,
    tier: 'remote',
    // All attempts of the activity are one attempt of the step: they share its time.
    options: timeoutMs === undefined ? options : { ...options, startToCloseTimeout: timeoutMs, scheduleToCloseTimeout: timeoutMs },
    input,
    ...(isBatched ? { again: (output) => withoutBatch(input, output) } : {}),
    returned: askOutcome,
    failed: (error) => modelFailure(model, error),
  };
}

/** Returns the outcome of a completed attempt. */
function askOutcome(output: AskStepOutput): AskOutcome {
  if ('type' in output) return endWithoutAnswer(output);
  const { response, verdict = {}, promptLength } = output;
  return { type: 'answered', response: { finishReason: 'stop', ...response }, verdict, promptLength };
}

function endWithoutAnswer(output: Extract<AskStepOutput, { type: string }>): AskOutcome {
  const outcome = modelOutcome(output);
  if (outcome.type === 'failed') return outcome;
  return { type: 'cancelled', ...(outcome.type === 'cancelled' ? defined({ partial: outcome.partial }) : {}) };
}

function memoryRequest(
  run: RequestingRun,
  { kind, address, attempt, outputs, now, edited, timeoutMs }: MemoryCall,
): RequestOf<'useMemory', MemoryOutcome> {
  return {
    name: 'useMemory',
    key: attemptKey,
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
      ...defined({ edited }),
      ...(run.state?.principal === undefined ? {} : { principal: true }),
    },
    returned: ({ id, output }) => ({ type: 'done', id, output }),
    failed: (error) => memoryFailure(error, { isTimed: timeoutMs !== undefined }),
  };
}

/** Returns the outcome of a failed use of the memory. */
function memoryFailure(error: unknown, { isTimed }: { isTimed: boolean }): MemoryOutcome {
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return problem;
  if (problem.type === 'timed_out' && isTimed) return { type: 'failed', code: 'step_timeout', message: problem.message };
  return {
    type: 'failed',
    code: problem.type === 'failed' ? (problem.code ?? 'memory_failed') : 'memory_failed',
    message: problem.message,
  };
}

function earlierRequest(run: RequestingRun, runId: string): RequestOf<'readProgram', EarlierOutcome> {
  return {
    name: 'readProgram',
    tier: 'remote',
    options: { ...RESOLVE, startToCloseTimeout: '5 minutes', summary: summaryText(`results of ${runId}`) },
    input: { ...runReference(run), runId },
    returned: (earlier) => ({ type: 'read', earlier }),
    failed: earlierFailure,
  };
}

/** Returns the outcome of a failed attempt to read an earlier run. */
function earlierFailure(error: unknown): EarlierOutcome {
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return problem;
  return { type: 'failed', code: problem.type === 'failed' ? (problem.code ?? 'internal') : 'internal', message: problem.message };
}

/** Returns the summary of an activity of a step: `sort · Kind[3] · attempt 2`. */
function stepSummary(address: string, attempt: number): string {
  const [unit, step] = [address.slice(0, address.indexOf('.')), address.slice(address.indexOf('.') + 1)];
  return summaryText(`${unit} · ${step}${attempt > 1 ? ` · attempt ${attempt}` : ''}`);
}

/** Returns the key of an attempt among the attempts of all parallel steps. */
function attemptKey({ step, attempt = 1 }: Pick<Partial<AskStepInput>, 'step' | 'attempt'>): string {
  return `${step}#${attempt}`;
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

/** Bounded, so that a store that keeps failing does not hold up a run forever. */
const OPTIONS: ActivityOptions = {
  startToCloseTimeout: '5 minutes',
  scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: { maximumAttempts: 5, initialInterval: '1s', backoffCoefficient: 2 },
};

/** Stores outputs as one activity: `Store large outputs of 3 steps`. */
function storeRequest(run: RequestingRun, outputs: Record<string, string>): RequestOf<'storeOutputs', StoreOutcome> {
  const count = Object.keys(outputs).length;
  return {
    name: 'storeOutputs',
    isNoProgress: true,
    tier: 'remote',
    options: { ...OPTIONS, summary: count === 1 ? 'Store the large output of 1 step' : `Store large outputs of ${count} steps` },
    input: { ...runReference(run), outputs },
    returned: storeOutcome,
    failed: storeFailure,
  };
}

function storeOutcome({ stored }: StoreOutputsOutput): StoreOutcome {
  return { type: 'stored', stored };
}

/** Returns the outcome of a failed attempt to store outputs. */
function storeFailure(error: unknown): StoreOutcome {
  const problem = activityProblem(error);
  return problem.type === 'cancelled' ? problem : { type: 'failed', message: problem.message };
}

/** The end of one activity: the output, a piece of it, or a failure. */
type LoadEnd = LoadOutputOutput | LoadFailure;

type LoadFailure = Exclude<LoadOutcome, { type: 'loaded' }>;

/** Loads an output, or a piece of it, as one activity: `Load output of sort · Kind`. */
function loadRequest(run: RequestingRun, stored: StoredOutput, from: number): RequestOf<'loadOutput', LoadEnd> {
  return {
    name: 'loadOutput',
    key: ({ id, from: start = 0 }) => `${id}/${start}`,
    isNoProgress: true,
    tier: 'remote',
    // The output so far is made of loaded outputs.
    outlastsDeadline: 'always',
    options: { ...OPTIONS, summary: summaryText(`Load output of ${stored.address.replace('.', ' · ')}`) },
    input: { ...runReference(run), ...stored, ...(from === 0 ? {} : { from }) },
    returned: (output) => output,
    failed: loadFailure,
  };
}

/** Returns the outcome of a failed attempt to load an output. */
function loadFailure(error: unknown): LoadFailure {
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return problem;
  return {
    type: 'failed',
    code: (problem.type === 'failed' ? problem.code : undefined) ?? 'payload_store_failed',
    message: problem.message,
  };
}

/** Loads an output, piece by piece if it is too long for one payload. */
async function loadOutput(run: RequestingRun, stored: StoredOutput, perform: PerformActivity): Promise<LoadOutcome> {
  const end = await joinPieces<{ value: JsonValue } | LoadFailure>((from) => perform(loadRequest(run, stored, from)));
  return 'type' in end ? end : { type: 'loaded', value: end.value };
}
