import type { ToolDescription } from '../../../src/core/domain/agent/agent-snapshot.ts';
import type { ModelRequest, RequestSettings } from '../../../src/core/domain/model/model.ts';
import type { OpenAICapabilities } from './capabilities.ts';
import { conversationMessages } from './chat-messages.ts';
import { withinRules } from './request-rules.ts';

/** Returns the body of a Chat Completions request. Its keys have a fixed order: equal requests are equal bytes. */
export function chatRequest(request: ModelRequest, capabilities: OpenAICapabilities): Record<string, unknown> {
  const { model, instructions, conversation, tools, output, settings } = request;
  const body = {
    model,
    messages: conversationMessages(instructions, conversation, capabilities.developerRole ? 'developer' : 'system'),
    ...(tools.length > 0 ? toolFields(tools, settings) : {}),
    ...(output === undefined ? {} : { response_format: { type: 'json_schema', json_schema: schemaOf(output) } }),
    ...samplingFields(settings),
    stream: true,
    stream_options: { include_usage: true },
  };
  return { ...withinRules('chat', body, capabilities), ...settings.extra };
}

function toolFields(tools: ToolDescription[], settings: RequestSettings): Record<string, unknown> {
  const { toolChoice, parallelToolCalls } = settings;
  return {
    tools: tools.map(({ name, description, parameters, strict }) => ({
      type: 'function',
      function: { name, description, parameters, strict },
    })),
    ...(toolChoice === undefined
      ? {}
      : { tool_choice: typeof toolChoice === 'string' ? toolChoice : { type: 'function', function: { name: toolChoice.tool } } }),
    ...(parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls }),
  };
}

function schemaOf({ name, schema, strict }: NonNullable<ModelRequest['output']>): Record<string, unknown> {
  return { name, schema, strict };
}

function samplingFields({ temperature, maxOutputTokens, reasoningEffort }: RequestSettings): Record<string, unknown> {
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { max_completion_tokens: maxOutputTokens }),
    ...(reasoningEffort === undefined ? {} : { reasoning_effort: reasoningEffort }),
  };
}
