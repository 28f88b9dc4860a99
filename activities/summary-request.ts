import type { ContentItem } from '../src/domain/content.ts';
import type { WindowPolicy } from '../src/domain/compaction.ts';
import { cutText } from '../src/domain/cut-content.ts';
import type { ModelRequest } from '../src/domain/model.ts';
import { outputText } from '../src/domain/output-text.ts';
import { resultText } from '../src/domain/tool-text.ts';
import type { WindowEvent } from '../src/domain/window.ts';

const INSTRUCTIONS =
  'You compress the older part of a conversation between a user and an agent that uses tools, so that the agent can go on without it. ' +
  'Write down what was asked, what was done and found out, the facts, names, numbers and decisions that may still be needed, and what is left to do. ' +
  'Do not address anybody, do not add anything. At most 1,000 words.';

/** Bytes of one item that are worth a summary. */
const ITEM_BYTES = 20_000;

/** Bytes of the whole where the window has no bounds. */
const DEFAULT_BYTES = 300_000;

/** The request for a summary: a function of the events alone, so that it is the same wherever it is built. The conversation is quoted as text, because not every provider takes tool calls of tools that it is not offered. */
export function summaryRequest(model: string, events: WindowEvent[], policy: WindowPolicy | undefined): ModelRequest {
  const budget = Math.min(policy?.maxBytes ?? DEFAULT_BYTES, (policy?.maxTokens ?? DEFAULT_BYTES) * 3);
  const text = events.flatMap(({ author, content }) => content.map((item) => line(author, item))).join('\n');
  const quoted = `The conversation:\n\n${cutText(text, budget)}\n\nSummarise it.`;
  return {
    model: model.slice(model.indexOf('/') + 1),
    instructions: [INSTRUCTIONS],
    conversation: [{ author: 'user', content: [{ type: 'message', role: 'user', content: quoted }] }],
    tools: [],
    settings: {},
  };
}

function line(author: string, item: ContentItem): string {
  switch (item.type) {
    case 'message':
      return `${author}: ${cutText(outputText(item.content), ITEM_BYTES)}`;
    case 'tool_call':
      return `${author} calls ${item.name}(${cutText(JSON.stringify(item.arguments), ITEM_BYTES)})`;
    case 'tool_result':
      return `${item.name} ${item.status === 'error' ? 'failed' : 'returned'}: ${cutText(resultText(item.content), ITEM_BYTES)}`;
  }
}
