import type { z } from 'zod';
import { LonghaulError } from '../../core/domain/errors/error.ts';
import type { AnyAgent } from '../agent-definition.ts';

/** Returns the deps parsed by the agent's schema, defaults filled in. Throws `invalid_input` with the path of a value that does not fit. */
export function parseDeps(agent: AnyAgent, deps: unknown): unknown {
  if (agent.deps === undefined) return deps;
  const parsed = agent.deps.safeParse(deps);
  if (parsed.success) return parsed.data;
  throw new LonghaulError('invalid_input', `The deps do not fit agent "${agent.name}": ${issuesText('deps', parsed.error)}`);
}

/** Returns what does not fit a schema, each value with its path below `root`. */
export function issuesText(root: string, { issues }: Pick<z.ZodError, 'issues'>): string {
  return issues.map((issue) => `${[root, ...issue.path].join('.')}: ${issue.message}`).join('; ');
}
