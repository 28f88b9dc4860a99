import { jsonBytes } from './byte-budgets.ts';
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

/** The events about the calls of a response, before they start. */
export const CALL_EVENTS = ['pre_tool_use', 'subagent_start', 'handoff'] as const satisfies readonly HookEvent[];

/** The events whose hooks run in the activity of a model call. */
export const MODEL_CALL_EVENTS = ['pre_request', 'post_response', ...CALL_EVENTS] as const satisfies readonly HookEvent[];

/** The events whose hooks run in an activity after an agent that a call has run. */
export const AFTER_CALL_EVENTS = ['post_tool_use', 'subagent_stop'] as const satisfies readonly HookEvent[];

/** The events whose hooks run in an activity at the end of a run. */
export const END_EVENTS = ['stop', 'session_end'] as const satisfies readonly HookEvent[];

/** The events that a hook can deny: the first deny ends the chain. A deny at any other event counts for nothing. */
const BLOCKING: ReadonlySet<HookEvent> = new Set<HookEvent>([...POINT_EVENTS, 'pre_request', 'pre_tool_use', 'subagent_start', 'handoff']);

/** True if a deny at this event prevents something. */
export function isBlocking(event: HookEvent): boolean {
  return BLOCKING.has(event);
}

/** True for the events about a tool or an agent, whose name a matcher is compared with. */
export function hasSubject(event: HookEvent): boolean {
  return event === 'pre_tool_use' || event === 'post_tool_use' || event.startsWith('subagent_') || event === 'handoff';
}

const SNAPSHOT_MEMBERS = {
  /** The name of the hook. */
  name: s.TEXT,
  /** The event at which it is called. */
  on: s.oneOf(...HOOK_EVENTS),
  /** The agent that has it. Absent: the worker has it, for all agents. */
  of: s.optional(s.TEXT),
  /** It runs in a separate activity. */
  tier: s.optional(s.constant('remote')),
  /** The time that it may take, in milliseconds. Absent: that of a hook that runs inside another activity. */
  timeoutMs: s.optional(s.DURATION),
  /** If it is called in a separate activity, a failure of the activity is a deny. */
  failClosed: s.optional(s.TRUE),
};

/** A hook as it is pinned for a run: enough to know the activities that need it. Its code is in the worker. */
export interface HookSnapshot extends s.ObjectOf<typeof SNAPSHOT_MEMBERS> {}
const HOOK_SNAPSHOT: s.Shape<HookSnapshot> = s.object(SNAPSHOT_MEMBERS);

/** The part of a snapshot that says which hooks a run has. */
interface WithHooks {
  hooks?: HookSnapshot[];
}

/** Returns the hooks of a run for some events. */
export function hooksFor({ hooks = [] }: WithHooks, ...events: readonly HookEvent[]): HookSnapshot[] {
  return hooks.filter(({ on }) => events.includes(on));
}

/** Returns the hooks of a run that run inside other activities, for some events. */
export function inlineHooks(run: WithHooks, ...events: readonly HookEvent[]): HookSnapshot[] {
  return hooksFor(run, ...events).filter(({ tier }) => tier !== 'remote');
}

/** Returns the hooks of a run that run in a separate activity, for some events. */
function remoteHooks(run: WithHooks, ...events: readonly HookEvent[]): HookSnapshot[] {
  return hooksFor(run, ...events).filter(({ tier }) => tier === 'remote');
}

/** The longest time of a hook that runs inside another activity, in milliseconds. */
export const INLINE_HOOK_MS = 10_000;

/** Returns the milliseconds that hooks may take inside one activity: those of one call follow each other, and calls are in parallel. */
export function hooksMs(hooks: readonly HookSnapshot[]): number {
  return hooks.reduce((sum, { timeoutMs = INLINE_HOOK_MS }) => sum + timeoutMs, 0);
}

/** The events of a run as a whole: their hooks belong to the agent that has them, and apply to no descendant. */
const OF_ONE_RUN: ReadonlySet<HookEvent> = new Set<HookEvent>(['session_start', ...POINT_EVENTS, 'stop', 'session_end']);

/** Returns the hooks that hold for the descendants of a run, too. */
export function inheritedHooks({ hooks = [] }: { hooks?: HookSnapshot[] }): HookSnapshot[] {
  return hooks.filter(({ on }) => !OF_ONE_RUN.has(on));
}

