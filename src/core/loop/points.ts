import type { AgentSnapshot, ToolSnapshot } from '../domain/agent.ts';
import type { ContentItem, ToolCall } from '../domain/content.ts';
import type { JsonValue } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import type { Event } from '../domain/record.ts';
import type { RunResultFields } from '../domain/result.ts';
import type { StepResult, ToolCallRecord } from '../domain/tool-calls.ts';
import type { AggregatedUsage } from '../domain/usage.ts';
import type { StatusView } from '../domain/views.ts';
import type { WindowEvent } from '../domain/window.ts';
import type { CallPosition, CallsEnd, EndedCalls, Ending, NextStep, ToolBatchContext, ToolsPosition } from './next-step.ts';
import type { ModelCall, RunPorts, ToolInvocation, ToolOutcome, ToolResultOutcome } from './ports.ts';
import type { RunState } from './state/run-state.ts';
import type { AfterModelCall, BesideModelCall, CallOfPhase, Capability, EndedCall, FailedModelCall, Gate, LongCalls, MadeCalls, Phase, UsedAmounts } from './capability.ts';
import { declareSlices } from './state/slices.ts';

// Shared state: the capabilities of all runs, composed.

type PointName = Exclude<keyof Capability, 'name' | 'slices' | 'gates' | 'phases'>;

/** The functions of all capabilities by their point, in the order of the capabilities. A point that nothing uses is absent. */
type Acting = { [Name in PointName]?: NonNullable<Capability[Name]>[] };

let acting: Acting = {};
let allGates: readonly Gate[] = [];
let allPhases: readonly [name: string, phase: Phase][] = [];

/** Composes all capabilities, in their order. Called once, by the list of them. */
export function compose(capabilities: readonly Capability[]): void {
  const collected: Record<string, unknown[]> = {};
  for (const { name: _, slices: __, gates: ___, phases: ____, ...functions } of capabilities) {
    for (const [point, act] of Object.entries(functions)) (collected[point] ??= []).push(act);
  }
  acting = collected;
  allGates = capabilities.flatMap(({ gates = [] }) => gates);
  allPhases = capabilities.flatMap(({ phases = {} }) => Object.entries(phases));
  declareSlices(capabilities.flatMap(({ slices = [] }) => slices));
}

/** How a point acts that must not make a promise. */
type Immediate<Subject, Result> = (state: RunState, ports: RunPorts, subject: Subject) => Result | undefined;

/** How a point acts that may wait. Undefined, and no promise, if there is nothing to wait for. */
type Waiting<Subject, Result> = (state: RunState, ports: RunPorts, subject: Subject) => Promise<Result | undefined> | undefined;

/** The same for a point that each capability passes on as it leaves it. */
type Chained<Subject> = (state: RunState, ports: RunPorts, subject: Subject) => Promise<Subject> | undefined;

const NONE: readonly never[] = [];

