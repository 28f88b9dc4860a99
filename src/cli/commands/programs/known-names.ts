import { BUILT_IN_ANCHORS } from '../../../anchors/built-in-anchors.ts';
import type { KnownNames } from '../../../core/program/check/values/known-names.ts';
import type { AgentsModule } from '../../serve/agents-module.ts';

/** The provider that a worker has if its module exports none. */
const DEFAULT_PROVIDERS = ['openai'];

/** Returns the names that a worker with this module has. */
export function namesOfModule({ agents, programs, tools, anchors, providers, memory }: AgentsModule): KnownNames {
  return {
    tools: [...new Set([...tools, ...programs.flatMap((one) => one.tools)])],
    agents: [...new Set([...agents, ...programs.flatMap((one) => one.agents)])],
    programs: [...programs, ...programs.flatMap((one) => one.programs)].map((one) => one.toJSON()),
    anchors: [...BUILT_IN_ANCHORS, ...anchors],
    providers: providers === undefined ? DEFAULT_PROVIDERS : Object.keys(providers),
    hasMemory: memory !== undefined,
  };
}
