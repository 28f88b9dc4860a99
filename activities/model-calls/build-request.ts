import type { AgentSnapshot, OutputSnapshot, PlainToolChoice, ToolDescription } from '../../src/core/domain/agent/agent-snapshot.ts';
import { toolsFor } from '../../src/core/code/callers.ts';
import { runCodeTool } from '../../src/core/code/describe-run-code.ts';
import { patchDangling } from '../../src/core/domain/record/dangling.ts';
import { withTurns } from '../../src/core/domain/flows/with-turns.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import type { ConversationEvent, ModelRequest } from '../../src/core/domain/model/model.ts';
import { FINAL_ANSWER } from '../../src/core/domain/content/tool-text.ts';
import { formattedRequest } from '../../src/model/reply-formats/formatted-request.ts';

/** The instruction for the attempt after the step limit. */
const LAST_WORDS = 'Return your best final answer now.';

/** The same for an agent that answers with code, which would not run any more. */
const LAST_WORDS_OF_CODE = 'Return your best final answer now, as text without code.';

/**
 * Builds the request of one model call from the snapshot and the conversation alone, so that it is the same on every
 * worker. The loop answers every call that it records; a call that is unanswered nevertheless gets a result here,
 * because a provider would refuse the whole conversation. `isFirst`: the call is that of the first step of a turn.
 */
export function buildRequest(snapshot: AgentSnapshot, conversation: ConversationEvent[], final: boolean, isFirst = true): ModelRequest {
  const { output, settings } = snapshot;
  const tools = final ? [] : offeredTools(snapshot);
  const { toolChoice: _, ...rest } = settings;
  const answered = withTurns(patchDangling(conversation));
  const request: ModelRequest = {
    model: snapshot.model.slice(snapshot.model.indexOf('/') + 1),
    instructions: snapshot.instructions,
    conversation: final ? [...answered, lastWords(snapshot)] : answered,
    tools,
    ...(output?.mode === 'schema' ? { output: { name: 'answer', schema: output.providerSchema, strict: output.strict } } : {}),
    settings: {
      ...rest,
      ...(final ? { temperature: 0 } : {}),
      ...(tools.length > 0 ? { toolChoice: toolChoiceOf(snapshot, isFirst) } : {}),
    },
  };
  return formattedRequest(request, snapshot, final);
}

/**
 * Returns the choice of tools for one call. A tool is asked for again only if the agent says so: small models would never come to an end.
 * An answer through `final_answer` needs a call in every step.
 */
function toolChoiceOf({ settings: { toolChoice }, output }: AgentSnapshot, isFirst: boolean): PlainToolChoice {
  const otherwise = output?.mode === 'final_answer' ? 'required' : 'auto';
  if (toolChoice === undefined) return otherwise;
  if (toolChoice === 'auto' || toolChoice === 'none') return toolChoice;
  const isDue = isFirst || (typeof toolChoice === 'object' && 'every' in toolChoice && toolChoice.every);
  if (!isDue) return otherwise;
  return typeof toolChoice === 'object' && 'tool' in toolChoice ? { tool: toolChoice.tool } : 'required';
}

/** Returns the tools that the model may call: the agent's, `run_code` if it runs code, and `final_answer` if its answer comes as a call. */
function offeredTools(snapshot: AgentSnapshot): ToolDescription[] {
  const { output } = snapshot;
  const runCode = runCodeTool(snapshot);
  return [
    ...toolsFor('model', snapshot).map(describe),
    ...(runCode === undefined ? [] : [runCode]),
    ...(output?.mode === 'final_answer' ? [finalAnswerTool(output)] : []),
  ];
}

function describe({ name, description, parameters, strict }: ToolDescription): ToolDescription {
  return { name, description, parameters, strict };
}

function lastWords({ replyFormat }: AgentSnapshot): ConversationEvent {
  const content = replyFormat === 'code' ? LAST_WORDS_OF_CODE : LAST_WORDS;
  return { author: 'user', content: [{ type: 'message', role: 'user', content }] };
}

/** Returns the tool that takes a structured answer if the provider cannot enforce a schema. */
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

/** Moves a schema below `properties.output`, with the references to its root. */
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
