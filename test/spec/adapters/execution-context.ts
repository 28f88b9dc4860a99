import { randomUUID } from 'node:crypto';
import { buildChatMessages } from '../../../activities/models/openai/chat-messages.ts';
import { newEvent } from '../../../src/core/domain/record/event.ts';
import {
  addEvent,
  type ExecutionContext,
  incrementStep,
  newExecutionContext,
  setState,
} from '../../../src/core/domain/record/execution-context.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json/json.ts';
import { contentItemSchema } from '../../../src/schema/content-schema.ts';
import type { SuiteAdapter } from './adapter.ts';
import { runAgentCase } from './agent-run.ts';
import { toOurItem, toTheirEvent, toTheirItem } from './content-notation.ts';
import { list, object, text } from './fields.ts';
import { keptWording, mapTexts, parsedJsonText } from './wording.ts';

/** Suite `execution_context`: content, events, contexts, messages, and the agent built on them. */
export const executionContextSuite: SuiteAdapter = {
  operations: {
    'content.validate': validateContent,
    'event.new': makeEvent,
    'context.new': () => toTheirContext(newExecutionContext(randomUUID())),
    'context.ops': useContext,
    'context.isolation': isolateContexts,
    'agent.run': runAgentCase,
    'llm.build_messages': buildMessages,
  },
  notBuilt: { 'workflow.run': 'agents of agents (sequential, parallel, loop) are not built' },
  normalise: (expect, op) => mapTexts(expect, op === 'llm.build_messages' ? parsedJsonText : keptWording),
};

function validateContent(input: JsonValue): JsonObject {
  const { item } = object(input);
  const parsed = contentItemSchema.safeParse(isJsonObject(item) ? toOurItem(item) : item);
  return parsed.success ? { ok: true, item: toTheirItem(parsed.data) } : { error: true };
}

function makeEvent(input: JsonValue): JsonObject {
  const { execution_id, author, content } = object(input);
  const items = list(content).map((item) => contentItemSchema.parse(toOurItem(object(item))));
  return { event: toTheirEvent(newEvent(stamp(), text(execution_id), text(author), items)) };
}

function stamp(): { id: string; now: number } {
  return { id: randomUUID(), now: Date.now() };
}

function useContext(input: JsonValue): JsonObject {
  const context = newExecutionContext(randomUUID());
  apply(context, object(input)['do']);
  return toTheirContext(context);
}

function isolateContexts(input: JsonValue): JsonObject {
  const [first, second] = [newExecutionContext(randomUUID()), newExecutionContext(randomUUID())];
  apply(first, object(input)['do']);
  return { first: toTheirContext(first), second: toTheirContext(second) };
}

function apply(context: ExecutionContext, actions: JsonValue | undefined): void {
  for (const action of list(actions).map(object)) {
    const { add_event, increment_step, set_state } = action;
    if (add_event !== undefined) addEvent(context, newEvent(stamp(), context.executionId, text(add_event)));
    if (increment_step !== undefined) incrementStep(context);
    if (set_state !== undefined) {
      const { key, value = null } = object(set_state);
      setState(context, text(key), value);
    }
  }
}

function toTheirContext(context: ExecutionContext): JsonObject {
  return {
    execution_id: context.executionId,
    events: context.events.map(toTheirEvent),
    authors: context.events.map(({ author }) => author),
    current_step: context.currentStep,
    state: context.state,
    final_result: context.finalResult,
  };
}

function buildMessages(input: JsonValue): JsonObject {
  const { instructions, contents } = object(input);
  const items = list(contents).map((item) => contentItemSchema.parse(toOurItem(object(item))));
  const messages = buildChatMessages(
    list(instructions).map((instruction) => text(instruction)),
    items,
  );
  return { messages: mapTexts(JSON.parse(JSON.stringify(messages)) as JsonValue, parsedJsonText) };
}
