import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { AnyTool } from '../../src/define/tools/tool-definition.ts';
import type { Resources } from '../../src/define/context/run-context.ts';
import { ResourcePool } from './resource-pool.ts';
import type { SecretVault } from '../secrets/secret-vault.ts';

/** The parts of a worker that its resources need. */
export interface WorkerResourceOptions {
  agents: readonly AnyAgent[];
  /** The tools that steps of programs call. */
  programTools: readonly AnyTool[];
  secrets: SecretVault;
  log: (line: string) => void;
}

/** Creates the resources of a worker. Throws a UsageError for a tool that needs a resource which the worker does not have. */
export function workerResources(resources: Resources, { agents, programTools, secrets, log }: WorkerResourceOptions): ResourcePool {
  const pool = new ResourcePool(resources, {
    secret: (nameOrReference) => secrets.resolve(nameOrReference),
    redact: (text) => secrets.redact(text),
    log,
  });
  for (const agent of agents) {
    for (const { name, resources: needed = [] } of agent.tools) pool.require(`tool "${name}" of agent "${agent.name}"`, needed);
  }
  for (const { name, resources: needed = [] } of programTools) pool.require(`tool "${name}" of programs`, needed);
  return pool;
}
