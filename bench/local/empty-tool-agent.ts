import { z } from 'zod';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { defineAgent } from '../../src/define/define-agent.ts';
import { defineTool } from '../../src/define/define-tool.ts';
import type { ModelName } from '../../src/core/domain/model.ts';
import { INSTRUCTIONS, TOOL_DESCRIPTION, TOOL_NAME } from '../script/scripted-run.ts';

/**
 * An agent whose local tool has no arguments, does nothing and returns nothing, like the empty activity: the time between two
 * calls is their cost. The tool reports when it begins.
 */
export function emptyToolAgent(model: ModelName, begins: (runId: string) => void): AnyAgent {
  return defineAgent({
    name: 'empty_tool',
    model,
    parallel: false,
    instructions: INSTRUCTIONS,
    tools: [
      defineTool({
        name: TOOL_NAME,
        description: TOOL_DESCRIPTION,
        parameters: z.object({}),
        tier: 'local',
        execute: (_, { runId }) => begins(runId),
      }),
    ],
  });
}
