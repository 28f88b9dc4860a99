import { randomUUID } from 'node:crypto';
import { buildChatMessages } from '../../../activities/models/openai/chat-messages.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import {
  addEvent,
  type ExecutionContext,
  incrementStep,
  newEvent,
  newExecutionContext,
  setState,
} from '../../../src/core/domain/record.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import { contentItemSchema } from '../../../src/schema/zod-schemas.ts';
import type { SuiteAdapter } from './adapter.ts';
import { agentRun } from './agent-run.ts';
import { toOurItem, toTheirEvent, toTheirItem } from './content-notation.ts';
import { flowRun } from './flow-run.ts';
import { list, only, text } from './fields.ts';
import { keptWording, mapTexts, parsedJsonText } from './wording.ts';

const CONTEXT = ['execution_id', 'events', 'authors', 'current_step', 'state', 'final_result'];

/** Suite `execution_context`: content, events, contexts, messages, and the agent built on them. */
export const executionContextSuite: Omit<SuiteAdapter, 'withoutCounterpart'> = {
  operations: {
    'content.validate': { input: ['item'], expect: ['ok', 'item', 'error'], perform: validateContent },
    'event.new': { input: ['execution_id', 'author', 'content'], expect: ['event'], perform: makeEvent },
    'context.new': { input: [], expect: CONTEXT, perform: () => toTheirContext(newExecutionContext(randomUUID())) },
    'context.ops': { input: ['do'], expect: CONTEXT, perform: useContext },
    'context.isolation': { input: ['do'], expect: ['first', 'second'], perform: isolateContexts },
    'agent.run': agentRun,
    'workflow.run': flowRun,
    'llm.build_messages': { input: ['instructions', 'contents'], expect: ['messages'], perform: buildMessages },
  },
  normalise: (expect, op) => mapTexts(expect, op === 'llm.build_messages' ? parsedJsonText : keptWording),
};

function validateContent({ item }: JsonObject): JsonObject {
  const parsed = contentItemSchema.safeParse(isJsonObject(item) ? toOurItem(item) : item);
  return parsed.success ? { ok: true, item: toTheirItem(parsed.data) } : { error: true };
}

const ITEM = ['type', 'role', 'content', 'tool_call_id', 'name', 'arguments', 'status'];

function toItem(item: JsonValue): ContentItem {
  return contentItemSchema.parse(toOurItem(only('A content item', item, ITEM)));
}

function makeEvent({ execution_id, author, content }: JsonObject): JsonObject {
  const items = list(content).map((item) => toItem(item));
  return { event: toTheirEvent(newEvent(stamp(), text(execution_id), text(author), items)) };
}

function stamp(): { id: string; now: number } {
  return { id: randomUUID(), now: Date.now() };
}

function useContext({ do: actions }: JsonObject): JsonObject {
  const context = newExecutionContext(randomUUID());
  apply(context, actions);
  return toTheirContext(context);
}

function isolateContexts({ do: actions }: JsonObject): JsonObject {
  const [first, second] = [newExecutionContext(randomUUID()), newExecutionContext(randomUUID())];
  apply(first, actions);
  return { first: toTheirContext(first), second: toTheirContext(second) };
}

function apply(context: ExecutionContext, actions: JsonValue | undefined): void {
  for (const action of list(actions)) {
    const { add_event, increment_step, set_state } = only('An action', action, ['add_event', 'increment_step', 'set_state']);
    if (add_event !== undefined) addEvent(context, newEvent(stamp(), context.executionId, text(add_event)));
    if (increment_step !== undefined) incrementStep(context);
    if (set_state !== undefined) {
      const { key, value = null } = only('A "set_state"', set_state, ['key', 'value']);
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

function buildMessages({ instructions, contents }: JsonObject): JsonObject {
  const items = list(contents).map((item) => toItem(item));
  const messages = buildChatMessages(
    list(instructions).map((instruction) => text(instruction)),
    items,
  );
  return { messages: mapTexts(JSON.parse(JSON.stringify(messages)) as JsonValue, parsedJsonText) };
}
