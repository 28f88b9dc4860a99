import type { ToolDescription } from '../../../src/core/domain/agent/agent-snapshot.ts';
import type { ContentItem } from '../../../src/core/domain/content/content.ts';
import type { ModelRequest, RequestSettings } from '../../../src/core/domain/model/model.ts';
import type { OpenAICapabilities } from './capabilities.ts';
import { buildChatMessages } from './chat-messages.ts';

/** Returns the body of a Chat Completions request. Its keys have a fixed order: equal requests are equal bytes. */
export function chatRequest(request: ModelRequest, capabilities: OpenAICapabilities): Record<string, unknown> {
  const { model, instructions, conversation, tools, output, settings } = request;
  const contents: ContentItem[] = [];
  for (const event of conversation) contents.push(...event.content);
  return {
    model,
    messages: buildChatMessages(instructions, contents, capabilities.developerRole ? 'developer' : 'system'),
    ...(tools.length > 0 ? toolFields(tools, settings, capabilities) : {}),
    ...(output !== undefined && capabilities.structuredOutput ? { response_format: responseFormat(output, capabilities) } : {}),
    ...samplingFields(settings, capabilities),
    ...(capabilities.streaming ? { stream: true } : {}),
    ...(capabilities.streaming && capabilities.streamUsage ? { stream_options: { include_usage: true } } : {}),
    ...settings.extra,
  };
}

function toolFields(tools: ToolDescription[], settings: RequestSettings, capabilities: OpenAICapabilities): Record<string, unknown> {
  const { toolChoice, parallelToolCalls } = settings;
  return {
    tools: tools.map(({ name, description, parameters, strict }) => ({
      type: 'function',
      function: { name, description, parameters, ...(capabilities.strictSchema ? { strict } : {}) },
    })),
    ...(toolChoice === undefined
      ? {}
      : { tool_choice: typeof toolChoice === 'string' ? toolChoice : { type: 'function', function: { name: toolChoice.tool } } }),
    ...(parallelToolCalls !== undefined && capabilities.parallelTools ? { parallel_tool_calls: parallelToolCalls } : {}),
  };
}

function responseFormat(output: NonNullable<ModelRequest['output']>, capabilities: OpenAICapabilities): Record<string, unknown> {
  const { name, schema, strict } = output;
  return { type: 'json_schema', json_schema: { name, schema, ...(capabilities.strictSchema ? { strict } : {}) } };
}

function samplingFields(settings: RequestSettings, capabilities: OpenAICapabilities): Record<string, unknown> {
  const { temperature, maxOutputTokens, reasoningEffort } = settings;
  const limit = capabilities.maxCompletionTokens ? 'max_completion_tokens' : 'max_tokens';
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { [limit]: maxOutputTokens }),
    ...(reasoningEffort !== undefined && capabilities.reasoning ? { reasoning_effort: reasoningEffort } : {}),
  };
}
