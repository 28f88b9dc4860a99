import { BYTE_BUDGETS, jsonBytes } from './byte-budgets.ts';
import * as s from './shape.ts';
import type { ApprovalRequirement } from './approvals.ts';
import type { ContentItem } from './content.ts';

/** The named points of a run at which hooks are called. */
export const HOOK_EVENTS = [
  'session_start',
  'input',
  'output',
  'pre_request',
  'post_response',
  'pre_tool_use',
  'post_tool_use',
  'pre_compact',
  'stop',
  'session_end',
  'subagent_start',
  'subagent_stop',
  'handoff',
] as const;

/** A named point of a run at which hooks are called. @useDeclaredType */
export type HookEvent = (typeof HOOK_EVENTS)[number];

/** The points of the conversation: messages that no model has read, and an answer before it counts. */
export const POINT_EVENTS = ['input', 'output'] as const satisfies readonly HookEvent[];

/** The events about a response's calls, before they start. */
export const CALL_EVENTS = ['pre_tool_use', 'subagent_start', 'handoff'] as const satisfies readonly HookEvent[];

/** The events whose hooks run in the activity of a model call. */
export const MODEL_CALL_EVENTS = ['pre_request', 'post_response', ...CALL_EVENTS] as const satisfies readonly HookEvent[];

/** The events whose hooks run in an activity after a call has run an agent. */
export const AFTER_CALL_EVENTS = ['post_tool_use', 'subagent_stop'] as const satisfies readonly HookEvent[];

/** The events whose hooks run in an activity at the end of a run. */
export const END_EVENTS = ['stop', 'session_end'] as const satisfies readonly HookEvent[];

/** The events that a hook can deny: the first deny ends the chain. A deny at any other event has no effect. */
const BLOCKING: ReadonlySet<HookEvent> = new Set<HookEvent>([...POINT_EVENTS, 'pre_request', 'pre_tool_use', 'subagent_start', 'handoff']);

/** True if a deny at this event prevents something. */
export function isBlocking(event: HookEvent): boolean {
  return BLOCKING.has(event);
}

/** True for events about a tool or an agent, whose name a matcher is compared with. */
export function hasSubject(event: HookEvent): boolean {
  return event === 'pre_tool_use' || event === 'post_tool_use' || event.startsWith('subagent_') || event === 'handoff';
}

const SNAPSHOT_MEMBERS = {
  /** The name of the hook. */
  name: s.TEXT,
  /** The event at which it is called. */
  on: s.oneOf(...HOOK_EVENTS),
  /** The agent that has the hook. Absent: the worker has it, for all agents. */
  of: s.optional(s.TEXT),
  /** It runs in a separate activity. */
  tier: s.optional(s.constant('remote')),
  /** Its time limit in milliseconds. Absent: the default for a hook inside another activity. */
  timeoutMs: s.optional(s.DURATION),
  /** If it is called in a separate activity, a failure of the activity counts as a deny. */
  failClosed: s.optional(s.TRUE),
};

/** A hook as pinned for a run: the data that decides which activities need it. Its code is in the worker. */
export interface HookSnapshot extends s.ObjectOf<typeof SNAPSHOT_MEMBERS> {}
const HOOK_SNAPSHOT: s.Shape<HookSnapshot> = s.object(SNAPSHOT_MEMBERS);

/** The part of a snapshot with the hooks of a run. */
interface WithHooks {
  hooks?: HookSnapshot[];
}

/** Returns a run's hooks for the given events. */
export function hooksFor({ hooks = [] }: WithHooks, ...events: readonly HookEvent[]): HookSnapshot[] {
  return hooks.filter(({ on }) => events.includes(on));
}

/** Returns a run's hooks for the given events that run inside other activities. */
export function inlineHooks(run: WithHooks, ...events: readonly HookEvent[]): HookSnapshot[] {
  return hooksFor(run, ...events).filter(({ tier }) => tier !== 'remote');
}

/** Returns a run's hooks for the given events that run in a separate activity. */
function remoteHooks(run: WithHooks, ...events: readonly HookEvent[]): HookSnapshot[] {
  return hooksFor(run, ...events).filter(({ tier }) => tier === 'remote');
}

/** The time limit of a hook inside another activity, in milliseconds. */
export const INLINE_HOOK_MS = 10_000;

/** Returns the maximum milliseconds of hooks inside one activity: the hooks of one call run sequentially, and calls run in parallel. */
export function hooksMs(hooks: readonly HookSnapshot[]): number {
  return hooks.reduce((sum, { timeoutMs = INLINE_HOOK_MS }) => sum + timeoutMs, 0);
}

/** The events of a run as a whole: their hooks apply to the agent that has them, and not to descendants. */
const OF_ONE_RUN: ReadonlySet<HookEvent> = new Set<HookEvent>(['session_start', ...POINT_EVENTS, 'stop', 'session_end']);

