import { errorCode } from '../../../../core/domain/errors/error.ts';
import { whileWaiting } from '../../../limits/while-waiting.ts';
import { defineRoute } from '../../../routing/route.ts';
import { jsonObject } from '../../../schemas/json.ts';
import { awaitResult } from '../answering/await-result.ts';
import { runHeaders } from '../answering/run-headers.ts';
import { streamedResponse } from '../answering/streamed.ts';
import { missing, OpenaiRefusal, unsupported } from '../errors/openai-refusal.ts';
import { conversationOf } from '../input/conversation.ts';
import { continuingInput, itemsOfInput } from '../input/response-input.ts';
import { requireFormat } from '../parameters/answer-format.ts';
import { agentOfModel, answerSchema } from '../starting/model-agent.ts';
import { type AgentStart, startAgent } from '../starting/start-agent.ts';
import { readCurrentResponse, readResponse } from './read-response.ts';
import { responseBody, type ResponseFacts } from './response-body.ts';
import { responseEncoder } from './response-encoder.ts';
import { readResponseRequest, repeatedParameters, responseFormat, type ResponseRequest, responseSettings } from './response-request.ts';

const ID = 'createResponse';

/** Answers with an agent, as Responses has it. */
export const createResponseRoute = defineRoute(
  {
    method: 'POST',
    path: '/v1/responses',
    id: ID,
    tag: 'agents',
    summary: 'Answer with an agent',
    scope: 'runs:write',
    counts: 'starts',
    body: jsonObject,
    idempotencyKey: 'The same key with the same body is the same run.',
    responses: { 200: { description: 'The response, or its events.', schema: jsonObject } },
    problems: [],
  },
  async ({ body: given, ...request }) => {
    const body = readResponseRequest(given);
    const agent = agentOfModel(request.settings, request.caller, body.model);
    requireFormat(agent, responseFormat(body), 'text.format');
    const opening = openingOf(body);
    const start = async (): Promise<ResponseFacts & { repeated: boolean }> => {
      const { runId, repeated, createdAt, parameters } = await started(body, () =>
        startAgent(request, {
          route: ID,
          body: given,
          agent,
          opening,
          settings: responseSettings(body),
          maxToolCalls: body.max_tool_calls,
          parameters: repeatedParameters(body),
        }),
      );
      return { runId, repeated, agent: body.model, createdAt, parameters, schema: answerSchema(agent) };
    };
    if (body.stream) {
      return streamedResponse({ ...request, scope: 'runs:write' }, async () => {
        const facts = await start();
        return { runId: facts.runId, encoder: responseEncoder(facts) };
      });
    }
    if (body.background) {
      const { repeated, ...facts } = await start();
      const response = repeated ? await readCurrentResponse(request.client, facts.runId, request.settings) : responseBody(facts, []);
      return { status: 200, headers: runHeaders(facts.runId), body: response };
    }
    return whileWaiting(request, async () => {
      const facts = await start();
      const handle = request.client.handle(facts.runId);
      const result = await awaitResult(handle, { ...request, steps: true });
      return { status: 200, headers: runHeaders(facts.runId), body: await readResponse(handle, facts, result) };
    });
  },
);

function openingOf({ input, instructions, previous_response_id: previous }: ResponseRequest): AgentStart['opening'] {
  const items = input === undefined ? [] : itemsOfInput(input);
  if (previous !== undefined) {
    if (instructions !== undefined) throw unsupported('instructions', 'not together with "previous_response_id": the agent has its own');
    return { previousRunId: previous, input: continuingInput(items) };
  }
  if (input === undefined && instructions === undefined) throw missing('input');
  const whole =
    instructions === undefined ? items : [{ type: 'message' as const, role: 'system' as const, content: instructions }, ...items];
  return conversationOf(whole, 'input');
}

/** Starts, and names the parameter of an earlier response that cannot be gone on with. */
async function started<Outcome>({ previous_response_id: previous }: ResponseRequest, start: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await start();
  } catch (error) {
    const code = errorCode(error);
    if (previous === undefined || (code !== 'run_not_found' && code !== 'run_open')) throw error;
    const why = code === 'run_open' ? 'it is still in progress' : 'this caller has none of that id';
    const openai = { param: 'previous_response_id', code: code === 'run_open' ? 'response_in_progress' : 'previous_response_not_found' };
    throw new OpenaiRefusal(code, `The earlier response cannot be gone on with: ${why}`, openai, { cause: error });
  }
}
