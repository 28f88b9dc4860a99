import { z } from 'zod';
import type { AtPointInput } from '../src/core/activity-requests/contracts.ts';
import type { ReviewedCalls } from '../src/core/domain/activity-messages.ts';
import { type AgentSnapshot, DEFAULT_POLICY, type ToolSnapshot } from '../src/core/domain/agent.ts';
import { BYTE_BUDGETS } from '../src/core/domain/byte-budgets.ts';
import type { ContentItem, ToolCall } from '../src/core/domain/content.ts';
import type { JsonObject, JsonValue } from '../src/core/domain/json.ts';
import type { ModelRequest, ModelResponse } from '../src/core/domain/model.ts';
import type { ActivityNotes } from '../src/core/domain/parts.ts';
import { type DataView, type OfRun, QUERIES, type ResolveAgentInput, type RunToolInput, type RunToolOutput } from '../src/core/protocol.ts';
import type { AnyAgent } from '../src/define/agent-definition.ts';
import type { AnyTool } from '../src/define/tool-definition.ts';
import { queryRun } from './run-queries/query-run.ts';
import type { ActivityRuntime } from './runtime.ts';

/** A run that is starting, with its resolved agent. */
export interface StartingRun {
  runtime: ActivityRuntime;
  input: ResolveAgentInput;
  agent: AnyAgent;
  deps: JsonObject;
  signal: AbortSignal;
  /** Returns the text of the run's input. */
  text: () => Promise<string>;
}

/** A capability's additions to the snapshot of a run. */
export interface PinnedPart {
  fields?: Partial<AgentSnapshot>;
  /** Tools that it gives the agent. */
  tools?: readonly ToolSnapshot[];
  /** Texts that follow the instructions of the agent. */
  instructions?: readonly string[];
  /** Called with all instructions of a new run: returns the run's instructions, and further fields. */
  open?: (instructions: string[]) => Promise<OpenedRun>;
  /** Called with all tools of the agent: returns further fields. Throws `invalid_agent` if it does not fit them. */
  fitTools?: (tools: readonly ToolSnapshot[]) => Partial<AgentSnapshot>;
}

/** The result of opening a run. */
export interface OpenedRun {
  instructions: string[];
  fields: Partial<AgentSnapshot>;
}

/** The run whose calls are reviewed. */
export interface ReviewScope {
  runtime: ActivityRuntime;
  run: OfRun;
  snapshot: AgentSnapshot;
  signal: AbortSignal;
  /** Returns deps and state. Default: a query, which a local activity cannot send to its own run. */
  data?: () => Promise<DataView>;
  /** The calls are reviewed again in a separate activity: by capabilities that asked for one, and by all that review their changes. */
  isSeparate?: true;
}

/** A model call, in its activity. */
export interface ModelCallScope {
  runtime: ActivityRuntime;
  run: OfRun;
  snapshot: AgentSnapshot;
  signal: AbortSignal;
}

/**
 * The purpose of a model call: the next answer of an agent, or a summary of its conversation. `events`: the number of summarized events.
 */
export type CallPurpose = { type: 'answer'; model: string; step: number } | { type: 'summary'; events: number };

/** A request after a capability's changes, and its record for the answer. */
export interface PreparedByPart {
  request: ModelRequest;
  notes: ActivityNotes;
}

/** A model's answer after a capability's changes, and its record. */
export interface AnsweredByPart {
  answer: ModelResponse;
  notes: ActivityNotes;
}

/** A capability's verdict on a call. An empty verdict lets it start unchanged. */
export interface CallVerdict {
  /** The reason why the call must not run, for the model. */
  problem?: string;
  /** The arguments that it runs with. */
  rewrite?: JsonObject;
  /** Text that the model reads with its result. */
  injection?: string;
  /** The reason of the decision that the call waits for. */
  question?: string;
}

/** A capability's review of calls. */
export interface PartReview {
  /** By call id. */
  verdicts: ReadonlyMap<string, CallVerdict>;
  /** Its part of the record about the calls. */
  record: Partial<ReviewedCalls>;
}

/** A point of the conversation where capabilities are asked: messages that no model has read, or an answer before it counts. */
export interface PointScope {
  runtime: ActivityRuntime;
  run: AtPointInput;
  snapshot: AgentSnapshot;
  signal: AbortSignal;
  /** True once the run is cancelled: then findings do not count, but their cost does. */
  isCancelled: () => boolean;
  /** Returns the subject, and the data of the run: read once for all capabilities. */
  read: () => Promise<ReadPoint>;
}

/** A call whose tool has acted. */
export interface ActedCall {
  input: RunToolInput;
  name: string;
  args: JsonObject;
  data: DataView;
  signal: AbortSignal;
}

/** The result of a call after the changes of capabilities. */
export interface SettledResult {
  content: JsonValue[];
  isError: boolean;
  /** Additions to its record. */
  record?: Partial<RunToolOutput>;
}

/** The tool that a call belongs to. */
export type CallOwner = Pick<RunToolInput, 'agentName' | 'ofProgram'> & Partial<RunToolInput>;

