/** The named points of a run at which hooks are called. */
export const HOOK_EVENTS = [
  'session_start',
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

/** A named point of a run at which hooks are called. */
export type HookEvent = (typeof HOOK_EVENTS)[number];

/** The events about the calls of a response, before they start. */
export const CALL_EVENTS = ['pre_tool_use', 'subagent_start', 'handoff'] as const satisfies readonly HookEvent[];

/** The events whose hooks run in the activity of a model call. */
export const MODEL_CALL_EVENTS = ['pre_request', 'post_response', ...CALL_EVENTS] as const satisfies readonly HookEvent[];

/** The events whose hooks run in an activity after an agent that a call has run. */
export const AFTER_CALL_EVENTS = ['post_tool_use', 'subagent_stop'] as const satisfies readonly HookEvent[];

/** The events whose hooks run in an activity at the end of a run. */
export const END_EVENTS = ['stop', 'session_end'] as const satisfies readonly HookEvent[];

/** The events that a hook can deny: the first deny ends the chain. A deny at any other event counts for nothing. */
const BLOCKING: ReadonlySet<HookEvent> = new Set<HookEvent>(['pre_request', 'pre_tool_use', 'subagent_start', 'handoff']);

/** True if a deny at this event prevents something. */
export function isBlocking(event: HookEvent): boolean {
  return BLOCKING.has(event);
}

/** True for the events about a tool or an agent, whose name a matcher is compared with. */
export function hasSubject(event: HookEvent): boolean {
  return event === 'pre_tool_use' || event === 'post_tool_use' || event.startsWith('subagent_') || event === 'handoff';
}
