import { earlierRun } from '../../../../activities/programs/resolve-program.ts';
import type { Decision, PendingApproval } from '../../../../src/core/domain/approvals.ts';
import type { ChildOutcome } from '../../../../src/core/domain/children.ts';
import { errorMessage, LonghaulError, UsageError } from '../../../../src/core/domain/errors.ts';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import { plainLimits } from '../../../../src/core/domain/limits.ts';
import type { RecordedResponse } from '../../../../src/core/domain/model.ts';
import type { ProgramDocument } from '../../../../src/core/domain/program-document.ts';
import type { EarlierRun, ProgramState } from '../../../../src/core/domain/program-run.ts';
import type { RunResultFields } from '../../../../src/core/domain/result.ts';
import { isLimitStatus } from '../../../../src/core/domain/run.ts';
import type { AnswerVerdict } from '../../../../src/core/domain/verdicts.ts';
import { beginProgram } from '../../../../src/core/first-start.ts';
import { checkProgramInput } from '../../../../src/core/input-checks.ts';
import { runProgram } from '../../../../src/core/interpret.ts';
import { fromContinueAsNewState, toContinueAsNewState } from '../../../../src/core/kernel/continue-as-new.ts';
import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import type { ToolOutcome } from '../../../../src/core/kernel/ports.ts';
import { closeUnstarted } from '../../../../src/core/kernel/run-loop.ts';
import type { RunState } from '../../../../src/core/kernel/run-state.ts';
import { checkProgram } from '../../../../src/core/program/check/check-program.ts';
import type { Problem } from '../../../../src/core/program/check/problems.ts';
import type { AskOutcome, MemoryOutcome, ProgramPorts } from '../../../../src/core/program/program-ports.ts';
import { defineProgram, type ProgramOptions } from '../../../../src/define/program/define-program.ts';
import { quietPorts } from '../../loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../../loop/fakes/snapshot.ts';
import { choicesOf, type Choose, oneOf } from './choices.ts';
import { type Mutant, mutated } from './mutations.ts';
import { wrongValues } from './seen-values.ts';
import { INPUT, TOOLS, validProgram } from './valid-programs.ts';
import { VirtualClock } from './virtual-clock.ts';

