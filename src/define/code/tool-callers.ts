import type { ToolCaller } from '../../core/domain/agent.ts';
import { UsageError } from '../../core/domain/errors.ts';

const CALLERS: readonly unknown[] = ['model', 'code'] satisfies ToolCaller[];

/** Returns the callers of a tool; none if both may call it, as without the option. Throws a UsageError for a list that cannot work. */
export function toolCallers(owner: string, callers: readonly ToolCaller[] | undefined): { callers?: readonly ToolCaller[] } {
  if (callers === undefined) return {};
  if (!Array.isArray(callers) || callers.length === 0 || !callers.every((caller) => CALLERS.includes(caller))) {
    throw new UsageError(`${owner}: "callers" is ${JSON.stringify(callers)}: write ["model"], ["code"] or both`);
  }
  const [only, ...others] = new Set<ToolCaller>(callers);
  return only === undefined || others.length > 0 ? {} : { callers: Object.freeze([only]) };
}
