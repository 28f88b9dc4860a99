import type { ToolDescription } from '../../../src/core/domain/agent/agent-snapshot.ts';
import type { ModelRequest, RequestSettings } from '../../../src/core/domain/model/model.ts';
import { givesEncryptedReasoning, type OpenAICapabilities } from './capabilities.ts';
import { buildResponsesInput } from './responses-input.ts';

/**
 * Returns the body of a Responses request. The provider stores nothing: the history of the run is the only state, so
 * that retries and forks see the same conversation. Its keys have a fixed order: equal requests are equal bytes.
 */
export function responsesRequest(request: ModelRequest, capabilities: OpenAICapabilities): Record<string, unknown> {
  const { model, instructions, conversation, tools, output, settings } = request;
  const { temperature, maxOutputTokens, reasoningEffort, extra } = settings;
  return {
    model,
    input: buildResponsesInput(instructions, conversation, capabilities.developerRole ? 'developer' : 'system'),
    ...(tools.length > 0 ? toolFields(tools, settings, capabilities) : {}),
    ...(output !== undefined && capabilities.structuredOutput ? { text: { format: answerFormat(output, capabilities) } } : {}),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { max_output_tokens: maxOutputTokens }),
    ...(reasoningEffort !== undefined && capabilities.reasoning ? { reasoning: { effort: reasoningEffort } } : {}),
    store: false,
    ...(givesEncryptedReasoning(capabilities, model) ? { include: ['reasoning.encrypted_content'] } : {}),
    ...(capabilities.streaming ? { stream: true } : {}),
    ...extra,
  };
}

function toolFields(tools: ToolDescription[], settings: RequestSettings, capabilities: OpenAICapabilities): Record<string, unknown> {
  const { toolChoice, parallelToolCalls } = settings;
  return {
    tools: tools.map(({ name, description, parameters, strict }) => ({
      type: 'function',
      name,
      description,
      parameters,
      // The default here is true, unlike in Chat Completions.
      strict: strict && capabilities.strictSchema,
    })),
    ...(toolChoice === undefined
      ? {}
      : { tool_choice: typeof toolChoice === 'string' ? toolChoice : { type: 'function', name: toolChoice.tool } }),
    ...(parallelToolCalls !== undefined && capabilities.parallelTools ? { parallel_tool_calls: parallelToolCalls } : {}),
  };
}

function answerFormat(output: NonNullable<ModelRequest['output']>, capabilities: OpenAICapabilities): Record<string, unknown> {
  const { name, schema, strict } = output;
  return { type: 'json_schema', name, schema, strict: strict && capabilities.strictSchema };
}
