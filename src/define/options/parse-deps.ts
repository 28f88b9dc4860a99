import type { z } from 'zod';
import { LonghaulError } from '../../core/domain/errors.ts';
import { isJsonObject } from '../../core/domain/json.ts';
import type { AnyAgent } from '../agent-definition.ts';

/** Returns the deps parsed by the agent's schema, defaults filled in. Throws `invalid_input` with the path of a value that is missing or does not fit. */
export function parseDeps(agent: AnyAgent, deps: unknown): unknown {
  if (agent.deps === undefined) return deps;
  const parsed = agent.deps.safeParse(deps);
  if (parsed.success) return parsed.data;
  throw new LonghaulError('invalid_input', `The deps do not fit agent "${agent.name}": ${depsIssues(deps, parsed.error)}`);
}

/** Returns what does not fit. A value that is missing is named as the option of the start that lacks it. */
function depsIssues(deps: unknown, { issues }: z.ZodError): string {
  const missing = issues.filter(({ path }) => isMissing(deps, path));
  const texts = issues.map(
    ({ path, message }) => `${['deps', ...path].join('.')}${isMissing(deps, path) ? ' is missing' : `: ${message}`}`,
  );
  const names = [...new Set(missing.flatMap(({ path }) => path.slice(0, 1)))].map((name) => `${String(name)}: …`);
  return `${texts.join('; ')}${names.length === 0 ? '' : `. Start it with { deps: { ${names.join(', ')} } }`}`;
}

/** True if a value has nothing at a path whose parent it has. */
function isMissing(value: unknown, path: readonly PropertyKey[]): boolean {
  if (path.length === 0) return value === undefined;
  const [name, ...rest] = path;
  const member: unknown = isJsonObject(value) ? value[String(name)] : undefined;
  return member === undefined ? rest.length === 0 : isMissing(member, rest);
}

/** Returns what does not fit a schema, each value with its path below `root`. */
export function issuesText(root: string, { issues }: Pick<z.ZodError, 'issues'>): string {
  return issues.map((issue) => `${[root, ...issue.path].join('.')}: ${issue.message}`).join('; ');
}
