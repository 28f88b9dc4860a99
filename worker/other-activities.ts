import { UsageError } from '../src/core/domain/errors/error.ts';
import type { DefaultActivity } from '../activities/tool-calls/default-activity.ts';

/** The worker's own activities, beside Longhaul's. */
export interface OtherActivities {
  /** Their names, without `default`. */
  names: string[];
  /** The worker's own default activity, if it has one; `kept` if it must be registered unchanged. */
  fallback: DefaultActivity | 'kept' | undefined;
}

/**
 * Separates the worker's own activities from its default activity. Throws a UsageError for a `default` activity with
 * definition options (converters of its input) if Longhaul has to share it, because other calls would then pass through
 * those options. If it need not be shared, it is kept, and receives calls of tools that the worker lacks.
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
