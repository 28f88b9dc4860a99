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

/** A run whose agent is resolved. */
export interface StartingRun {
  runtime: ActivityRuntime;
  input: ResolveAgentInput;
  agent: AnyAgent;
  deps: JsonObject;
  signal: AbortSignal;
  /** Returns the text of the input of the run. */
  text: () => Promise<string>;
}

/** What a capability adds to the snapshot of a run. */
export interface PinnedPart {
  fields?: Partial<AgentSnapshot>;
  /** Tools that the agent has by it. */
  tools?: readonly ToolSnapshot[];
  /** Texts that follow the instructions of the agent. */
  instructions?: readonly string[];
  /** Called with all instructions of a run that begins: returns them as the run has them, and further fields. */
  open?: (instructions: string[]) => Promise<OpenedRun>;
  /** Called with all tools of the agent: returns further fields. Throws `invalid_agent` if it does not fit them. */
  fitTools?: (tools: readonly ToolSnapshot[]) => Partial<AgentSnapshot>;
}

/** A run that has begun. */
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
  /** The calls are reviewed in a separate activity, once more: by those who have asked for one, and by all who review what these have changed. */
  isSeparate?: true;
}

/** A call of a model, in its activity. */
export interface ModelCallScope {
  runtime: ActivityRuntime;
  run: OfRun;
  snapshot: AgentSnapshot;
  signal: AbortSignal;
}

/** The purpose of a model call: the next answer of an agent, or a summary of its conversation. `events`: the number of those that are summarised. */
export type CallPurpose = { type: 'answer'; model: string; step: number } | { type: 'summary'; events: number };

/** A request as a capability leaves it, and what is recorded with its answer. */
export interface PreparedByPart {
  request: ModelRequest;
  notes: ActivityNotes;
}

/** An answer of a model as a capability leaves it, and what is recorded with it. */
export interface AnsweredByPart {
  answer: ModelResponse;
  notes: ActivityNotes;
}

/** What a capability says about a call. All is optional: nothing lets it start as it is. */
export interface CallVerdict {
  /** The reason why the call must not run, for the model. */
  problem?: string;
  /** The arguments that it runs with. */
  rewrite?: JsonObject;
  /** Text that the model reads with its result. */
  injection?: string;
  /** The reason of the decision that it waits for. */
  question?: string;
}

/** What a capability says about calls. */
export interface PartReview {
  /** By the id of the call. */
  verdicts: ReadonlyMap<string, CallVerdict>;
  /** Its part of what is recorded about the calls. */
  record: Partial<ReviewedCalls>;
}

/** A point of the conversation at which capabilities are asked: messages that no model has read, or an answer before it counts. */
export interface PointScope {
  runtime: ActivityRuntime;
  run: AtPointInput;
  snapshot: AgentSnapshot;
  signal: AbortSignal;
  /** True once the run is cancelled: what was found then does not count, and what it has cost does. */
  isCancelled: () => boolean;
  /** Returns what is asked about, and the data of the run: read once for all. */
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

/** The result of a call as capabilities leave it. */
export interface SettledResult {
  content: JsonValue[];
  isError: boolean;
  /** What is recorded with it. */
  record?: Partial<RunToolOutput>;
}

/** The tool that a call belongs to. */
export type CallOwner = Pick<RunToolInput, 'agentName' | 'ofProgram'> & Partial<RunToolInput>;

/** A capability as a part of the activities of a worker: the points of the activities at which it acts. All of them are optional. */
export interface WorkerPart {
  readonly name: string;
  /** Returns the names that no tool of an MCP server of the agent may have. */
  toolNames?(agent: AnyAgent): readonly string[];
  /** Returns what follows from the definition of an agent alone. */
  defined?(agent: AnyAgent): PinnedPart;
  /** A run begins: returns what the worker pins for it, over what follows from the definition. */
  pin?(run: StartingRun): PinnedPart | Promise<PinnedPart>;
  /** Throws `MissingOnWorkerError` if this worker could not take part in a model call. Called before anything is paid for. */
  requireModelCall?(runtime: ActivityRuntime, snapshot: AgentSnapshot, purpose: CallPurpose['type']): void;
  /** A request is about to be sent, in each attempt. Throws to keep it from being sent. Undefined, and no promise, if it has no part in it. */
  beforeModelCall?(scope: ModelCallScope, purpose: CallPurpose, request: ModelRequest): Promise<PreparedByPart> | undefined;
  /** An answer has come, and is not interpreted yet. It has been paid for: never rejects. Undefined, and no promise, if it has no part in it. */
  afterModelCall?(scope: ModelCallScope, answer: ModelResponse): Promise<AnsweredByPart> | undefined;
  /** Throws `MissingOnWorkerError` if this worker could not review calls of the agent: another one may. Called before anything is paid for. */
  requireReview?(runtime: ActivityRuntime, snapshot: AgentSnapshot): void;
  /**
   * Calls are made, and none has started: returns what it says about those that no capability before it has refused, with the arguments
   * that these have left. Undefined, and no promise, for an agent that does not use it; a promise of undefined if it has nothing to say.
   */
  review?(scope: ReviewScope, calls: readonly ToolCall[]): Promise<PartReview | undefined> | undefined;
  /** Throws `MissingOnWorkerError` if this worker could not answer at a point. Called before anything is asked. */
  requirePoint?(runtime: ActivityRuntime, snapshot: AgentSnapshot, point: AtPointInput['point']): void;
  /** Messages are about to be read by a model, or an answer is about to count: returns what it finds, as plain JSON. All capabilities are asked at the same time. */
  atPoint?(scope: PointScope): Promise<unknown> | undefined;
  /** Throws `MissingOnWorkerError` if this worker could not settle the result of a call. Called before the tool acts. */
  requireSettle?(runtime: ActivityRuntime, input: RunToolInput): void;
  /** A tool has acted: returns its result as the run has it. Undefined, and no promise, if it has nothing to do. */
  settle?(runtime: ActivityRuntime, call: ActedCall, result: SettledResult): Promise<SettledResult> | undefined;
  /** True for the calls of a tool that the capability gives an agent. */
  ownsTool?(call: CallOwner): boolean;
  /** Returns that tool; undefined if this worker cannot run it. */
  tool?(runtime: ActivityRuntime, call: CallOwner, name: string): AnyTool | undefined;
}

/**
 * Returns a tool that no user has defined as an ordinary tool: its calls are recorded, limited, approved and redacted in the same way. The
 * snapshot of the run has its description and its schema, which the arguments fit.
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

/** What is asked about at a point of the conversation, and its text. */
type PointSubject =
  | { type: 'input'; messages: Message[]; text: string }
  /** The answer as the run would give it. */
  | { type: 'output'; output: JsonValue; text: string };

/** What is known at a point. */
export interface ReadPoint {
  subject: PointSubject;
  data: DataView;
}

/** Reads what is asked about at a point from the run. */
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
