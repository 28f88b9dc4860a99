import { LonghaulError } from '../../core/domain/errors/error.ts';
import type { AnyAgent } from '../agent-definition.ts';

/** Returns the deps parsed by the agent's schema, defaults filled in. Throws `invalid_input` with the path of a value that does not fit. */
export function parseDeps(agent: AnyAgent, deps: unknown): unknown {
  if (agent.deps === undefined) return deps;
  const parsed = agent.deps.safeParse(deps);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${['deps', ...issue.path].join('.')}: ${issue.message}`);
  throw new LonghaulError('invalid_input', `The deps do not fit agent "${agent.name}": ${problems.join('; ')}`);
}
