import { z } from 'zod';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import { agentTool, defineAgent, defineTool, type RunContext } from '../../../src/index.ts';
import { ofTopRun } from '../points/points.ts';
import type { Act } from '../processes/ledger.ts';

/** The name of the agent at the root of the tree. */
export const CHIEF = 'chief';

/** The tools that wait for an approval, with the ids of their calls: one in the root, one in a descendant. */
export const PUBLISH = { tool: 'publish', callId: 'p1' };
export const REFUND = { tool: 'refund', callId: 'f1' };

/** The effects of the tree, by the run and the call. */
export const EFFECTS: readonly string[] = [
  'note n1',
  'publish p1',
  'researcher.1.1: search s1',
  'researcher.1.2: search s1',
  'cashier.3.0: refund f1',
  'manager.3.1/researcher.1.0: search s1',
];

const MODEL = 'delegation/scripted';

/** Attempts that are lost with their worker are made again soon. */
const TRIED_OFTEN = { maxAttempts: 10, backoff: { initial: 50 } };

/** An agent that delegates to two others at once; one of them delegates further. `act` records the effect of a tool. */
export function delegation(act: (act: Act) => void): AnyAgent {
  const made = (name: string, special: { approval?: 'always' } = {}) =>
    defineTool({
      name,
      description: `Does ${name}`,
      parameters: z.object({}),
      ...TRIED_OFTEN,
      ...special,
      execute: (_args, context: RunContext) => {
        const { runId, point: effect } = ofTopRun(context.runId, `${name} ${context.callId}`);
        act({ runId, effect, key: context.idempotencyKey });
        return `${name}: done`;
      },
    });
  const researcher = defineAgent({ name: 'researcher', model: MODEL, tools: [made('search')] });
  const cashier = defineAgent({ name: 'cashier', model: MODEL, tools: [made(REFUND.tool, { approval: 'always' })] });
  const manager = defineAgent({ name: 'manager', model: MODEL, tools: [agentTool(researcher)] });
  return defineAgent({
    name: CHIEF,
    model: MODEL,
    limits: { totalTokens: 10_000 },
    tools: [
      made('note'),
      made(PUBLISH.tool, { approval: 'always' }),
      agentTool(researcher, { limits: { totalTokens: 500 } }),
      agentTool(cashier),
      agentTool(manager),
    ],
  });
}