/** Returns the maximum bytes of the notes that hooks add to the result of a call in the call's activity. */
export function mostNoteBytes(run: WithHooks): number {
  return inlineHooks(run, 'post_tool_use').length === 0 ? 0 : BYTE_BUDGETS.notes;
}

/** Returns the hooks that also apply to a run's descendants. */
export function inheritedHooks({ hooks = [] }: { hooks?: HookSnapshot[] }): HookSnapshot[] {
  return hooks.filter(({ on }) => !OF_ONE_RUN.has(on));
}

/** Returns a run's inherited hooks and its agent's own hooks, each once. */
export function joinedHooks(inherited: readonly HookSnapshot[], own: readonly HookSnapshot[]): HookSnapshot[] {
  return [
    ...inherited,
    ...own.filter((hook) => !inherited.some((one) => one.name === hook.name && one.of === hook.of && one.on === hook.on)),
  ];
}

/**
 * The answer of one hook, recorded with the result of its activity. A hook that simply allowed leaves no record. `failed`: it threw, timed
 * out, could not be launched or returned an invalid answer.
 */
export interface HookRecord {
  /** The name of the hook. */
  hook: string;
  /** The event at which it was called. */
  on: HookEvent;
  /** The answer that took effect. `failed`: it gave none, for the reason in `text`. */
  answer: 'deny' | 'modify' | 'inject' | 'ask' | 'failed';
  /** The reason for a deny or a question, the injected text, or the error. */
  text?: string;
  /** For a failure: true if it counted as a deny (`failClosed`). */
  denied?: true;
  /** The call it was about. */
  callId?: string;
}

/** The hook notes in records of a call, a step, a summary, and a run's start and end. */
export const HOOK_NOTES = {
  /** The hooks' answers other than a plain allow. The `arguments` of a call are those it ran with; the model's are in the event. */
  hooks: s.optional(s.listOf(s.anyObject<HookRecord>())),
};

export interface HookNotes extends s.ObjectOf<typeof HOOK_NOTES> {}

/** The hook data in an agent's snapshot. */
export interface HooksOfSnapshot {
  /** The hooks of the run, by name and event. Absent: none. */
  hooks?: HookSnapshot[];
  /** The hooks' answers at `session_start` other than a plain allow. */
  hookRecords?: HookRecord[];
}

/** The hooks that a run passes on to its children. */
export const HOOKS_OF_ANCESTORS = {
  /** The hooks of the ancestors: they also apply to the child. */
  hooks: s.optional(s.listOf(HOOK_SNAPSHOT)),
};

/** The bytes of JSON from which the record may contain only the beginning of a hook's addition. */
const CUT_BYTES = 480;

/**
 * Returns the texts that hooks added to a request's instructions, as recorded with its answer, and the reasons why others are missing
 * there.
 */
export function addedInstructions(agent: WithHooks, response: HookNotes | undefined): { texts: string[]; missing: string[] } {
  if (response === undefined) {
    const asked = inlineHooks(agent, 'pre_request');
    return {
      texts: [],
      missing: asked.map(({ name }) => `what hook "${name}" adds is recorded with the answer, which does not exist yet`),
    };
  }
  const added = (response.hooks ?? []).filter(({ on, answer }) => on === 'pre_request' && answer === 'inject');
  const isWhole = ({ text = '' }: HookRecord): boolean => jsonBytes(text) < CUT_BYTES;
  return {
    texts: added.filter(isWhole).flatMap(({ text }) => text ?? []),
    missing: added.filter((one) => !isWhole(one)).map(({ hook }) => `the record has only the beginning of what hook "${hook}" has added`),
  };
}

/**
 * Returns the hooks that review a response's calls in a separate activity: those of tier `remote`. For a parallel flow, all hooks, because
 * its calls come from no model call that could review them.
 */
export function hooksBeforeCalls(run: WithHooks & { flow?: { kind: string } }): HookSnapshot[] {
  return run.flow?.kind === 'parallel' ? hooksFor(run, ...CALL_EVENTS) : remoteHooks(run, ...CALL_EVENTS);
}

/** Returns the hooks for a call's result that run in a separate activity: all hooks if the call ran an agent, which has no activity. */
export function hooksAfterCall(run: WithHooks, { agent, handoff }: { agent?: object; handoff?: true }): HookSnapshot[] {
  if (handoff || run.hooks === undefined) return [];
  return agent === undefined ? remoteHooks(run, 'post_tool_use') : hooksFor(run, ...AFTER_CALL_EVENTS);
}

/** Returns the model's text for a call that a hook denied. */
export function deniedByHook(tool: string, reason: string | undefined): string {
  return `The call of '${tool}' was denied by a hook${reason === undefined || reason === '' ? '.' : `: ${reason}`}`;
}

/** Answer of the `hookedCalls` query: the response, with the current arguments of its calls. */
export interface HookedCalls {
  content: ContentItem[];
  problems?: Record<string, string>;
  approvals?: Record<string, ApprovalRequirement>;
}
