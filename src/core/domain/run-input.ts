import { AGENT_DOCUMENT, FLOW_INPUT, MODEL_NAME, MODEL_SETTINGS } from './agent.ts';
import { TIERS } from './batch.ts';
import { CONTENT_ITEM, type ContentItem, type ContentPart, MESSAGE_CONTENT, outputText } from './content.ts';
import { defined } from './json.ts';
import { LIMITS, MAX_TREE_DEPTH, SESSION_LIMITS, TREE_LIMITS } from './limits.ts';
import { RULES_OF_ANCESTORS } from './parts.ts';
import { PRINCIPAL } from './run.ts';
import * as s from './shape.ts';
import { utf8Length } from './text.ts';

const ID = s.boundedText({ minLength: 1, maxLength: 1_000 });

export const OVERRIDES = {
  /** `provider/model`; overrides the agent's model. */
  model: s.optional(MODEL_NAME),
  /** Each setting overrides the agent's own. */
  settings: s.optional(MODEL_SETTINGS),
  /** Tags to find runs by. Providers may also distinguish runs by them. */
  tags: s.optional(s.listOf(s.boundedText({ minLength: 1, maxLength: 100 }), { maxItems: 20 })),
  /** The run's stream may use the heartbeats of its calls. Each heartbeat is a call to the server. */
  live: s.optional(s.TRUE),
  /** `batch`: model calls wait for their provider's batches. */
  tier: s.optional(s.oneOf(...TIERS)),
};

/** Settings of one run that override its agent or add to it. Plain JSON, in the input of the run. */
export interface RunOverrides extends s.ObjectOf<typeof OVERRIDES> {}

const SESSION_MEMBERS = {
  /** The limits of the whole session. The agent's limits apply to each turn. */
  limits: s.optional(SESSION_LIMITS),
  /** The number of turns after which the conversation is compacted, even if its window is not full. Default 20; `null`: never. */
  compactAfter: s.optional(s.orNull(s.AT_LEAST_ONE)),
  /** The title in lists. */
  title: s.optional(s.boundedText({ minLength: 1, maxLength: 200 })),
  /** A model call after the first answer generates the session's title. */
  generateTitle: s.optional(s.TRUE),
  /** `never`: the agent stays as it was when the session began. Absent: it is resolved again after some time without messages. */
  refresh: s.optional(s.constant('never')),
};

/** The part of a run's input that makes it a session: it stays open between its answers. */
export interface SessionInput extends s.ObjectOf<typeof SESSION_MEMBERS> {}

/** The length of a `traceparent` of W3C Trace Context. */
const TRACEPARENT = s.boundedText({ minLength: 55, maxLength: 300 });

const TRACEPARENT_FORM = /^(?!ff)[0-9a-f]{2}-(?<traceId>[0-9a-f]{32})-(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})(?:-.*)?$/;

/** The caller's position in a trace. */
interface TraceCaller {
  traceId: string;
  spanId: string;
  isSampled: boolean;
}

