import type { ToolSnapshot } from '../agent/agent-snapshot.ts';
import { DEFAULT_POLICY } from '../agent/tool-policy.ts';
import type { JsonObject } from '../json/json.ts';
import { TRANSFER_TO_AGENT } from './handoff-policy.ts';

/** An agent that takes over, as the model reads of it. */
export interface TransferTarget {
  name: string;
  description?: string | undefined;
}

/** Returns the tool by which the model hands the run over to one of these agents. Code does not call it. */
export function transferTool(targets: readonly TransferTarget[]): ToolSnapshot {
  const parameters = parametersOf(targets);
  return {
    name: TRANSFER_TO_AGENT,
    description: [
      'Transfers the conversation to another agent, which goes on with it from here and answers in your place. Call it alone, once. The agents:',
      ...targets.map(({ name, description }) => (description === undefined ? `- ${name}` : `- ${name}: ${description}`)),
    ].join('\n'),
    parameters,
    strict: false,
    schema: parameters,
    parallel: true,
    timeoutMs: DEFAULT_POLICY.timeoutMs,
    maxAttempts: DEFAULT_POLICY.maxAttempts,
    callers: ['model'],
    handoff: true,
  };
}

function parametersOf(targets: readonly TransferTarget[]): JsonObject {
  return {
    type: 'object',
    properties: {
      agent: { type: 'string', enum: targets.map(({ name }) => name), description: 'The name of the agent that takes over.' },
      reason: { type: 'string', description: 'Why it takes over, and what it should do.' },
    },
    required: ['agent'],
    additionalProperties: false,
  };
}
