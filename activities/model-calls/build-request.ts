import type { AgentSnapshot, OutputSnapshot, ToolDescription } from '../../src/core/domain/agent/agent-snapshot.ts';
import { patchDangling } from '../../src/core/domain/record/dangling.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import type { ConversationEvent, ModelRequest } from '../../src/core/domain/model/model.ts';
import { FINAL_ANSWER } from '../../src/core/domain/content/tool-text.ts';

/** What the model is told in the attempt after the step limit. */
const LAST_WORDS = 'Return your best final answer now.';

/**
 * The request of one model call: a function of the snapshot and the conversation alone, so that it is the same wherever
 * it is built. The loop answers every call that it records; whatever has kept it from that must not be what a provider
 * refuses the whole conversation for.
 */
export function buildRequest(snapshot: AgentSnapshot, conversation: ConversationEvent[], final: boolean): ModelRequest {
  const { output, settings } = snapshot;
  const tools = final ? [] : [...snapshot.tools.map(describe), ...(output?.mode === 'final_answer' ? [finalAnswerTool(output)] : [])];
  const toolChoice = settings.toolChoice ?? (output?.mode === 'final_answer' ? 'required' : 'auto');
  const { toolChoice: _, ...rest } = settings;
  const answered = patchDangling(conversation);
  return {
    model: snapshot.model.slice(snapshot.model.indexOf('/') + 1),
    instructions: snapshot.instructions,
    conversation: final ? [...answered, lastWords()] : answered,
    tools,
    ...(output?.mode === 'schema' ? { output: { name: 'answer', schema: output.providerSchema, strict: output.strict } } : {}),
    settings: {
      ...rest,
      ...(final ? { temperature: 0 } : {}),
      ...(tools.length > 0 ? { toolChoice } : {}),
    },
  };
}

function describe({ name, description, parameters, strict }: ToolDescription): ToolDescription {
  return { name, description, parameters, strict };
}

function lastWords(): ConversationEvent {
  return { author: 'user', content: [{ type: 'message', role: 'user', content: LAST_WORDS }] };
}

/** The tool through which a structured answer comes where the provider cannot enforce a schema (seed 000). */
function finalAnswerTool(output: OutputSnapshot): ToolDescription {
  return {
    name: FINAL_ANSWER,
    description: 'Give the final answer. Call this once you are done.',
    parameters: {
      type: 'object',
      properties: { output: rebase(output.providerSchema) },
      required: ['output'],
      additionalProperties: false,
    },
    strict: output.strict,
  };
}

/** A schema moved below `properties.output`: references from its root have to follow it. */
function rebase(schema: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, key === '$ref' ? rebasedReference(value) : rebaseValue(value)]),
  );
}

function rebaseValue(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(rebaseValue);
  return isJsonObject(value) ? rebase(value) : value;
}

function rebasedReference(reference: JsonValue): JsonValue {
  return typeof reference === 'string' && reference.startsWith('#') ? `#/properties/output${reference.slice(1)}` : reference;
}
