import { z } from 'zod';
import type { ContentItem, ContentPart, ToolCall } from '../../../../core/domain/content.ts';
import { list, MOST } from '../../../schemas/bounded.ts';
import { invalidValue, unsupported } from '../errors/openai-refusal.ts';
import { contentOf, messageContent, messagePart, textOf } from './content-parts.ts';
import { toolCall, toolResult } from './tool-items.ts';

const id = z.string().min(1);
const called = { name: id, arguments: z.string() };

const message = z.object({
  type: z.literal('message').optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.union([z.string(), list(messagePart, { max: MOST.parts })]),
});

/** An item of the input of a response: also the items of the output of an earlier one. */
export const inputItem = z.discriminatedUnion('type', [
  message,
  z.object({ type: z.literal('function_call'), call_id: id, ...called }),
  z.object({ type: z.literal('function_call_output'), call_id: id, output: messageContent }),
  z.object({ type: z.literal('mcp_call'), id, ...called, output: z.string().nullish(), error: z.unknown() }),
  z.object({ type: z.literal('reasoning') }),
]);

/** The input of a response. */
export const responseInput = z.union([z.string(), list(inputItem, { min: 1, max: MOST.items })]);

/** Returns the input of a request as items of a conversation. */
export function itemsOfInput(input: z.output<typeof responseInput>): ContentItem[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  const calls = new Map<string, ToolCall>();
  const known = (call: ToolCall): ToolCall => {
    calls.set(call.toolCallId, call);
    return call;
  };
  return input.flatMap((item, index): ContentItem[] => {
    const param = `input[${index}]`;
    switch (item.type) {
      case undefined:
      case 'message':
        return messageItems(item, `${param}.content`);
      case 'function_call':
        return [known(toolCall(item.call_id, item.name, item.arguments, `${param}.arguments`))];
      case 'function_call_output': {
        const asked = calls.get(item.call_id);
        if (asked === undefined) throw invalidValue(`${param}.call_id`, `no item before has a call "${item.call_id}"`);
        return [toolResult(asked, textOf(item.output, `${param}.output`))];
      }
      case 'mcp_call': {
        const call = toolCall(item.id, item.name, item.arguments, `${param}.arguments`);
        const error = item.error == null ? undefined : JSON.stringify(item.error);
        return [call, ...(error === undefined ? [toolResult(call, item.output ?? '')] : [toolResult(call, error, 'error')])];
      }
      case 'reasoning':
        // The run keeps none that it could go on with.
        return [];
    }
  });
}

function messageItems({ role, content }: z.output<typeof message>, param: string): ContentItem[] {
  if (content.length === 0) return [];
  if (role === 'user') return [{ type: 'message', role, content: contentOf(content, param) }];
  return [{ type: 'message', role: role === 'assistant' ? 'assistant' : 'system', content: textOf(content, param) }];
}

/**
 * Returns the input of a run that goes on with the conversation of another one: the words of the user. Throws for anything else, which has
 * its place in that conversation.
 */
export function continuingInput(items: readonly ContentItem[]): string | ContentPart[] {
  const contents = items.map((item, index) => {
    if (item.type === 'message' && item.role === 'user') return item.content;
    throw unsupported(`input[${index}]`, 'with "previous_response_id" the input has messages of the user alone');
  });
  const [first] = contents;
  if (contents.length === 1 && first !== undefined) return first;
  if (contents.every((content) => typeof content === 'string')) return contents.join('\n\n');
  return contents.flatMap((content) => (typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content));
}
