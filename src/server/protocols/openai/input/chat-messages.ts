import { z } from 'zod';
import type { ContentItem, ToolCall } from '../../../../core/domain/content.ts';
import { list, MOST } from '../../../schemas/bounded.ts';
import { invalidValue, unsupported } from '../errors/openai-refusal.ts';
import { contentOf, messageContent, textOf } from './content-parts.ts';
import { toolCall, toolResult } from './tool-items.ts';

const call = z.object({
  id: z.string().min(1),
  type: z.string(),
  function: z.object({ name: z.string().min(1), arguments: z.string() }).optional(),
});

/** A message of Chat Completions. */
export const chatMessage = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['system', 'developer']), content: messageContent }),
  z.object({ role: z.literal('user'), content: messageContent }),
  z.object({
    role: z.literal('assistant'),
    content: messageContent.nullish(),
    refusal: z.string().nullish(),
    tool_calls: list(call, { max: MOST.parts }).nullish(),
  }),
  z.object({ role: z.literal('tool'), tool_call_id: z.string().min(1), content: messageContent }),
]);

type ChatMessage = z.output<typeof chatMessage>;

/** Returns the messages of a request as items of a conversation. */
export function itemsOfMessages(messages: readonly ChatMessage[]): ContentItem[] {
  const calls = new Map<string, ToolCall>();
  return messages.flatMap((message, index): ContentItem[] => {
    const param = `messages[${index}]`;
    const at = `${param}.content`;
    switch (message.role) {
      case 'system':
      case 'developer':
        return [{ type: 'message', role: 'system', content: textOf(message.content, at) }];
      case 'user':
        return [{ type: 'message', role: 'user', content: contentOf(message.content, at) }];
      case 'assistant': {
        const text = message.content == null ? (message.refusal ?? '') : textOf(message.content, at);
        const asked = (message.tool_calls ?? []).map((one, number) => callOf(one, `${param}.tool_calls[${number}]`));
        for (const one of asked) calls.set(one.toolCallId, one);
        return [...(text === '' ? [] : [{ type: 'message' as const, role: 'assistant' as const, content: text }]), ...asked];
      }
      case 'tool': {
        const asked = calls.get(message.tool_call_id);
        if (asked === undefined) throw invalidValue(`${param}.tool_call_id`, `no message before has a call "${message.tool_call_id}"`);
        return [toolResult(asked, textOf(message.content, at))];
      }
    }
  });
}

function callOf({ id, function: called }: z.output<typeof call>, param: string): ToolCall {
  if (called === undefined) throw unsupported(param, 'only calls of type "function" are');
  return toolCall(id, called.name, called.arguments, `${param}.function.arguments`);
}