/** Reads the path of a problem: `units[0].steps[1].ask["a b"]`. Undefined for a text that is not a path. */
function readPath(path: string): (string | number)[] | undefined {
  const segment = /(?:^|\.)([\w$]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/gy;
  const keys: (string | number)[] = [];
  for (let index = 0; index < path.length; index = segment.lastIndex) {
    segment.lastIndex = index;
    const [, name, position, quoted] = segment.exec(path) ?? [];
    if (name !== undefined) keys.push(name);
    else if (position !== undefined) keys.push(Number(position));
    else if (quoted !== undefined) keys.push(String(JSON.parse(quoted)));
    else return undefined;
  }
  return keys;
}

/** True if a path leads to a value of a document, or its last key is missing in one. */
function leadsIntoDocument(document: unknown, path: string): boolean {
  const keys = readPath(path);
  if (keys === undefined) return false;
  let value: unknown = document;
  for (const [at, key] of keys.entries()) {
    if (typeof value !== 'object' || value === null) return false;
    if (!Object.hasOwn(value, key)) return at === keys.length - 1;
    value = (value as Record<string | number, unknown>)[key];
  }
  return true;
}

/** The most model calls of a run, its longest time, and the least time that an activity takes. */
const MODEL_CALLS = 60;
const LONGEST_MS = 90 * 86_400_000;
const ACTIVITY_MS = 3_600_000;

/** The most turns of the clock, and the most executions: a run that takes more is stuck. */
const MAX_TURNS = 30_000;
const MAX_EXECUTIONS = 20;

/** Values that models, tools and memories return. */
const VALUES: readonly [JsonValue, ...JsonValue[]] = [
  'text',
  '',
  3,
  null,
  true,
  ['a', 'b'],
  { n: 1, list: ['a'], kind: 'bug' },
  { output: {} },
  [['a'], ['b', 'c']],
];

const NO_STORE = { type: 'failed', code: 'payload_store_failed', message: 'there is no store' } as const;

/** An ended run: its result, its last state, and the number of its effects. */
interface EndedMutant {
  result: RunResultFields;
  program: ProgramState;
  acted: number;
}

/**
 * Runs a program whose models, tools, children, memories and persons do anything, and which is cancelled or paused now and then. Throws
 * if it is stuck, if an activity reads wrong values, or if it completes with a step that has not. `earlier`: the run that it resumes,
 * without being cancelled.
 */
async function runMutant(document: ProgramDocument, choose: Choose, earlier?: EarlierRun): Promise<EndedMutant> {
  const clock = new VirtualClock();
  let [ids, executions] = [0, 1];
  const stamps = { now: () => clock.now, uuid: () => `id-${++ids}` };
  const limits = {
    steps: MODEL_CALLS,
    deadlineMs: LONGEST_MS,
    finalAttempt: false,
    ...bounded(plainLimits('p', document.limits ?? {})),
  };
  const snapshot = { ...testSnapshot({ limits, tools: TOOLS.map((name) => testTool(name)) }), name: document.name, program: document };
  let state: RunState = beginProgram({ runId: 'run-1', snapshot, input: INPUT, startedAt: clock.now }, stamps);
  if (earlier !== undefined && state.program !== undefined) state.program.resume = { run: 'earlier' };
  const cancelAfter = earlier === undefined && choose(8) === 0 ? choose(12) : Infinity;
  const effects = new Effects(clock, choose, { uuid: stamps.uuid, cancelAfter, program: () => state.program });
  for (;;) {
    const inbox = new Inbox();
    const ports: ProgramPorts = {
      ...quietPorts(),
      ...stamps,
      ...effects.ports,
      callEventId: (callId) => `execution-${executions}/${callId}`,
      storeOutputs: async () => NO_STORE,
      loadOutput: async () => NO_STORE,
      inbox,
      readEarlier: () => Promise.resolve(earlier === undefined ? { type: 'cancelled' } : { type: 'read', earlier }),
      cancelRequested: () => effects.isCancelled,
      until: (isMet, deadline) => clock.until(() => effects.isCancelled || isMet(), deadline),
      continueDue: () => executions < MAX_EXECUTIONS && effects.acted > executions && choose(30) === 0,
    };
    const { program } = state;
    if (program === undefined) throw new TypeError('The state has no program');
    let isDone = false;
    const running = runProgram(state, program, ports).finally(() => (isDone = true));
    const current = state;
    if (choose(6) === 0) inbox.pause(true);
    const act = (): boolean => decideOne(current.approvals.pending, inbox, { choose, now: clock.now }) || resumeIfPaused(inbox);
    if (!(await clock.run(() => isDone, act, MAX_TURNS))) throw new Error('the run is stuck');
    const end = await running;
    if (effects.problem !== undefined) throw new Error(effects.problem);
    if (end.type === 'finished') return { result: end.result, program, acted: effects.acted };
    executions += 1;
    const carried = toContinueAsNewState(state, end.position, { executions, inbox: inbox.carried() });
    state = fromContinueAsNewState(JSON.parse(JSON.stringify(carried)) as typeof carried).state;
  }
}

/** Resumes a paused run; false for any other. */
function resumeIfPaused(inbox: Inbox): boolean {
  if (!inbox.paused) return false;
  inbox.pause(false);
  inbox.received += 1;
  return true;
}

/** Lowers limits of a document to what a test waits for. */
function bounded<Limits extends { steps?: number; deadlineMs?: number }>(limits: Limits): Limits {
  const { steps = MODEL_CALLS, deadlineMs = LONGEST_MS } = limits;
  return { ...limits, steps: Math.min(steps, MODEL_CALLS), deadlineMs: Math.min(deadlineMs, LONGEST_MS) };
}

/** Decides about one call that waits; false if none does, or its deadline decides. */
function decideOne(pending: readonly PendingApproval[], inbox: Inbox, { choose, now }: { choose: Choose; now: number }): boolean {
  const waiting = pending.find(({ callId }) => inbox.decisions.every((one) => one.callId !== callId));
  if (waiting === undefined || (waiting.deadlineAt !== undefined && choose(2) === 0)) return false;
  const { callId, toolName, digest, key } = waiting;
  const type = oneOf(choose, ['approve', 'reject', 'respond'] as const);
  const value = oneOf(choose, VALUES);
  const edits = { prompt: value, question: value, output: value, for: value, input: value, query: value };
  const decision: Decision = {
    id: `decision on ${key}`,
    type,
    callId,
    toolName,
    digest,
    by: 'kim',
    source: 'update',
    at: new Date(now).toISOString(),
    ...(type === 'respond' ? { content: value } : {}),
    ...(type === 'approve' && choose(3) === 0 ? { arguments: edits } : {}),
    ...(type === 'reject' && choose(2) === 0 ? { reason: 'no' } : {}),
  };
  inbox.decide(decision);
  inbox.received += 1;
  return true;
}

interface EffectsParts {
  uuid: () => string;
  /** The number of effects after which the run is cancelled. */
  cancelAfter: number;
  program: () => ProgramState | undefined;
}

/** The effects of a program, which take at least an hour each and end in any way. */
class Effects {
  /** The number of effects that have ended. */
  acted = 0;
  /** The first wrong value that one has read. */
  problem: string | undefined;
  readonly #clock: VirtualClock;
  readonly #choose: Choose;
  readonly #uuid: () => string;
  readonly #parts: EffectsParts;

  constructor(clock: VirtualClock, choose: Choose, parts: EffectsParts) {
    this.#clock = clock;
    this.#choose = choose;
    this.#uuid = parts.uuid;
    this.#parts = parts;
  }

  get isCancelled(): boolean {
    return this.acted >= this.#parts.cancelAfter;
  }

  get ports(): Pick<ProgramPorts, 'callModel' | 'runTool' | 'ask' | 'useMemory' | 'runChild'> {
    return {
      callModel: () => Promise.resolve({ type: 'failed', code: 'internal', message: 'a program calls no model of an agent' }),
      ask: (call) => this.#after(() => this.#answer(), call),
      runTool: () => this.#after(() => this.#toolResult()),
      useMemory: (call) => this.#after(() => this.#memory(), call),
      runChild: (call) => this.#after(() => this.#child(call.runId)),
    };
  }

  async #after<Outcome>(outcome: () => Outcome, read?: Parameters<typeof wrongValues>[1]): Promise<Outcome | { type: 'cancelled' }> {
    const program = this.#parts.program();
    if (program !== undefined && read !== undefined) this.problem ??= wrongValues(program, read);
    const at = this.#clock.now + ACTIVITY_MS * (1 + this.#choose(3));
    await this.#clock.until(() => this.isCancelled, { at });
    if (this.isCancelled) return { type: 'cancelled' };
    this.acted += 1;
    return outcome();
  }

  get #fails(): boolean {
    return this.#choose(8) === 0;
  }

  #answer(): AskOutcome {
    if (this.#fails) return { type: 'failed', code: oneOf(this.#choose, ['model_timeout', 'model_error', 'invalid_input']), message: 'no' };
    const value = oneOf(this.#choose, VALUES);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const response: RecordedResponse = {
      id: this.#uuid(),
      content: [{ type: 'message', role: 'assistant', content: text }],
      finishReason: 'stop',
      usage: { promptTokens: 5, completionTokens: 2, totalTokens: 7 },
      output: { type: 'parsed', value },
    };
    const verdict: AnswerVerdict = this.#choose(10) === 0 ? { misfit: 'it has no such form' } : text === '' ? { empty: true } : {};
    return { type: 'answered', response, verdict, promptLength: 10 };
  }

  #toolResult(): ToolOutcome {
    const status = this.#fails ? 'error' : 'success';
    const content = this.#choose(6) === 0 ? [] : [oneOf(this.#choose, VALUES)];
    return { type: 'result', status, content, durationMs: 5, resultId: this.#uuid() };
  }

  #memory(): MemoryOutcome {
    if (this.#fails) return { type: 'failed', code: 'memory_failed', message: 'no memory' };
    return { type: 'done', id: this.#uuid(), output: oneOf(this.#choose, VALUES) };
  }

  #child(runId: string): ChildOutcome {
    const now = this.#clock.now;
    if (this.#fails) return { type: 'failed', code: 'child_failed', message: 'it did not start' };
    const output = oneOf(this.#choose, VALUES);
    const ending = this.#fails
      ? ({ status: 'error', stopReason: 'error', output, error: { code: 'internal', message: 'x' } } as const)
      : ({ status: 'completed', stopReason: 'final_answer', output } as const);
    return { type: 'ended', result: closeUnstarted({ runId, agentName: 'a', startedAt: now }, { now: () => now }, ending) };
  }
}

/** The fate of a mutant: its document is refused, or its run ends. */
type Fate = 'refused' | 'completed' | 'failed' | 'limited';

/** Returns the mutant of a number. */
export function mutantOf(seed: number): Mutant {
  const choose = choicesOf(seed);
  return mutated(validProgram(choose), choose);
}

/**
 * Checks and runs the mutant of a number, and runs it again with the results of the first run. Throws an error that names it if anything
 * throws, is stuck, reads wrong values, or is refused without a reason.
 */
async function judgeMutant(seed: number): Promise<Fate> {
  const mutant = mutantOf(seed);
  try {
    return await judge(mutant.document, seed);
  } catch (error) {
    throw new Error(`Mutant ${seed} (${mutant.changes.join(', ')}): ${errorMessage(error)}`, { cause: error });
  }
}

async function judge(document: unknown, seed: number): Promise<Fate> {
  const { problems, document: program } = checkProgram(document);
  const defined = definitionProblem(document);
  const input = checkProgramInput({ program: document, input: {} });
  if (!input.ok && input.problem === '') throw new Error('the input is refused without a reason');
  if (program === undefined) {
    requireReasons(problems, JSON.parse(JSON.stringify(document)) as unknown);
    return 'refused';
  }
  if (!input.ok) throw new Error(`the document is accepted, and is refused as input: ${input.problem}`);
  if (defined !== undefined) throw new Error(`the document is accepted, and its definition is refused: ${defined}`);
  const ended = await runMutant(program, choicesOf(-seed));
  requireOwnEnd(ended);
  // Each third one, because it takes as long again.
  if (seed % 3 === 0) await requireReuse(program, ended, choicesOf(-seed - 7));
  const { status } = ended.result;
  return status === 'completed' ? 'completed' : isLimitStatus(status) ? 'limited' : 'failed';
}

/** Requires that a run that resumes an ended one ends well too, and has nothing to do if that has completed whole. */
async function requireReuse(document: ProgramDocument, ended: EndedMutant, choose: Choose): Promise<void> {
  const again = await runMutant(document, choose, await earlierOf(ended));
  requireOwnEnd(again);
  const isWhole = [...ended.program.steps.values()].every((step) => step.error === undefined);
  if (ended.result.status === 'completed' && isWhole && again.acted > 0)
    throw new Error(`a run that resumes the completed one has ${again.acted} effects`);
}

/** Requires that a run has not failed by itself, and that it has only completed with all of its steps. */
function requireOwnEnd({ result, program }: EndedMutant): void {
  if (result.errorCode === 'internal') throw new Error(`the run failed by itself: ${result.error}`);
  const open = [...program.steps].find(([, { status }]) => status === 'failed' || status === 'running');
  if (result.status === 'completed' && open !== undefined) throw new Error(`the run completed, and step "${open[0]}" is ${open[1].status}`);
}

async function earlierOf({ program }: EndedMutant): Promise<EarlierRun> {
  const earlier = await earlierRun('earlier', program, () => Promise.reject(new Error('there is no store')));
  return JSON.parse(JSON.stringify(earlier)) as EarlierRun;
}

/** Returns the reason why a document cannot be defined; undefined if it can. */
function definitionProblem(document: unknown): string | undefined {
  try {
    defineProgram(document as ProgramOptions<JsonObject>);
    return undefined;
  } catch (error) {
    if (error instanceof UsageError || error instanceof LonghaulError) return error.message;
    throw error;
  }
}

function requireReasons(problems: readonly Problem[], document: unknown): void {
  if (problems.length === 0) throw new Error('the document is refused without a problem');
  for (const { path, message } of problems) {
    if (message === '') throw new Error(`the problem of ${JSON.stringify(path)} has no message`);
    if (!leadsIntoDocument(document, path))
      throw new Error(`the problem of ${JSON.stringify(path)} is nowhere in the document: ${message}`);
  }
}

/** Judges the mutants of some numbers, and counts their fates. */
export async function countFates(from: number, to: number): Promise<Record<Fate, number>> {
  const fates: Record<Fate, number> = { refused: 0, completed: 0, failed: 0, limited: 0 };
  for (let seed = from; seed <= to; seed += 1) fates[await judgeMutant(seed)] += 1;
  return fates;
}
