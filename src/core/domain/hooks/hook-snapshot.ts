import type { HookEvent } from './hook-event.ts';

/** A hook as it is pinned for a run: enough to know the activities that need it. Its code is in the worker. */
export interface HookSnapshot {
  name: string;
  on: HookEvent;
  /** The agent that has it. Absent: the worker has it, for all agents. */
  of?: string;
  /** It runs in an activity of its own. */
  tier?: 'remote';
  /** The time that it may take, in milliseconds. Absent: that of a hook that runs inside another activity. */
  timeoutMs?: number;
  /** If it is called in an activity of its own, a failure of the activity is a deny. */
  failClosed?: true;
}

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

/** Returns the hooks of a run that run in an activity of their own, for some events. */
export function remoteHooks(run: WithHooks, ...events: readonly HookEvent[]): HookSnapshot[] {
  return hooksFor(run, ...events).filter(({ tier }) => tier === 'remote');
}

/** The longest time of a hook that runs inside another activity, in milliseconds. */
export const INLINE_HOOK_MS = 10_000;

/** Returns the milliseconds that hooks may take inside one activity: those of one call follow each other, and calls are beside each other. */
export function hooksMs(hooks: readonly HookSnapshot[]): number {
  return hooks.reduce((sum, { timeoutMs = INLINE_HOOK_MS }) => sum + timeoutMs, 0);
}