/** A capability in the activities of a worker: the points where it acts. All of them are optional. */
export interface WorkerPart {
  readonly name: string;
  /** Returns the names that the agent's MCP tools must not have. */
  toolNames?(agent: AnyAgent): readonly string[];
  /** Returns the part that follows only from an agent's definition. */
  defined?(agent: AnyAgent): PinnedPart;
  /** Called when a run begins: returns the part that the worker pins for it, in addition to the definition's. */
  pin?(run: StartingRun): PinnedPart | Promise<PinnedPart>;
  /** Throws `MissingOnWorkerError` if this worker lacks something for a model call. Called before anything is paid for. */
  requireModelCall?(runtime: ActivityRuntime, snapshot: AgentSnapshot, purpose: CallPurpose['type']): void;
  /**
   * Called before a request is sent, in each attempt. Throws to prevent that. Returns undefined, not a promise, if it does not take part.
   */
  beforeModelCall?(scope: ModelCallScope, purpose: CallPurpose, request: ModelRequest): Promise<PreparedByPart> | undefined;
  /**
   * Called with an answer before it is interpreted. The answer is paid for, so this never rejects. Returns undefined, not a promise, if it
   * does not take part.
   */
  afterModelCall?(scope: ModelCallScope, answer: ModelResponse): Promise<AnsweredByPart> | undefined;
  /**
   * Throws `MissingOnWorkerError` if this worker cannot review calls of the agent: another worker may. Called before anything is paid for.
   */
  requireReview?(runtime: ActivityRuntime, snapshot: AgentSnapshot): void;
  /**
   * Called before any call of a response starts: returns its review of the calls that earlier capabilities have not refused, with the
   * arguments as changed so far. Returns undefined, not a promise, for an agent that does not use it; a promise of undefined without a
   * verdict.
   */
  review?(scope: ReviewScope, calls: readonly ToolCall[]): Promise<PartReview | undefined> | undefined;
  /** Throws `MissingOnWorkerError` if this worker cannot answer at a point. Called before anything is asked. */
  requirePoint?(runtime: ActivityRuntime, snapshot: AgentSnapshot, point: AtPointInput['point']): void;
  /**
   * Called before a model reads messages, or before an answer counts: returns its findings as plain JSON. All capabilities are asked at the
   * same time.
   */
  atPoint?(scope: PointScope): Promise<unknown> | undefined;
  /** Throws `MissingOnWorkerError` if this worker cannot settle the result of a call. Called before the tool acts. */
  requireSettle?(runtime: ActivityRuntime, input: RunToolInput): void;
  /** Called after a tool has acted: returns the result for the run. Returns undefined, not a promise, if it has nothing to do. */
  settle?(runtime: ActivityRuntime, call: ActedCall, result: SettledResult): Promise<SettledResult> | undefined;
  /** True for calls of a tool that the capability provides. */
  ownsTool?(call: CallOwner): boolean;
  /** Returns that tool; undefined if this worker cannot run it. */
  tool?(runtime: ActivityRuntime, call: CallOwner, name: string): AnyTool | undefined;
}

/**
 * Returns a built-in tool as an ordinary tool: its calls are recorded, limited, approved and redacted in the same way. The run's snapshot
 * has its description and its schema, which the arguments match.
 */
export function ordinaryTool(name: string, execute: AnyTool['execute']): AnyTool {
  return {
    kind: 'longhaul.tool',
    name,
    description: '',
    parameters: z.looseObject({}),
    schema: {},
    providerSchema: {},
    strict: false,
    parallel: true,
    policy: { timeoutMs: DEFAULT_POLICY.timeoutMs, maxAttempts: DEFAULT_POLICY.maxAttempts },
    retryOn: 'any',
    maxResultBytes: BYTE_BUDGETS.toolResult,
    overflow: 'cut',
    execute,
  };
}

type Message = Extract<ContentItem, { type: 'message' }>;

/** The subject at a point of the conversation, and its text. */
type PointSubject =
  | { type: 'input'; messages: Message[]; text: string }
  /** The answer in the form of the run's output. */
  | { type: 'output'; output: JsonValue; text: string };

/** The data at a point. */
export interface ReadPoint {
  subject: PointSubject;
  data: DataView;
}

/** Reads the subject at a point from the run. */
export async function readPoint(runtime: ActivityRuntime, run: AtPointInput): Promise<ReadPoint> {
  const data = await queryRun<DataView>(run, QUERIES.data, null);
  return { data, subject: await subjectOf(runtime, run, data) };
}

async function subjectOf(runtime: ActivityRuntime, input: AtPointInput, { answer = '' }: DataView): Promise<PointSubject> {
  if (input.point === 'output') return { type: 'output', output: answer, text: textOfAnswer(answer) };
  const { events } = await runtime.conversations.window(input, input);
  const messages = events.filter(({ offset }) => offset >= (input.from ?? 0)).flatMap(({ content }) => content.filter(isUserMessage));
  return { type: 'input', messages, text: messages.map(textOfMessage).join('\n') };
}

function isUserMessage(item: ContentItem): item is Message {
  return item.type === 'message' && item.role === 'user';
}

function textOfMessage({ content }: Message): string {
  return typeof content === 'string' ? content : content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** Returns the text of an answer: the texts of its parts, or JSON for a structured one. */
function textOfAnswer(answer: JsonValue): string {
  if (typeof answer === 'string') return answer;
  const texts = Array.isArray(answer) ? answer.flatMap((part) => textOfPart(part) ?? []) : [];
  return texts.length > 0 ? texts.join('\n') : JSON.stringify(answer);
}

function textOfPart(part: JsonValue): string | undefined {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return undefined;
  return part['type'] === 'text' && typeof part['text'] === 'string' ? part['text'] : undefined;
}
