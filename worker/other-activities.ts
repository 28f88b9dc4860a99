import { UsageError } from '../src/core/domain/errors/error.ts';
import type { DefaultActivity } from '../activities/default-activity.ts';

/** The activities that a worker has beside Longhaul's. */
export interface OtherActivities {
  /** Their names, without the default one. */
  names: string[];
  /** What gets the calls of all others, where the worker has that; `kept` where nothing else may get them before. */
  fallback: DefaultActivity | 'kept' | undefined;
}

/**
 * The activities of a worker, told apart. Throws a UsageError for a `default` activity with a definition of its own
 * (converters of its input) where Longhaul has to share it: what comes in is not for it alone then. Elsewhere it is kept, and
 * gets the calls of tools that the worker lacks.
 */
export function otherActivities(activities: object = {}, isShared: boolean): OtherActivities {
  const names = Object.keys(activities).filter((name) => name !== 'default');
  const fallback: unknown = 'default' in activities ? activities.default : undefined;
  if (typeof fallback !== 'function') return { names, fallback: undefined };
  if ('activityDefinitionOptions' in fallback) {
    if (!isShared) return { names, fallback: 'kept' };
    throw new UsageError(
      'the worker has a "default" activity with definition options, and agents with MCP servers, whose calls come to the default activity too: take the options out, or run these agents in a worker of their own',
    );
  }
  return { names, fallback: (...args: unknown[]): unknown => Reflect.apply(fallback, activities, args) };
}
