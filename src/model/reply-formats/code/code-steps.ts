import type { CodeLanguage } from '../../../core/domain/code/code-snapshot.ts';
import type { AgentSnapshot } from '../../../core/domain/agent/agent-snapshot.ts';
import { type PruneStrategy, pruneSteps } from '../../../core/domain/content/conversation/prune-steps.ts';
import { RUN_CODE } from '../../../core/domain/content/tool-text.ts';
import type { ToolCall, ToolResult } from '../../../core/domain/content/content.ts';
import type { ConversationEvent } from '../../../core/domain/model/model.ts';
import { mediaOf, NO_OUTPUT, observationText } from '../observation.ts';
import { type ReplyRendering, type ReplyStep, replySteps } from '../reply-steps.ts';

/** The rule of an agent that sets none. */
const KEEP_LAST: PruneStrategy = { strategy: 'last_steps', keep: 5 };

/** Returns a conversation as the model wrote and read it: each answer as its text, each result of a cell as the text of a user. */
export function codeSteps({ code }: AgentSnapshot, conversation: readonly ConversationEvent[]): ReplyStep[] {
  const language = code?.executor.language ?? 'javascript';
  const rendering: ReplyRendering = {
    call: (call, text, result) => [{ type: 'action', reply: replyText(call, text, language), ...outcomeOf(result) }],
    answer: (text) => text,
  };
  return pruneSteps(replySteps(conversation, rendering), code?.prune ?? KEEP_LAST);
}

/** Returns the text of an answer. The code of a call in the provider's own way is written as the block that it stands for, and so is a call that another agent made before. */
function replyText({ name, arguments: args }: ToolCall, text: string, language: CodeLanguage): string {
  if (Object.keys(args).length === 0 && name === RUN_CODE) return text;
  const code = name === RUN_CODE && typeof args['code'] === 'string' ? args['code'] : `${name}(${JSON.stringify(args)})`;
  return `${text === '' ? '' : `${text}\n\n`}\`\`\`${language}\n${code}\n\`\`\``;
}

function outcomeOf(result: ToolResult | undefined): Pick<Extract<ReplyStep, { type: 'action' }>, 'observation' | 'error' | 'media'> {
  if (result === undefined) return {};
  const text = observationText(result);
  if (result.status === 'error') return { error: text };
  return { observation: text === '' ? NO_OUTPUT : text, media: mediaOf(result) };
}
