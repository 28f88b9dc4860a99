import { defineRoute } from '../../../routing/route.ts';
import { jsonObject } from '../../../schemas/json.ts';
import { awaitResult } from '../answering/await-result.ts';
import { streamedResponse } from '../answering/streamed.ts';
import { runHeaders } from '../answering/run-headers.ts';
import { stillGoing } from '../errors/still-going.ts';
import { conversationOf } from '../input/conversation.ts';
import { itemsOfMessages } from '../input/chat-messages.ts';
import { requireFormat } from '../parameters/answer-format.ts';
import { agentOfModel, holdsAnswers } from '../starting/model-agent.ts';
import { startAgent } from '../starting/start-agent.ts';
import { chatFormat, chatSettings, readChatBody } from './chat-body.ts';
import { chatEncoder } from './chat-encoder.ts';
import { completionOf } from './completion.ts';

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
    const { runId, createdAt } = await startAgent(request, {
      route: ID,
      body: given,
      agent,
      opening: conversationOf(itemsOfMessages(body.messages)),
      settings: chatSettings(body),
      parameters: { metadata: body.metadata },
    });
    const facts = { runId, agent: body.model, createdAt };
    const headers = runHeaders(runId);
    if (body.stream) {
      const answerAlone = format.type !== 'text' || holdsAnswers(agent);
      const includeUsage = body.stream_options.include_usage ?? false;
      return streamedResponse(runId, request, chatEncoder(facts, { includeUsage, answerAlone }), headers);
    }
    const handle = request.client.handle(runId);
    const result = await awaitResult(handle, { ...request, steps: true });
    if (result === undefined) throw await stillGoing(handle, request);
    return { status: 200, headers, body: completionOf(facts, result, result.steps?.at(-1)?.finishReason) };
  },
);
