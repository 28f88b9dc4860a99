import type { ProgramPorts } from '../../../../src/core/program/program-ports.ts';
import type { AllPorts } from '../../../../src/core/capabilities.ts';
import type { SegmentCall, SegmentOutcome } from '../../../../src/core/capabilities/code/code-cells.ts';
import type { AgentSnapshot } from '../../../../src/core/domain/agent.ts';
import type { ContentItem, ToolCall } from '../../../../src/core/domain/content.ts';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import type { RecordedResponse } from '../../../../src/core/domain/model.ts';
import type { Event } from '../../../../src/core/domain/record.ts';
import type { RunResultFields } from '../../../../src/core/domain/result.ts';
import type { RunOpening } from '../../../../src/core/domain/run-input.ts';
import type { WaitDeadline } from '../../../../src/core/domain/time.ts';
import type { StepResult } from '../../../../src/core/domain/tool-calls.ts';
import type { UsageStats } from '../../../../src/core/domain/usage.ts';
import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import type { Position } from '../../../../src/core/kernel/next-step.ts';
import type { ModelCall, ModelCallOutcome, ToolInvocation, ToolOutcome } from '../../../../src/core/kernel/ports.ts';
import { BEGINNING, runLoop } from '../../../../src/core/kernel/run-loop.ts';
import { newRunState, type RunState } from '../../../../src/core/kernel/run-state.ts';
import { carriedOver } from '../generated-runs/carried-over.ts';

/** The ports of a run without requests and with an unlimited history: for runs outside of a workflow. */
export function quietPorts(): Pick<
  AllPorts,
  | 'verify'
  | 'reevaluateApproval'
  | 'parseEdits'
  | 'runSegment'
  | 'reviewCalls'
  | 'afterCall'
  | 'resolveHandoff'
  | 'switchAgent'
  | 'runChild'
  | 'childRunId'
  | 'summarize'
  | 'askAtPoint'
  | 'abortModelCall'
  | 'authorize'
  | 'notify'
  | 'cancelRequested'
  | 'inbox'
  | 'until'
  | 'continueDue'
  | 'allows'
> &
  Pick<ProgramPorts, 'parseArguments'> {
  return {
    parseArguments: ({ arguments: args }) => Promise.resolve({ type: 'parsed', arguments: args }),
    verify: (_, reason) => Promise.resolve({ type: 'lost', reason }),
    reevaluateApproval: () => Promise.resolve(undefined),
    parseEdits: () => undefined,
    runSegment: () => Promise.resolve({ type: 'failed', message: 'the run has no code' }),
    reviewCalls: () => Promise.resolve({}),
    afterCall: (_, outcome) => Promise.resolve(outcome),
    resolveHandoff: (name) => Promise.resolve({ type: 'failed', code: 'unknown_agent', message: `there is no agent "${name}" here` }),
    switchAgent: () => undefined,
    runChild: () => Promise.resolve({ type: 'failed', code: 'child_failed', message: 'the run starts no children', unstarted: true }),
    childRunId: (prefix) => prefix,
    summarize: () => Promise.resolve({ type: 'failed', code: 'internal', message: 'nothing here summarizes' }),
    askAtPoint: () => Promise.resolve({ type: 'failed', code: 'internal', message: 'nothing here checks' }),
    abortModelCall: () => undefined,
    authorize: () => Promise.resolve({ type: 'refused', reason: 'no caller may decide here' }),
    notify: () => Promise.resolve({ type: 'notified' }),
    cancelRequested: () => false,
    inbox: new Inbox(),
    until: () => Promise.reject(new Error('a run that waits needs its own ports')),
    continueDue: () => false,
    allows: () => true,
  };
}

interface Wait {
  isMet: () => boolean;
  deadline: WaitDeadline | undefined;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** The number of waits that may end in sequence before another event: in a workflow, no other event could come between them. */
const SPINNING = 1_000;

/**
 * Schedules a fake run and its environment. A wait is checked again after each event. If no event can come by itself any more,
 * the next caller acts; if no caller is left, the clock jumps to the nearest deadline; without a deadline, the waits fail.
 */
export class FakeScheduler {
  now = 1_700_000_000_000;
  /** Called if no event can come by itself; returns false if no caller is left. */
  act: () => boolean = () => false;
  readonly #waits = new Set<Wait>();
  #cancelled = false;
  #goingOn = 0;
  #waitsAtOnce = 0;
  #isLooking = false;

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** Cancels the run. */
  cancel(): void {
    this.#cancelled = true;
    this.notify();
  }

