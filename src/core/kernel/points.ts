import type { LimitRaise } from '../domain/limits.ts';
import type { PendingApproval } from '../domain/approvals.ts';
import type { AgentSnapshot, ToolSnapshot } from '../domain/agent.ts';
import type { ContentItem, ToolCall } from '../domain/content.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import type { Event } from '../domain/record.ts';
import type { RunResultFields } from '../domain/result.ts';
import type { StepResult, ToolCallRecord } from '../domain/tool-calls.ts';
import type { WaitDeadline } from '../domain/time.ts';
import type { AggregatedUsage } from '../domain/usage.ts';
import type { StatusView } from '../domain/views.ts';
import type { WindowEvent } from '../domain/window.ts';
import type {
  AfterModelCall,
  BesideModelCall,
  CallOfPhase,
  Capability,
  EndedCall,
  FailedModelCall,
  Gate,
  GivenLimits,
  LongCalls,
  MadeCalls,
  NarrowedTool,
  Phase,
  UsedAmounts,
} from './capability.ts';
import type { CallPosition, CallsEnd, EndedCalls, Ending, NextStep, ToolBatchContext, ToolsPosition } from './next-step.ts';
import type { ModelCall, RunPorts, ToolInvocation, ToolOutcome, ToolResultOutcome } from './ports.ts';
import { declareSlices, type RunState } from './run-state.ts';
import type { ParentInput } from '../domain/run-input.ts';
import type { NextTurnInput } from '../domain/requests.ts';

// Shared state: the capabilities of all runs, composed.

/** The members of a capability that are not points. */
const NOT_POINTS = ['name', 'slices', 'gates', 'phases'] as const;

type PointName = Exclude<keyof Capability, (typeof NOT_POINTS)[number]>;

/** The functions of all capabilities by point, in the order of the capabilities. An unused point is absent. */
type Acting = { [Name in PointName]?: NonNullable<Capability[Name]>[] };

let acting: Acting = {};
let allGates: readonly Gate[] | undefined;
let allPhases: readonly [name: string, phase: Phase][] = [];

/** Composes all capabilities, in order. Called once, by the module that lists them. */
export function compose(capabilities: readonly Capability[]): void {
  const collected: Record<string, unknown[]> = {};
  const others: readonly string[] = NOT_POINTS;
  for (const capability of capabilities) {
    for (const [member, act] of Object.entries(capability)) if (!others.includes(member)) (collected[member] ??= []).push(act);
  }
  acting = collected;
  allGates = capabilities.flatMap(({ gates = [] }) => gates);
  allPhases = capabilities.flatMap(({ phases = {} }) => Object.entries(phases));
  declareSlices(capabilities.flatMap(({ slices = [] }) => slices));
}

/** A function at a point that may wait. Returns undefined, and no promise, if there is nothing to wait for. */
type Waiting<Subject, Result> = (state: RunState, ports: RunPorts, subject: Subject) => Promise<Result | undefined> | undefined;

/** A function at a point where each capability passes the subject on to the next. */
type Chained<Subject> = (state: RunState, ports: RunPorts, subject: Subject) => Promise<Subject> | undefined;

const NONE: readonly never[] = [];

