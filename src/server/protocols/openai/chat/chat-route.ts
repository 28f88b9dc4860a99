import { whileWaiting } from '../../../limits/while-waiting.ts';
import { defineRoute } from '../../../routing/route.ts';
import { jsonObject } from '../../../schemas/json.ts';
import { awaitResult } from '../answering/await-result.ts';
import { lastFinishOf } from '../answering/ended-run.ts';
import { streamedResponse } from '../answering/streamed.ts';
import { runHeaders } from '../answering/run-headers.ts';
import { stillGoing } from '../errors/still-going.ts';
import { conversationOf } from '../input/conversation.ts';
import { itemsOfMessages } from '../input/chat-messages.ts';
import { requireFormat } from '../parameters/answer-format.ts';
import { agentOfModel } from '../starting/model-agent.ts';
import { startAgent } from '../starting/start-agent.ts';
import { chatFormat, chatSettings, readChatBody } from './chat-body.ts';
import { chatEncoder } from './chat-encoder.ts';
import { type CompletionFacts, completionOf } from './completion.ts';

const ID = 'createChatCompletion';

/** Answers a conversation with an agent, as Chat Completions has it. */
export const chatRoute = defineRoute(
  {
    method: 'POST',
    path: '/v1/chat/completions',
    id: ID,
    tag: 'agents',
    summary: 'Answer a conversation with an agent',
    scope: 'runs:write',
    counts: 'starts',
    body: jsonObject,
    idempotencyKey: 'The same key with the same body is the same run.',
    responses: { 200: { description: 'The completion, or its chunks.', schema: jsonObject } },
    problems: [],
  },
  async ({ body: given, ...request }) => {
    const body = readChatBody(given);
    const agent = agentOfModel(request.settings, request.caller, body.model);
    const format = chatFormat(body);
    requireFormat(agent, format, 'response_format');
    const start = async (): Promise<CompletionFacts> => {
      const { runId, createdAt } = await startAgent(request, {
        route: ID,
        body: given,
        agent,
        opening: conversationOf(itemsOfMessages(body.messages), 'messages'),
        settings: chatSettings(body),
        parameters: { metadata: body.metadata },
      });
      return { runId, agent: body.model, createdAt };
    };
    if (body.stream) {
      const answerAlone = format.type !== 'text';
      const options = { includeUsage: body.stream_options.include_usage ?? false, answerAlone };
      return streamedResponse({ ...request, scope: 'runs:write' }, async () => {
        const facts = await start();
        return { runId: facts.runId, encoder: chatEncoder(facts, options) };
      });
    }
    return whileWaiting(request, async () => {
      const facts = await start();
      const handle = request.client.handle(facts.runId);
      const result = await awaitResult(handle, { ...request, steps: true });
      if (result === undefined) throw await stillGoing(handle, request);
      return { status: 200, headers: runHeaders(facts.runId), body: completionOf(facts, result, lastFinishOf(result)) };
    });
  },
);