/** The points, as the loop calls them: each with all capabilities that act at it. */
export const points = {
  stepBegins(state: RunState, ports: RunPorts): Promise<undefined> | undefined {
    return firstAwaited(acting.stepBegins, state, ports, undefined);
  },
  messagesTaken(state: RunState): void {
    for (const act of acting.messagesTaken ?? NONE) act(state);
  },
  insteadOfModelCall(state: RunState, ports: RunPorts): NextStep | undefined {
    return first(acting.insteadOfModelCall, state, ports, undefined);
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
    for (const act of acting.isEvictedLast ?? NONE) if (act(state, item)) return true;
    return false;
  },
  endOfSummary(state: RunState): string {
    return acting.endOfSummary?.map((act) => act(state)).join('') ?? '';
  },
  modelCallParts(state: RunState, position: CallPosition): Partial<ModelCall> {
    const parts: Partial<ModelCall> = {};
    for (const act of acting.modelCallParts ?? NONE) Object.assign(parts, act(state, position));
    return parts;
  },
  duringModelCall(state: RunState, ports: RunPorts): BesideModelCall | undefined {
    let beside: BesideModelCall | undefined;
    for (const act of acting.duringModelCall ?? NONE) {
      const one = act(state, ports);
      if (one !== undefined) beside = beside === undefined ? one : both(beside, one);
    }
    return beside;
  },
  responseArrives(state: RunState, ports: RunPorts, response: RecordedResponse): RecordedResponse {
    let left = response;
    for (const act of acting.responseArrives ?? NONE) left = act(state, ports, left);
    return left;
  },
  answerParts(state: RunState): Partial<Event> {
    const parts: Partial<Event> = {};
    for (const act of acting.answerParts ?? NONE) Object.assign(parts, act(state));
    return parts;
  },
  madeParts(state: RunState, made: MadeCalls): Partial<Event> {
    const parts: Partial<Event> = {};
    for (const act of acting.madeParts ?? NONE) Object.assign(parts, act(state, made));
    return parts;
  },
  callsMade(state: RunState, ports: RunPorts, position: ToolsPosition): Promise<ToolsPosition> | undefined {
    return chained(acting.callsMade, state, ports, position);
  },
  gateOpens(state: RunState, ports: RunPorts): void {
    for (const act of acting.gateOpens ?? NONE) act(state, ports);
  },
  narrowsTool(state: Pick<RunState, 'snapshot' | 'slices'>, tool: ToolSnapshot): string | undefined {
    for (const act of acting.narrowsTool ?? NONE) {
      const reason = act(state, tool);
      if (reason !== undefined) return reason;
    }
    return undefined;
  },
  refuses(made: MadeCalls, call: ToolCall): boolean {
    for (const act of acting.refuses ?? NONE) if (act(made, call)) return true;
    return false;
  },
  runsLast(state: RunState, call: ToolCall): boolean {
    for (const act of acting.runsLast ?? NONE) if (act(state, call)) return true;
    return false;
  },
  startsCall(state: RunState, ports: RunPorts, invocation: ToolInvocation): Promise<ToolOutcome> | undefined {
    return first(acting.startsCall, state, ports, invocation);
  },
  hasStarted(state: RunState, invocation: ToolInvocation): boolean {
    for (const act of acting.hasStarted ?? NONE) if (act(state, invocation)) return true;
    return false;
  },
  longCalls(state: RunState, ports: RunPorts): LongCalls | undefined {
    return first(acting.longCalls, state, ports, undefined);
  },
  awaitsResult(state: RunState, tool: ToolSnapshot): boolean {
    for (const act of acting.awaitsResult ?? NONE) if (act(state, tool)) return true;
    return false;
  },
  afterResult(state: RunState, ports: RunPorts, ended: EndedCall): Promise<EndedCall> | undefined {
    return chained(acting.afterResult, state, ports, ended);
  },
  eventBeside(state: Pick<RunState, 'slices'>, id: string): WindowEvent | undefined {
    for (const act of acting.eventBeside ?? NONE) {
      const event = act(state, id);
      if (event !== undefined) return event;
    }
    return undefined;
  },
  recordsBeside(state: RunState): readonly ToolCallRecord[] {
    let records: readonly ToolCallRecord[] = NONE;
    for (const act of acting.recordsBeside ?? NONE) records = [...records, ...act(state)];
    return records;
  },
  resultAsRead(response: RecordedResponse, call: ToolCall, result: ToolResultOutcome): ToolResultOutcome {
    let read = result;
    for (const act of acting.resultAsRead ?? NONE) read = act(response, call, read);
    return read;
  },
  callRecorded(state: RunState, call: ToolCall, record: ToolCallRecord): void {
    for (const act of acting.callRecorded ?? NONE) act(state, call, record);
  },
  callsEnded(called: EndedCalls): CallsEnd | undefined {
    for (const act of acting.callsEnded ?? NONE) {
      const end = act(called);
      if (end !== undefined) return end;
    }
    return undefined;
  },
  stepEnded(state: RunState, ports: RunPorts, outcomes: readonly (ToolOutcome | null)[]): void {
    for (const act of acting.stepEnded ?? NONE) act(state, ports, outcomes);
  },
  isAnswerChecked(state: RunState): boolean {
    for (const act of acting.isAnswerChecked ?? NONE) if (act(state)) return true;
    return false;
  },
  answerGiven(state: RunState, ports: RunPorts, answer: JsonValue): Promise<NextStep | undefined> | undefined {
    return firstAwaited(acting.answerGiven, state, ports, answer);
  },
  turnContinues(state: RunState, answer: JsonValue): boolean {
    for (const act of acting.turnContinues ?? NONE) if (act(state, answer)) return true;
    return false;
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
  stepParts(state: RunState, response: RecordedResponse): Partial<StepResult> {
    const parts: Partial<StepResult> = {};
    for (const act of acting.stepParts ?? NONE) Object.assign(parts, act(state, response));
    return parts;
  },
  recordParts(response: RecordedResponse, call: ToolCall, result: ToolResultOutcome): Partial<ToolCallRecord> {
    const parts: Partial<ToolCallRecord> = {};
    for (const act of acting.recordParts ?? NONE) Object.assign(parts, act(response, call, result));
    return parts;
  },
  spent(state: RunState, add: (total: AggregatedUsage) => AggregatedUsage): void {
    for (const act of acting.spent ?? NONE) act(state, add);
  },
  withOthers(state: Pick<RunState, 'slices'>, used: UsedAmounts): UsedAmounts {
    let sum = used;
    for (const act of acting.withOthers ?? NONE) sum = act(state, sum);
    return sum;
  },
  countParts(state: Pick<RunState, 'slices'>): Pick<RunResultFields, 'descendants'> {
    const parts: Pick<RunResultFields, 'descendants'> = {};
    for (const act of acting.countParts ?? NONE) Object.assign(parts, act(state));
    return parts;
  },
  laterAgent(state: RunState): string | undefined {
    for (const act of acting.laterAgent ?? NONE) {
      const name = act(state);
      if (name !== undefined) return name;
    }
    return undefined;
  },
  statusParts(state: RunState): Partial<StatusView> {
    const parts: Partial<StatusView> = {};
    for (const act of acting.statusParts ?? NONE) Object.assign(parts, act(state));
    return parts;
  },
  resultParts(state: RunState): Partial<RunResultFields> {
    const parts: Partial<RunResultFields> = {};
    for (const act of acting.resultParts ?? NONE) Object.assign(parts, act(state));
    return parts;
  },
  /** Returns the calls of a response that run in a phase of their own, and have no outcome yet. */
  callsOfPhases(acting: ToolBatchContext, outcomes: readonly (ToolOutcome | null)[]): readonly CallOfPhase[] {
    let calls: readonly CallOfPhase[] = NONE;
    for (const [phase, { pending }] of allPhases) {
      const indexes = pending(acting, outcomes);
      if (indexes.length > 0) calls = [...calls, ...indexes.map((index) => ({ phase, index }))];
    }
    return calls;
  },
  /** Returns a phase by its name. */
  phase(name: string): Phase {
    const found = allPhases.find(([one]) => one === name);
    if (found === undefined) throw new TypeError(`There is no phase "${name}"`);
    return found[1];
  },
  /** The gates of all capabilities. */
  gates(): readonly Gate[] {
    return allGates;
  },
};

/** Returns the first result. */
function first<Subject, Result>(
  all: readonly Immediate<Subject, Result>[] = NONE,
  state: RunState,
  ports: RunPorts,
  subject: Subject,
): Result | undefined {
  for (const act of all) {
    const result = act(state, ports, subject);
    if (result !== undefined) return result;
  }
  return undefined;
}

/** Returns the first result of capabilities that act one after the other. The promise is that of the last one, if only it has any. */
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

/** Returns a subject as capabilities leave it, one after the other. The promise is that of the last one, if only it has any. */
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

/** Joins what runs beside a model call: all of it is waited for, and the first end of the run counts. */
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