/** The points, as the loop calls them: each calls all capabilities that act at it. */
export const points = {
  stepBegins(state: RunState, ports: RunPorts): Promise<undefined> | undefined {
    return firstAwaited(acting.stepBegins, state, ports, undefined);
  },
  messagesTaken(state: RunState): void {
    for (const act of acting.messagesTaken ?? NONE) act(state);
  },
  keepsMessages(state: RunState): boolean {
    return isTrue(acting.keepsMessages, state);
  },
  limitsRaised(state: RunState): void {
    for (const act of acting.limitsRaised ?? NONE) act(state);
  },
  raiseTaken(state: RunState, raise: LimitRaise): void {
    for (const act of acting.raiseTaken ?? NONE) act(state, raise);
  },
  insteadOfModelCall(state: RunState, ports: RunPorts): NextStep | undefined {
    return found(acting.insteadOfModelCall, state, ports);
  },
  beforeAgentActs(state: RunState, ports: RunPorts): Promise<NextStep | undefined> | undefined {
    return firstAwaited(acting.beforeAgentActs, state, ports, undefined);
  },
  beforeRoomIsMade(state: RunState, ports: RunPorts): Promise<NextStep | undefined> | undefined {
    return firstAwaited(acting.beforeRoomIsMade, state, ports, undefined);
  },
  makesRoom(state: RunState, ports: RunPorts): Promise<NextStep | undefined> | undefined {
    return firstAwaited(acting.makesRoom, state, ports, undefined);
  },
  shortens(state: RunState, ports: RunPorts): Promise<'shortened' | NextStep | undefined> | undefined {
    return firstAwaited(acting.shortens, state, ports, undefined);
  },
  repairs(state: RunState, ports: RunPorts, failed: FailedModelCall): Promise<'repaired' | NextStep | undefined> | undefined {
    return firstAwaited(acting.repairs, state, ports, failed);
  },
  isEvictedLast(state: RunState, item: ContentItem): boolean {
    return isTrue(acting.isEvictedLast, state, item);
  },
  endOfSummary(state: RunState): string {
    return acting.endOfSummary?.map((act) => act(state)).join('') ?? '';
  },
  modelCallParts(state: RunState, position: CallPosition): Partial<ModelCall> {
    return joined(acting.modelCallParts, state, position);
  },
  modelCallInput(state: RunState, position: CallPosition): JsonObject {
    return joined(acting.modelCallInput, state, position) as JsonObject;
  },
  duringModelCall(state: RunState, ports: RunPorts): BesideModelCall | undefined {
    let background: BesideModelCall | undefined;
    for (const act of acting.duringModelCall ?? NONE) {
      const one = act(state, ports);
      if (one !== undefined) background = background === undefined ? one : both(background, one);
    }
    return background;
  },
  responseArrives(state: RunState, ports: RunPorts, response: RecordedResponse): RecordedResponse {
    let left = response;
    for (const act of acting.responseArrives ?? NONE) left = act(state, ports, left);
    return left;
  },
  answerParts(state: RunState): Partial<Event> {
    return joined(acting.answerParts, state);
  },
  madeParts(state: RunState, made: MadeCalls): Partial<Event> {
    return joined(acting.madeParts, state, made);
  },
  callsMade(state: RunState, ports: RunPorts, position: ToolsPosition): Promise<ToolsPosition> | undefined {
    return chained(acting.callsMade, state, ports, position);
  },
  callsReviewed(response: RecordedResponse, review: Partial<RecordedResponse>): Partial<RecordedResponse> {
    return joined(acting.callsReviewed, response, review);
  },
  gateOpens(state: RunState, ports: RunPorts): void {
    for (const act of acting.gateOpens ?? NONE) act(state, ports);
  },
  narrowsTool(state: Pick<RunState, 'snapshot' | 'slices'>, tool: NarrowedTool): string | undefined {
    return found(acting.narrowsTool, state, tool);
  },
  waitsForPerson(ports: Pick<RunPorts, 'inbox'>): boolean {
    return isTrue(acting.waitsForPerson, ports);
  },
  decisionAwaited(state: RunState, ports: RunPorts, waiting: PendingApproval): void {
    for (const act of acting.decisionAwaited ?? NONE) act(state, ports, waiting);
  },
  refuses(made: MadeCalls, call: ToolCall): boolean {
    return isTrue(acting.refuses, made, call);
  },
  runsLast(state: RunState, call: ToolCall): boolean {
    return isTrue(acting.runsLast, state, call);
  },
  postpones(state: RunState, now: number, invocation: ToolInvocation): WaitDeadline | undefined {
    return found(acting.postpones, state, now, invocation);
  },
  startsCall(state: RunState, ports: RunPorts, invocation: ToolInvocation): Promise<ToolOutcome> | undefined {
    return found(acting.startsCall, state, ports, invocation);
  },
  hasStarted(state: RunState, call: Pick<ToolInvocation, 'eventId' | 'index'>): boolean {
    return isTrue(acting.hasStarted, state, call);
  },
  longCalls(state: RunState, ports: RunPorts): LongCalls | undefined {
    return found(acting.longCalls, state, ports);
  },
  awaitsResult(state: RunState, tool: ToolSnapshot): boolean {
    return isTrue(acting.awaitsResult, state, tool);
  },
  afterResult(state: RunState, ports: RunPorts, ended: EndedCall): Promise<EndedCall> | undefined {
    return chained(acting.afterResult, state, ports, ended);
  },
  eventBeside(state: Pick<RunState, 'slices'>, id: string): WindowEvent | undefined {
    return found(acting.eventBeside, state, id);
  },
  recordsBeside(state: RunState): readonly ToolCallRecord[] {
    let records: readonly ToolCallRecord[] = NONE;
    for (const act of acting.recordsBeside ?? NONE) {
      const more = act(state);
      if (more.length > 0) records = [...records, ...more];
    }
    return records;
  },
  resultAsRead(state: RunState, response: RecordedResponse, call: ToolCall, result: ToolResultOutcome): ToolResultOutcome {
    let read = result;
    for (const act of acting.resultAsRead ?? NONE) read = act(state, response, call, read);
    return read;
  },
  callRecorded(state: RunState, call: ToolCall, record: ToolCallRecord): void {
    for (const act of acting.callRecorded ?? NONE) act(state, call, record);
  },
  callsEnded(called: EndedCalls): CallsEnd | undefined {
    return found(acting.callsEnded, called);
  },
  stepEnded(state: RunState, ports: RunPorts, outcomes: readonly (ToolOutcome | null)[]): void {
    for (const act of acting.stepEnded ?? NONE) act(state, ports, outcomes);
  },
  isAnswerChecked(state: RunState): boolean {
    return isTrue(acting.isAnswerChecked, state);
  },
  answerGiven(state: RunState, ports: RunPorts, answer: JsonValue): Promise<NextStep | undefined> | undefined {
    return firstAwaited(acting.answerGiven, state, ports, answer);
  },
  turnContinues(state: RunState, answer: JsonValue): boolean {
    return isTrue(acting.turnContinues, state, answer);
  },
  endingShown(state: RunState, ending: Ending): Ending {
    let shown = ending;
    for (const act of acting.endingShown ?? NONE) shown = act(state, shown);
    return shown;
  },
  beforeContinuing(state: RunState): void {
    for (const act of acting.beforeContinuing ?? NONE) act(state);
  },
  mayContinue(state: RunState): boolean {
    for (const act of acting.mayContinue ?? NONE) if (!act(state)) return false;
    return true;
  },
  turnEnds(state: RunState): void {
    for (const act of acting.turnEnds ?? NONE) act(state);
  },
  turnBegins(state: RunState): void {
    for (const act of acting.turnBegins ?? NONE) act(state);
  },
  agentRefreshed(state: RunState, before: AgentSnapshot): void {
    for (const act of acting.agentRefreshed ?? NONE) act(state, before);
  },
  agentSwitched(state: RunState, isFirst: boolean): void {
    for (const act of acting.agentSwitched ?? NONE) act(state, isFirst);
  },
  conversationCleared(state: RunState): void {
    for (const act of acting.conversationCleared ?? NONE) act(state);
  },
  passesOn(state: RunState): Partial<ParentInput> {
    return joined(acting.passesOn, state);
  },
  passesOnLater(state: RunState): Partial<NextTurnInput> {
    return joined(acting.passesOnLater, state);
  },
  takesRules(state: RunState, next: NextTurnInput): boolean {
    return isTrue(acting.takesRules, state, next);
  },
  stepParts(state: RunState, response: RecordedResponse): Partial<StepResult> {
    return joined(acting.stepParts, state, response);
  },
  recordParts(response: RecordedResponse, call: ToolCall, result: ToolResultOutcome): Partial<ToolCallRecord> {
    return joined(acting.recordParts, response, call, result);
  },
  spent(state: RunState, add: (total: AggregatedUsage) => AggregatedUsage): void {
    for (const act of acting.spent ?? NONE) act(state, add);
  },
  withOthers(state: RunState, used: UsedAmounts): UsedAmounts {
    let sum = used;
    for (const act of acting.withOthers ?? NONE) sum = act(state, sum);
    return sum;
  },
  limitsGiven(state: Pick<RunState, 'slices'>): GivenLimits | undefined {
    return found(acting.limitsGiven, state);
  },
  countParts(state: RunState): Partial<RunResultFields> {
    return joined(acting.countParts, state);
  },
  laterAgent(state: RunState): string | undefined {
    return found(acting.laterAgent, state);
  },
  statusParts(state: RunState): Partial<StatusView> {
    return joined(acting.statusParts, state);
  },
  resultParts(state: RunState): Partial<RunResultFields> {
    return joined(acting.resultParts, state);
  },
  /** Returns the calls of a response that run in a separate phase and have no outcome yet. */
  callsOfPhases(batch: ToolBatchContext, outcomes: readonly (ToolOutcome | null)[]): readonly CallOfPhase[] {
    let calls: readonly CallOfPhase[] = NONE;
    for (const [name, phase] of allPhases) {
      const indexes = phase.pending(batch, outcomes);
      if (indexes.length > 0) calls = [...calls, ...indexes.map((index) => ({ phase: name, index }))];
    }
    return calls;
  },
  /** Returns a phase by name. */
  phase(name: string): Phase {
    const entry = allPhases.find(([one]) => one === name);
    if (entry === undefined) throw new TypeError(`There is no phase "${name}"`);
    return entry[1];
  },
  /** The gates of all capabilities. Throws if none are composed: calls would pass without them. */
  gates(): readonly Gate[] {
    if (allGates === undefined)
      throw new TypeError('No capabilities are composed: import "src/core/capabilities.ts" before a call is made');
    return allGates;
  },
};

