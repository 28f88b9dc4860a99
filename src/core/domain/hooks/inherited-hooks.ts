import type { HookEvent } from './hook-event.ts';
import type { HookSnapshot } from './hook-snapshot.ts';

/** The events of a run as a whole: their hooks belong to the agent that has them, and hold for no run below. */
const OF_ONE_RUN: ReadonlySet<HookEvent> = new Set<HookEvent>(['session_start', 'stop', 'session_end']);

/** Returns the hooks that hold for the runs below a run, too. */
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
