import type { AnyAgent } from '../define/agent-definition.ts';
import type { TestedRunOf, TestOptions } from './tested-run.ts';

/**
 * Runs an agent in memory, without a server and in milliseconds: the loop, the activities and the policies are those of
 * a worker, time is virtual wherever nothing runs. Gives what came of it, for every status. Throws where the run cannot
 * start, where it waits for what nobody decides, where something planned did not happen, and where the script of the
 * model ran out or was not used up.
 *
 * @example
 * const { result, steps } = await testAgent(clerk, {
 *   input: 'Where is order 42?',
 *   model: scriptedModel([callTool('look_up_order', { order: 42 }), say('It is on its way.')]),
 * });
 */
export async function testAgent<Agent extends AnyAgent>(agent: Agent, options: TestOptions<Agent>): Promise<TestedRunOf<Agent>> {
  // What runs agents is loaded when it is needed: a scripted model alone needs none of it.
  const { runInMemory } = await import('./memory/run-in-memory.ts');
  return runInMemory(agent, options) as Promise<TestedRunOf<Agent>>;
}