/** The function of a capability at a point, with at most three arguments. Not an argument list, because steps call it often. */
type Ask<One, Two, Three, Answer> = (one: One, two: Two, three: Three) => Answer;

/** True if any answer is true. */
function isTrue<One, Two, Three>(all: readonly Ask<One, Two, Three, boolean>[] = NONE, one?: One, two?: Two, three?: Three): boolean {
  for (const act of all) if (act(one as One, two as Two, three as Three)) return true;
  return false;
}

/** Returns the first answer. */
function found<One, Two, Three, Answer>(
  all: readonly Ask<One, Two, Three, Answer | undefined>[] = NONE,
  one?: One,
  two?: Two,
  three?: Three,
): Answer | undefined {
  for (const act of all) {
    const answer = act(one as One, two as Two, three as Three);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** Returns the fields of all answers. */
function joined<One, Two, Three, Parts extends object>(
  all: readonly Ask<One, Two, Three, Parts>[] = NONE,
  one?: One,
  two?: Two,
  three?: Three,
): Partial<Parts> {
  const parts = {};
  for (const act of all) Object.assign(parts, act(one as One, two as Two, three as Three));
  return parts;
}

/** Returns the first result of capabilities that act in order. If only the last one returns a promise, that promise is returned. */
function firstAwaited<Subject, Result>(
  all: readonly Waiting<Subject, Result>[] = NONE,
  state: RunState,
  ports: RunPorts,
  subject: Subject,
): Promise<Result | undefined> | undefined {
  let place = 0;
  for (const act of all) {
    place += 1;
    const begun = act(state, ports, subject);
    if (begun === undefined) continue;
    if (place === all.length) return begun;
    const others = all.slice(place);
    return begun.then((result) => result ?? firstAwaited(others, state, ports, subject));
  }
  return undefined;
}

/** Passes a subject through the capabilities in order. If only the last one returns a promise, that promise is returned. */
function chained<Subject>(
  all: readonly Chained<Subject>[] = NONE,
  state: RunState,
  ports: RunPorts,
  subject: Subject,
): Promise<Subject> | undefined {
  let place = 0;
  for (const act of all) {
    place += 1;
    const begun = act(state, ports, subject);
    if (begun === undefined) continue;
    if (place === all.length) return begun;
    const others = all.slice(place);
    return begun.then((left) => chained(others, state, ports, left) ?? left);
  }
  return undefined;
}

/** Joins the background work of a model call: waits for all of it, and the first end of the run counts. */
function both(one: BesideModelCall, other: BesideModelCall): BesideModelCall {
  return {
    async ended(outcome): Promise<AfterModelCall> {
      const after = await one.ended(outcome);
      const afterOther = await other.ended(outcome);
      if ('instead' in after) return after;
      if ('instead' in afterOther) return afterOther;
      return {
        record(): void {
          after.record();
          afterOther.record();
        },
      };
    },
  };
}
