import { z } from 'zod';
import { mayCall } from '../../src/core/code/callers.ts';
import type { AgentDocument } from '../../src/core/domain/agent/agent-document.ts';
import { modelName } from '../../src/core/domain/agent/model-name.ts';
import { DEFAULT_STEPS } from '../../src/core/domain/agent/limits.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { JsonObject } from '../../src/core/domain/json/json.ts';
import type { AnyAgent, OutputDefinition } from '../../src/define/agent-definition.ts';
import type { AnyTool } from '../../src/define/tools/tool-definition.ts';
import { portableSchema } from '../../src/schema/portable-schema.ts';
import { isObjectSchema, toStrictJsonSchema, toStrictPart } from '../../src/schema/strict-json-schema.ts';
import { ASK_ATTEMPTS, ASK_TIMEOUT_MS } from '../programs/program-snapshot.ts';
import type { ActivityRuntime } from '../runtime.ts';

/**
 * Returns the agent that a document describes, with the tools that this worker has for programs. Throws `unknown_tool`: another
 * worker may have the tool, unless the program is lenient, whose steps may name tools that no worker has.
 */
export function documentAgent({ programs, registry }: ActivityRuntime, name: string, document: AgentDocument): AnyAgent {
  const { model, instructions, settings = {}, output, lenient } = document;
  const tools = document.tools.map((toolName): AnyTool => {
    const tool = programs.tool(toolName);
    if (tool !== undefined && mayCall('model', tool)) return tool;
    if (tool !== undefined) {
      throw new LonghaulError(
        'invalid_agent',
        `Step "${document.step}" names the tool "${toolName}", which only code may call: steps run no code`,
      );
    }
    const missing = registry.missingTool({ agentName: name, ofProgram: true }, toolName);
    throw lenient ? new LonghaulError('unknown_tool', missing.message) : missing;
  });
  return {
    kind: 'longhaul.agent',
    name,
    model: modelName(`step "${document.step}"`, model),
    instructions,
    tools,
    onUnknownOutcome: 'tell',
    ...(output === undefined ? {} : { output: outputOf(output) }),
    settings,
    window: {},
    limits: { steps: DEFAULT_STEPS, finalAttempt: false },
    parallel: true,
    modelTimeoutMs: ASK_TIMEOUT_MS,
    modelMaxAttempts: ASK_ATTEMPTS,
  };
}

/** Returns the structured answer of a step. One that does not fit is not sent back to the model: the step is tried again if its `refine` says so. */
function outputOf(schema: JsonObject): OutputDefinition {
  const isObject = isObjectSchema(schema);
  const strict = isObject ? toStrictJsonSchema(schema) : toStrictPart(schema);
  return {
    zod: z.unknown(),
    schema,
    providerSchema: strict.strict ? strict.schema : portableSchema(schema),
    strict: strict.strict,
    mode: isObject ? undefined : 'final_answer',
    maxRetries: 0,
  };
}
