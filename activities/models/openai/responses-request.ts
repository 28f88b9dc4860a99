import type { ToolDescription } from '../../../src/core/domain/agent/agent-snapshot.ts';
import type { ModelRequest, RequestSettings } from '../../../src/core/domain/model/model.ts';
import { givesEncryptedReasoning, type OpenAICapabilities } from './capabilities.ts';
import { withinRules } from './request-rules.ts';
import { buildResponsesInput } from './responses-input.ts';

/**
 * Returns the body of a Responses request. The provider stores nothing: the history of the run is the only state, so
 * that retries and forks see the same conversation. Its keys have a fixed order: equal requests are equal bytes.
 */
export function responsesRequest(request: ModelRequest, capabilities: OpenAICapabilities): Record<string, unknown> {
  const { model, instructions, conversation, tools, output, settings } = request;
  const { temperature, maxOutputTokens, reasoningEffort, extra } = settings;
  const body = {
    model,
    input: buildResponsesInput(instructions, conversation, capabilities.developerRole ? 'developer' : 'system'),
    ...(tools.length > 0 ? toolFields(tools, settings) : {}),
    ...(output === undefined ? {} : { text: { format: answerFormat(output) } }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { max_output_tokens: maxOutputTokens }),
    ...(reasoningEffort === undefined ? {} : { reasoning: { effort: reasoningEffort } }),
    store: false,
    ...(givesEncryptedReasoning(model) ? { include: ['reasoning.encrypted_content'] } : {}),
    stream: true,
  };
  return { ...withinRules('responses', body, capabilities), ...extra };
}

function toolFields(tools: ToolDescription[], settings: RequestSettings): Record<string, unknown> {
  const { toolChoice, parallelToolCalls } = settings;
  return {
    tools: tools.map(({ name, description, parameters, strict }) => ({ type: 'function', name, description, parameters, strict })),
    ...(toolChoice === undefined
      ? {}
      : { tool_choice: typeof toolChoice === 'string' ? toolChoice : { type: 'function', name: toolChoice.tool } }),
    ...(parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls }),
  };
}

function answerFormat({ name, schema, strict }: NonNullable<ModelRequest['output']>): Record<string, unknown> {
  return { type: 'json_schema', name, schema, strict };
}
