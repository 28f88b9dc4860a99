import type { HookEvent } from './hook-event.ts';

/** A hook as it is pinned for a run: enough to know the activities that need it. Its code is in the worker. */
export interface HookSnapshot {
  name: string;
  on: HookEvent;
}

/** The part of a snapshot that says which hooks a run has. */
interface WithHooks {
  hooks?: HookSnapshot[];
}

/** Returns the names of the hooks of a run for some events. */
export function hookNames({ hooks = [] }: WithHooks, ...events: readonly HookEvent[]): string[] {
  return hooks.filter(({ on }) => events.includes(on)).map(({ name }) => name);
}