/** Returns the inherited hooks of a run and those of its agent, each once. */
export function joinedHooks(inherited: readonly HookSnapshot[], own: readonly HookSnapshot[]): HookSnapshot[] {
  return [
    ...inherited,
    ...own.filter((hook) => !inherited.some((one) => one.name === hook.name && one.of === hook.of && one.on === hook.on)),
  ];
}

/**
 * The answer of one hook, recorded with the result of the activity that it ran in. Hooks that plainly allowed leave none.
 * `failed`: it threw, was late, did not launch or answered something else than an answer.
 */
export interface HookRecord {
  /** The name of the hook. */
  hook: string;
  /** The event at which it was called. */
  on: HookEvent;
  /** What it answered. */
  answer: 'deny' | 'modify' | 'inject' | 'ask' | 'failed';
  /** The reason of a deny or of a question, the injected text, or the error. */
  text?: string;
  /** For a failure: true if it was taken for a deny (`failClosed`). */
  denied?: true;
  /** The call that it was about. */
  callId?: string;
}

/** What a record says about hooks: of a call, of a step, of a summary, of the start and the end of a run. */
export const HOOK_NOTES = {
  /** The answers of hooks that were not a plain allow. The `arguments` of a call are those that it ran with; those of the model are in the event. */
  hooks: s.optional(s.listOf(s.anyObject<HookRecord>())),
};

export interface HookNotes extends s.ObjectOf<typeof HOOK_NOTES> {}

/** What the snapshot of an agent says about hooks. */
export interface HooksOfSnapshot {
  /** The hooks of the run, by name and event. Absent: none. */
  hooks?: HookSnapshot[];
  /** The answers of the hooks at `session_start` that were not a plain allow. */
  hookRecords?: HookRecord[];
}

/** The hooks that a run passes on to those that it starts. */
export const HOOKS_OF_ANCESTORS = {
  /** The hooks of the ancestors: they hold for the child too. */
  hooks: s.optional(s.listOf(HOOK_SNAPSHOT)),
};

/** Bytes of JSON from which on the record may have only the beginning of what a hook has added. */
const CUT_BYTES = 480;

/** Returns the texts that hooks have added to the instructions of a request, as the record of its answer has them, and why others are missing there. */
export function addedInstructions(agent: WithHooks, response: HookNotes | undefined): { texts: string[]; missing: string[] } {
  if (response === undefined) {
    const asked = inlineHooks(agent, 'pre_request');
    return { texts: [], missing: asked.map(({ name }) => `what hook "${name}" adds is recorded with the answer, which is not there yet`) };
  }
  const added = (response.hooks ?? []).filter(({ on, answer }) => on === 'pre_request' && answer === 'inject');
  const isWhole = ({ text = '' }: HookRecord): boolean => jsonBytes(text) < CUT_BYTES;
  return {
    texts: added.filter(isWhole).flatMap(({ text }) => text ?? []),
    missing: added.filter((one) => !isWhole(one)).map(({ hook }) => `the record has only the beginning of what hook "${hook}" has added`),
  };
}

/**
 * Returns the hooks that review the calls of a response in a separate activity: those of tier `remote`. For a parallel flow, whose
 * calls come from no model call that could review them, all of them.
 */
export function hooksBeforeCalls(run: WithHooks & { flow?: { kind: string } }): HookSnapshot[] {
  return run.flow?.kind === 'parallel' ? hooksFor(run, ...CALL_EVENTS) : remoteHooks(run, ...CALL_EVENTS);
}

/** Returns the hooks for the result of a call that run in a separate activity: all, if it has run an agent, which has no activity. */
export function hooksAfterCall(run: WithHooks, { agent, handoff }: { agent?: object; handoff?: true }): HookSnapshot[] {
  if (handoff || run.hooks === undefined) return [];
  return agent === undefined ? remoteHooks(run, 'post_tool_use') : hooksFor(run, ...AFTER_CALL_EVENTS);
}

/** Returns the text of a call that a hook denied, for the model. */
export function deniedByHook(tool: string, reason: string | undefined): string {
  return `The call of '${tool}' was denied by a hook${reason === undefined || reason === '' ? '.' : `: ${reason}`}`;
}

/** Answer of the `hookedCalls` query: the response, with the arguments that its calls have by now. */
export interface HookedCalls {
  content: ContentItem[];
  problems?: Record<string, string>;
  approvals?: Record<string, ApprovalRequirement>;
}