  /** The port `until`. */
  until(isMet: () => boolean, deadline?: WaitDeadline): Promise<void> {
    this.#waitsAtOnce += 1;
    if (this.#waitsAtOnce > SPINNING)
      return Promise.reject(new Error('The loop waits for what is there already, and goes round in circles'));
    return new Promise((resolve, reject) => {
      this.#waits.add({ isMet, deadline, resolve, reject });
      this.notify();
    });
  }

  /** Checks the waits again after an event. */
  notify(): void {
    for (const wait of this.#waits) {
      if (!this.#cancelled && !wait.isMet() && (wait.deadline?.at ?? Infinity) > this.now) continue;
      this.#waits.delete(wait);
      wait.resolve();
    }
    if (this.#isLooking) return;
    this.#isLooking = true;
    setImmediate(() => this.#look());
  }

  /** Work in progress: meanwhile no caller acts, and no deadline passes. */
  async during<Result>(work: Result | Promise<Result>): Promise<Result> {
    this.#goingOn += 1;
    try {
      return await work;
    } finally {
      // The loop is notified first.
      setImmediate(() => {
        this.#goingOn -= 1;
        this.notify();
      });
    }
  }

  #look(): void {
    this.#isLooking = false;
    this.#waitsAtOnce = 0;
    if (this.#waits.size === 0 || this.#goingOn > 0) return;
    if (!this.act()) this.#jump();
    this.notify();
  }

  #jump(): void {
    const deadlines = [...this.#waits].map(({ deadline }) => deadline?.at ?? Infinity);
    const next = Math.min(...deadlines);
    if (next < Infinity) this.now = next;
    else for (const { reject } of this.#waits) reject(new Error('The run waits, and no caller has a request'));
  }
}

/** The outcome of a call of a fake tool. `cancel` ends the run as cancelled. */
export type FakeTool = (invocation: ToolInvocation, run: FakeRun) => ToolOutcome | Promise<ToolOutcome>;

/** A caller that sends a request to a run once nothing else can happen in it. */
export type Caller = (run: FakeRun) => unknown;

/** A run of the loop on fake ports. */
export interface FakeRun {
  runId: string;
  /** The state and inbox of the current execution. */
  state: RunState;
  inbox: Inbox;
  /** The calls of the model port, in order. */
  modelCalls: ModelCall[];
  /** The calls of the tool port, in order of start. */
  invocations: ToolInvocation[];
  /** The record after the end of the run, over all executions, and so the steps. */
  events: Event[];
  steps: StepResult[];
  /** The offsets where the run continued as new. */
  positions: Position[];
  scheduler: FakeScheduler;
  cancel: () => void;
}

/** The options of a run in a test. */
export interface FakeScript {
  snapshot: AgentSnapshot;
  /** One outcome for each model call; a function may read the run, or cancel it. */
  model: (ModelCallOutcome | ((run: FakeRun) => ModelCallOutcome | Promise<ModelCallOutcome>))[];
  tools?: Record<string, FakeTool>;
  /** The beginning of the run. Default: the input "Q". */
  opening?: RunOpening;
  cancelled?: boolean;
  /** The requests before the run began. */
  inbox?: Inbox;
  /** The callers that act in order while the run waits. */
  callers?: Caller[];
  /** The outcome of each segment of code. */
  runSegment?: (segment: SegmentCall, run: FakeRun) => SegmentOutcome | Promise<SegmentOutcome>;
  /** Other ports of the run: summaries, refusals. */
  ports?: Partial<
    Pick<
      AllPorts,
      | 'summarize'
      | 'askAtPoint'
      | 'abortModelCall'
      | 'authorize'
      | 'notify'
      | 'noted'
      | 'allows'
      | 'verify'
      | 'reevaluateApproval'
      | 'resolveHandoff'
      | 'outcomeUnknown'
      | 'switchAgent'
      | 'reviewCalls'
      | 'afterCall'
    >
  >;
  /** The agents that calls run as children. */
  children?: (run: FakeRun) => Pick<AllPorts, 'runChild' | 'childRunId'>;
  /** Decides at each possible point if the run continues as new. Default: never. */
  continueDue?: (run: FakeRun) => boolean;
  /** Called after each change of the record. */
  recorded?: (state: RunState) => void;
}

/** Does a run to its end, over all its executions. A model call beyond the script fails the test. */
export async function runFake(script: FakeScript): Promise<FakeRun & { result: RunResultFields }> {
  const scheduler = new FakeScheduler();
  if (script.cancelled) scheduler.cancel();
  let ids = 0;
  const clock = { now: () => scheduler.now, uuid: () => `event-${++ids}` };
  const beginning = { runId: 'run-1', snapshot: script.snapshot, startedAt: 1_699_999_998_500, ...(script.opening ?? { input: 'Q' }) };
  const run: FakeRun = {
    runId: 'run-1',
    state: newRunState(beginning, clock),
    inbox: script.inbox ?? new Inbox(),
    modelCalls: [],
    invocations: [],
    events: [],
    steps: [],
    positions: [],
    scheduler,
    cancel: () => scheduler.cancel(),
  };
  const callers = [...(script.callers ?? [])];
  scheduler.act = () => {
    const caller = callers.shift();
    caller?.(run);
    return caller !== undefined;
  };
  let position = BEGINNING;
  for (let executions = 1; ; executions += 1) {
    const end = await runLoop(run.state, { ...clock, ...portsOf(run, script) }, position);
    run.events.push(...run.state.context.events);
    run.steps.push(...run.state.steps);
    if (end.type === 'finished') {
      if (callers.length > 0) throw new Error(`The run ended, and ${callers.length} callers still had requests`);
      return { ...run, result: end.result };
    }
    run.positions.push(end.position);
    ({ position, state: run.state, inbox: run.inbox } = carriedOver({ ...run, position: end.position, executions }));
  }
}

function portsOf(run: FakeRun, script: FakeScript): Omit<AllPorts, 'now' | 'uuid'> {
  const { scheduler, inbox } = run;
  return {
    ...quietPorts(),
    ...script.ports,
    ...script.children?.(run),
    inbox,
    until: (isMet, deadline) => scheduler.until(isMet, deadline),
    callModel: (modelCall) => scheduler.during(answered(run, script, modelCall)),
    runTool: (invocation) => scheduler.during(executed(run, script, invocation)),
    ...(script.runSegment === undefined ? {} : { runSegment: (segment) => scheduler.during(ranSegment(run, script, segment)) }),
    cancelRequested: () => scheduler.cancelled,
    continueDue: () => script.continueDue?.(run) ?? false,
    ...(script.recorded === undefined ? {} : { recorded: script.recorded }),
  };
}

async function answered(run: FakeRun, script: FakeScript, modelCall: ModelCall): Promise<ModelCallOutcome> {
  const outcome = script.model[run.modelCalls.push(modelCall) - 1];
  if (outcome === undefined) throw new Error(`The script has no answer to model call ${run.modelCalls.length}`);
  return typeof outcome === 'function' ? outcome(run) : outcome;
}

async function ranSegment(run: FakeRun, { runSegment }: FakeScript, segment: SegmentCall): Promise<SegmentOutcome> {
  if (runSegment === undefined) throw new Error('The script runs no code');
  return runSegment(segment, run);
}

async function executed(run: FakeRun, script: FakeScript, invocation: ToolInvocation): Promise<ToolOutcome> {
  run.invocations.push(invocation);
  const tool = script.tools?.[invocation.call.name];
  return tool === undefined ? returned(`${invocation.call.name} ran`) : tool(invocation, run);
}

let responses = 0;

/** A recorded response of text and calls. */
export function responded(content: ContentItem[], more: Partial<RecordedResponse> = {}): ModelCallOutcome {
  const calls = content.some((item) => item.type === 'tool_call');
  const response: RecordedResponse = {
    id: `response-${++responses}`,
    content,
    finishReason: calls ? 'tool_calls' : 'stop',
    usage: null,
    ...more,
  };
  return { type: 'response', response };
}

/** A response with a text. */
export function said(text: string, more: Partial<RecordedResponse> = {}): ModelCallOutcome {
  return responded([message(text)], more);
}

/** A response with tool calls. */
export function called(...calls: ToolCall[]): ModelCallOutcome {
  return responded(calls);
}

/** An assistant message. */
export function message(content: string): ContentItem {
  return { type: 'message', role: 'assistant', content };
}

/** A tool call. */
export function call(toolCallId: string, name: string, args: JsonObject = {}): ToolCall {
  return { type: 'tool_call', toolCallId, name, arguments: args };
}

/** The outcome of a tool that succeeded. */
export function returned(...content: JsonValue[]): ToolOutcome {
  return { type: 'result', status: 'success', content, durationMs: 1 };
}

/** Usage of one call. */
export function tokens(promptTokens: number, completionTokens: number): UsageStats {
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
}

/** A tool outcome that the test delivers later. */
interface Delivery {
  outcome: Promise<ToolOutcome>;
  deliver: (outcome: ToolOutcome) => void;
}

/** A tool outcome to deliver later. */
export function delivery(): Delivery {
  const { promise, resolve } = Promise.withResolvers<ToolOutcome>();
  return { outcome: promise, deliver: resolve };
}

/** The texts of the results of a step, in order. */
export function resultsOf(run: { state: RunState }, step: number): string[] {
  return run.state.steps[step - 1]?.toolCalls.map(({ result }) => result) ?? [];
}
