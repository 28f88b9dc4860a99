import type { AnyAgent } from '../define/agent-definition.ts';
import { loadInMemory } from './load-in-memory.ts';
import type { TestedRunOf, TestOptions } from './tested-run.ts';

/**
 * Runs an agent in memory, without a server and in milliseconds. The loop, the activities and the policies are those of
 * a worker; time is virtual whenever nothing runs. Returns the result and record of the run, for every status. Throws if
 * the run cannot start, waits for a decision that the test does not make, or ends before a planned fault or message, and
 * if the model's script ran out or was not used up. Needs the package `@temporalio/testing`.
 *
 * @example
 * const { result, steps } = await testAgent(clerk, {
 *   input: 'Where is order 42?',
 *   model: scriptedModel([callTool('look_up_order', { order: 42 }), say('It is on its way.')]),
 * });
 */
export async function testAgent<Agent extends AnyAgent>(agent: Agent, options: TestOptions<Agent>): Promise<TestedRunOf<Agent>> {
  // Loaded on use: a test that needs only a scripted model loads none of this.
  const { runInMemory } = await loadInMemory(() => import('./memory/run-in-memory.ts'));
  return runInMemory(agent, options) as Promise<TestedRunOf<Agent>>;
}
