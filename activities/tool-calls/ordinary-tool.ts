import { z } from 'zod';
import { DEFAULT_POLICY } from '../../src/core/domain/agent.ts';
import { BYTE_BUDGETS } from '../../src/core/domain/byte-budgets.ts';
import type { AnyTool } from '../../src/define/tool-definition.ts';

/**
 * Returns a tool that no user has defined as an ordinary tool: its calls are recorded, limited, approved and redacted in the same way. The
 * snapshot of the run has its description and its schema, which the arguments fit.
 */
export function ordinaryTool(name: string, execute: AnyTool['execute']): AnyTool {
  return {
    kind: 'longhaul.tool',
    name,
    description: '',
    parameters: z.looseObject({}),
    schema: {},
    providerSchema: {},
    strict: false,
    parallel: true,
    policy: { timeoutMs: DEFAULT_POLICY.timeoutMs, maxAttempts: DEFAULT_POLICY.maxAttempts },
    retryOn: 'any',
    maxResultBytes: BYTE_BUDGETS.toolResult,
    overflow: 'cut',
    execute,
  };
}
