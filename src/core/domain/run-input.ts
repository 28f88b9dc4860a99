import type { AgentDocument, FlowInput, ModelSettings } from './agent.ts';
import { type ContentItem, type ContentPart, outputText } from './content.ts';
import { defined } from './defined.ts';
import type { HookSnapshot } from './hooks.ts';
import type { JsonObject } from './json.ts';
import type { LimitChanges, SessionLimits, TreeLimits } from './limits.ts';
import type { Permissions } from './permissions.ts';
import type { Principal } from './run.ts';
import { utf8Length } from './text.ts';

/** The input of a run: plain JSON, the same from the client, the CLI, the Temporal UI and a Schedule. */
export type RunInput = RunTerms & RunOpening;

/** The input of a run without the conversation that it begins with. */
export interface RunTerms extends RunOverrides {
  /** The name of the agent. */
  agent: string;
  /** The agent itself, if it is a step of the program that starts the run. */
  document?: AgentDocument;
  /** The order of agents, if the run is that of a flow which no worker has by its name. */
  flow?: FlowInput;
  deps?: JsonObject;
  /** The state that the run begins with. Tools change it. */
  state?: JsonObject;
  /** The identity on whose behalf the run acts. */
  principal?: Principal;
  /** Overrides limits of the agent. */
  limits?: LimitChanges;
  /** The run is a session: it stays open after its answers, and may begin without an input. */
  session?: SessionInput;
  /** Set by the run that starts this one as its child. */
  parent?: ParentInput;
  /** The call of the parent that started the run, if its input or its deps are too large to be stored again: the first activity asks the parent for them. */
  fromCall?: FromCall;
}

/** A call of the parent of a run. */
export interface FromCall {
  /** The id of the event of the call, and its index in the content of that event. */
  eventId: string;
  index: number;
  /** `input` is only the beginning of the input. */
  input?: true;
  /** The deps are left out. */
  deps?: true;
}

/** The conversation that a run begins with: what the user says, the conversation before it, or both. */
export type RunOpening =
  | {
      /** Text, or parts if it has media. May be left out if the last of the messages needs a response of the model. */
      input?: string | ContentPart[];
      /** The conversation so far. Nothing in it is executed, and it counts as no step and no usage. */
      messages: readonly ContentItem[];
    }
  | {
      /** Text, or parts if it has media. */
      input: string | ContentPart[];
      /** The conversation before `input`. Nothing in it is executed, and it counts as no step and no usage. */
      messages?: readonly ContentItem[];
    };

/** Returns the fields of the opening alone. */
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

/** Settings of one run that override its agent or add to it. Plain JSON, in the input of the run. */
export interface RunOverrides {
  /** `provider/model`; overrides the agent's model. */
  model?: string;
  /** Each setting overrides the agent's own. */
  settings?: ModelSettings;
  /** Words by which runs are found, and by which providers may tell runs apart. */
  tags?: string[];
  /** The stream of the run may travel in the heartbeats of its calls, each of which is a call to the server. */
  live?: true;
}

/** Returns the overrides that are set, for the input of an activity. */
export function overridesIn({ model, settings, tags, live }: RunOverrides): RunOverrides {
  return defined({ model, settings, tags, live });
}

/** The maximum number of ancestors of a run that a program starts. A program that runs itself ends there. */
export const MAX_RUN_DEPTH = 3;

/** The time between two checks that a run is alive which cannot tell of its own end. */
export const DEFAULT_CHILD_CHECK_MS = 3_600_000;

/** The run that started a run as its child. */
export interface ParentRun {
  runId: string;
  /** The Temporal run id of its first execution: another run may have the same id later. Absent if no workflow started the child. */
  firstRunId?: string;
  /** The number of ancestors of the child, from 1. */
  depth: number;
  /** Milliseconds between two checks of the parent, in case that it ended without cancelling its children. */
  checkMs: number;
  /** The time of the next check, in milliseconds since the epoch. Absent in the input of a run. */
  checkAt?: number;
  /** The part of the limits of the parent that the child has been given. Its own limits are no higher, and are not raised above it. */
  left?: LimitChanges;
  /** The limits of the descendants of the child. Absent if the parent is a program. */
  tree?: TreeLimits;
  /** The policies that hold for the parent: each call of the child must pass them too. */
  permissions?: Permissions[];
  /** The hooks of the ancestors: they hold for the child too. */
  hooks?: HookSnapshot[];
  /** The child is a session that the parent keeps: it tells the parent of the end of each turn, and takes its next message from it alone. */
  kept?: true;
}

/** The parent as the input of a child names it. */
export type ParentInput = Omit<ParentRun, 'checkAt'>;

/** The part of the input of a run that makes it a session: it stays open between its answers. */
export interface SessionInput {
  /** The limits of the whole session. Those of the agent hold for each turn. */
  limits?: SessionLimits;
  /** The number of turns after which the conversation is compacted, also if its window is not full. Default 20; `null`: never. */
  compactAfter?: number | null;
  /** Shown in lists. */
  title?: string;
  /** A model call after the first answer gives the session a title. */
  generateTitle?: true;
  /** `never`: the agent stays as it was when the session began. Absent: it is resolved again after a time without messages. */
  refresh?: 'never';
}

/** A session of callers, or one that another run keeps. */
export type SessionKind = 'session' | 'kept session';

/** Bytes of a fairness key that the server accepts. */
const FAIRNESS_KEY_BYTES = 64;

/** The order of a run's tasks in a task queue with a backlog, in Temporal's terms. */
export interface TaskPriority {
  priorityKey?: number;
  fairnessKey?: string;
}

/** Describes the problem of a priority or a fairness key; undefined if there is none. */
export function priorityProblem(priority: unknown, fairnessKey: unknown): string | undefined {
  if (priority !== undefined && !(Number.isInteger(priority) && Number(priority) >= 1 && Number(priority) < 2 ** 31)) {
    return `"priority" is ${JSON.stringify(priority)}: write a whole number of at least 1; lower ones go first`;
  }
  if (fairnessKey === undefined) return undefined;
  if (typeof fairnessKey === 'string' && fairnessKey !== '' && utf8Length(fairnessKey) <= FAIRNESS_KEY_BYTES) return undefined;
  return `"fairnessKey" is ${JSON.stringify(fairnessKey)}: write a text of at most ${FAIRNESS_KEY_BYTES} bytes`;
}

/** Combines a priority and a fairness key; undefined if both are undefined. */
export function priorityFrom(priority: number | undefined, fairnessKey: string | undefined): TaskPriority | undefined {
  if (priority === undefined && fairnessKey === undefined) return undefined;
  return defined({ priorityKey: priority, fairnessKey });
}
