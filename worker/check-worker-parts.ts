import type { RuntimeOptions } from '../activities/create-runtime.ts';
import { requireKnown } from '../src/define/options/option-checks.ts';
import { UsageError } from '../src/core/domain/errors/error.ts';
import type { Versioning } from './versioning.ts';

/** The parts of every worker that runs agents. */
interface WorkerParts extends Partial<Pick<RuntimeOptions, 'agents' | 'providers'>> {
  versioning?: Versioning;
}

/** Throws a UsageError for invalid agents and providers: in JavaScript no type check reports them. */
export function checkWorkerParts(owner: string, { agents, providers, versioning }: WorkerParts): void {
  if (!Array.isArray(agents)) throw new UsageError(`${owner}: "agents" is ${shown(agents)}: write a list of what defineAgent returned`);
  for (const agent of agents as readonly unknown[]) {
    if (kindOf(agent) === 'longhaul.agent') continue;
    throw new UsageError(`${owner}: "agents" has an element that is not an agent: create it with defineAgent`);
  }
  if (typeof providers !== 'object' || providers === null) {
    throw new UsageError(`${owner}: "providers" is ${shown(providers)}: write model clients by name, such as {openai: openai()}`);
  }
  for (const [name, client] of Object.entries(providers)) {
    if (typeof (client as { call?: unknown } | null)?.call === 'function') continue;
    throw new UsageError(
      `${owner}: "providers.${name}" is not a model client: write openai({…}), or an object with "call" and "capabilities"`,
    );
  }
  if (versioning !== undefined) requireKnown(`${owner}: "versioning"`, versioning, ['deploymentName', 'buildId', 'behavior']);
}

function kindOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined;
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : typeof value === 'function' ? 'a function' : JSON.stringify(value);
}
