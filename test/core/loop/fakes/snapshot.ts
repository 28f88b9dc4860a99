// oxlint-disable-next-line import/no-unassigned-import -- it composes the capabilities, which a run of a snapshot has.
import '../../../../src/core/capabilities.ts';
import type { AgentSnapshot, ToolSnapshot } from '../../../../src/core/domain/agent.ts';

/** The snapshot of an agent "a" whose parts a test overrides. */
export function testSnapshot(changes: Partial<AgentSnapshot> = {}): AgentSnapshot {
  return {
    version: 1,
    name: 'a',
    instructions: [],
    model: 'scripted/model',
    tools: [],
    parallel: true,
    settings: {},
    limits: { steps: 10, finalAttempt: false },
    timing: { heartbeatMs: 5_000, modelTimeoutMs: 60_000, modelMaxAttempts: 1 },
    searchAttributes: false,
    digest: 'digest',
    ...changes,
  };
}

/** The snapshot of a tool that takes any object. */
export function testTool(name: string, changes: Partial<ToolSnapshot> = {}): ToolSnapshot {
  const schema = { type: 'object' };
  return { name, description: '', parameters: schema, strict: false, schema, parallel: true, timeoutMs: 1_000, maxAttempts: 1, ...changes };
}