/** Reads a `traceparent`, or returns undefined for an invalid text. */
export function readTraceparent(text: string): TraceCaller | undefined {
  const { traceId = '', spanId = '', flags = '' } = TRACEPARENT_FORM.exec(text)?.groups ?? {};
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

const PARENT_MEMBERS = {
  /** The run id of the parent. */
  runId: ID,
  /** The Temporal run id of its first execution, because a later run may have the same id. Absent if no workflow started the child. */
  firstRunId: s.optional(ID),
  /** The number of ancestors of the child, at least 1. */
  depth: s.boundedNumber({ type: 'integer', minimum: 1, maximum: MAX_TREE_DEPTH }),
  /** Milliseconds between two checks of the parent, in case it ended without cancelling its children. */
  checkMs: s.DURATION,
  /** The time of the next check, in milliseconds since the epoch. Absent in the input of a run. */
  checkAt: s.optional(s.MOMENT),
  /** The child's share of the parent's limits. The child's own limits are not higher, and cannot be raised above it. */
  left: s.optional(LIMITS),
  /** The limits of the child's descendants. Absent if the parent is a program. */
  tree: s.optional(TREE_LIMITS),
  /**
   * The child is a session that the parent keeps: it notifies the parent of the end of each turn, and takes messages only from the parent.
   */
  kept: s.optional(s.TRUE),
  ...RULES_OF_ANCESTORS,
  /** The parent's tier, for an agent without one. Absent: `interactive`. */
  tier: s.optional(s.constant('batch')),
};

/** The run that started a run as its child. */
export interface ParentRun extends s.ObjectOf<typeof PARENT_MEMBERS> {}

/** The name of the parent's slice in the state of a run. */
export const PARENT = 'parent';

/** Returns the run that started a run or carried state as its child, or undefined if a caller started it. */
export function parentOf({ slices }: { slices?: Record<string, unknown> }): ParentRun | undefined {
  return slices?.[PARENT] as ParentRun | undefined;
}

/** Returns the reason of the cancellation of a run that its parent has cancelled. */
export function cancelledByParent(parentId: string): string {
  return `The run "${parentId}", which started this one, has cancelled it`;
}

/** The parent in the input of a child. */
export type ParentInput = Omit<ParentRun, 'checkAt'>;

const FROM_CALL_MEMBERS = {
  /** The id of the event that contains the call. */
  eventId: ID,
  /** The index of the call in the event's content. */
  index: s.COUNT,
  /** `input` is only the beginning of the input. */
  input: s.optional(s.TRUE),
  /** The deps are omitted. */
  deps: s.optional(s.TRUE),
};

/** The call of the parent that started a run. */
export interface FromCall extends s.ObjectOf<typeof FROM_CALL_MEMBERS> {}

const NAMED = {
  /** The name of the agent. */
  agent: s.boundedText({ minLength: 1 }),
  /** The agent itself, if it is a step of the parent program. */
  document: s.optional(AGENT_DOCUMENT),
  /** The flow, if the run is a flow that no worker knows by name. */
  flow: s.optional(FLOW_INPUT),
};

/** The data of a run of an agent or of a program. */
export const RUN_DATA = {
  /** The deps of the run. */
  deps: s.optional(s.JSON_OBJECT),
  /** The initial state of the run. Tools change it. */
  state: s.optional(s.JSON_OBJECT),
  /** The identity on whose behalf the run acts. */
  principal: s.optional(PRINCIPAL),
};

/** The origin of a run of an agent or of a program. */
export const RUN_ORIGIN = {
  /** The caller's position in a trace, as W3C Trace Context. The run's spans are below it. */
  traceparent: s.optional(TRACEPARENT),
};

/** The bounds of a run of an agent or of a program. */
export const RUN_BOUNDS = {
  /** Overrides limits of the agent or the program. */
  limits: s.optional(LIMITS),
  /** Set by the parent when it starts this run as its child. */
  parent: s.optional(s.shape<ParentInput>(s.closedObject(PARENT_MEMBERS))),
};

const TERMS = {
  ...RUN_DATA,
  /** The run is a session: it stays open after its answers, and may begin without an input. */
  session: s.optional<SessionInput>(s.closedObject(SESSION_MEMBERS)),
  ...RUN_BOUNDS,
  ...RUN_ORIGIN,
  /**
   * The parent's call that started the run, if its input or deps are too large to be stored again: the first activity queries the parent
   * for them.
   */
  fromCall: s.optional<FromCall>(s.closedObject(FROM_CALL_MEMBERS)),
  ...OVERRIDES,
};

/** The input of a run without its initial conversation. */
export interface RunTerms extends s.ObjectOf<typeof NAMED>, s.ObjectOf<typeof TERMS> {}

/** The input of a run: plain JSON, the same from the client, the CLI, the Temporal UI and a Schedule. */
export type RunInput = RunTerms & RunOpening;

const OPENING = { input: MESSAGE_CONTENT, messages: s.optional(s.listOf(CONTENT_ITEM)) };
export const RUN_INPUT = s.closedObject({ ...NAMED, ...OPENING, ...TERMS });

/** The same, for an input that begins with messages or starts a session. */
export const CONTINUING_INPUT = s.closedObject({ ...NAMED, ...OPENING, input: s.optional(OPENING.input), ...TERMS });

/** The initial conversation of a run: the user's input, the conversation before it, or both. */
export type RunOpening =
  | {
      /** Text, or parts if it contains media. Optional if the last message needs a response of the model. */
      input?: string | ContentPart[];
      /** The conversation so far. It is not executed, and does not count as steps or usage. */
      messages: readonly ContentItem[];
    }
  | {
      /** Text, or parts if it contains media. */
      input: string | ContentPart[];
      /** The conversation before `input`. It is not executed, and does not count as steps or usage. */
      messages?: readonly ContentItem[];
    };

/** Returns only the fields of the opening. */
export function openingOf({ input, messages }: RunOpening): RunOpening {
  const given = defined({ messages });
  return input === undefined ? { messages: messages ?? [] } : { ...given, input };
}

/** Returns the opening as text: the input, or else the last message of the conversation. */
export function openingText({ input, messages = [] }: RunOpening): string {
  if (input !== undefined) return outputText(input);
  const last = messages.findLast((item) => item.type === 'message');
  return last === undefined ? '' : outputText(last.content);
}

/** Returns the overrides that are set, for the input of an activity. */
export function overridesIn({ model, settings, tags, live, tier }: RunOverrides): RunOverrides {
  return defined({ model, settings, tags, live, tier });
}

/** The maximum number of ancestors of a run that a program starts. It stops a program that runs itself. */
export const MAX_RUN_DEPTH = 3;

/** The default time between two checks of a run that cannot report its own end. */
export const DEFAULT_CHILD_CHECK_MS = 3_600_000;

/** A session of callers, or a session that another run keeps. */
export type SessionKind = 'session' | 'kept session';

/** The maximum bytes of a fairness key that the server accepts. */
const FAIRNESS_KEY_BYTES = 64;

/** The order of a run's tasks in a task queue with a backlog, in Temporal's terms. */
export interface TaskPriority {
  priorityKey?: number;
  fairnessKey?: string;
}

/** Describes the problem of a priority or a fairness key, or returns undefined. */
export function priorityProblem(priority: unknown, fairnessKey: unknown): string | undefined {
  if (priority !== undefined && !(Number.isInteger(priority) && Number(priority) >= 1 && Number(priority) < 2 ** 31)) {
    return `"priority" is ${JSON.stringify(priority)}: write a whole number of at least 1; lower ones go first`;
  }
  if (fairnessKey === undefined) return undefined;
  if (typeof fairnessKey === 'string' && fairnessKey !== '' && utf8Length(fairnessKey) <= FAIRNESS_KEY_BYTES) return undefined;
  return `"fairnessKey" is ${JSON.stringify(fairnessKey)}: write a text of at most ${FAIRNESS_KEY_BYTES} bytes`;
}

/** Combines a priority and a fairness key, or returns undefined if both are undefined. */
export function priorityFrom(priority: number | undefined, fairnessKey: string | undefined): TaskPriority | undefined {
  if (priority === undefined && fairnessKey === undefined) return undefined;
  return defined({ priorityKey: priority, fairnessKey });
}
