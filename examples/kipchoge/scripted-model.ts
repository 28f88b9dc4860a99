import { createServer, type ChatCompletionRequest, type ContentWithToolCallsResponse, type TextResponse } from '@copilotkit/aimock';

/** The question that the script answers. */
export const QUESTION = 'How long would it take Kipchoge to run to the Moon?';

/** A scripted model: a server on loopback that speaks the OpenAI API and answers from a script. */
export interface ScriptedModel {
  /** For `OPENAI_BASE_URL`, or the `baseURL` of `openai()`. */
  baseURL: string;
  /** Closes the port and cuts off the answer in progress. May be called again. */
  stop(): Promise<void>;
}

/** One turn of the script: the text of the model, and its calls. */
interface Turn {
  thought: string;
  tool: string;
  arguments: Record<string, string>;
}

const TURNS: readonly Turn[] = [
  {
    thought: 'First I need to know how fast Kipchoge runs.',
    tool: 'search_web',
    arguments: { query: 'Kipchoge marathon world record pace' },
  },
  {
    thought: 'He ran 42.195 km in 2:01:09. Now I need the way to the Moon, at its nearest.',
    tool: 'search_wikipedia',
    arguments: { query: 'Moon perigee' },
  },
  {
    thought: 'The distance divided by his speed gives the hours.',
    tool: 'calculator',
    arguments: { expression: '356500 / (42.195 / (2 + 1/60 + 9/3600))' },
  },
];

const ANSWER =
  'Approximately 17,000 hours, or about 711 days without a pause: 356,500 km, the distance of the Moon at perigee, at the 20.9 km/h of his marathon record.';

const NO_SCRIPT = `I am a scripted model and can only answer one question: "${QUESTION}" Set OPENAI_API_KEY to ask a real one.`;

/** Starts the server on a free port. `pauseMs` is the time before an answer begins; real models take longer. */
export async function startScriptedModel({ pauseMs = 0 }: { pauseMs?: number } = {}): Promise<ScriptedModel> {
  const fixture = { match: { predicate: () => true }, response: answerTo, streamingProfile: { ttft: pauseMs } };
  const { server, url } = await createServer([fixture], { host: '127.0.0.1', port: 0 });
  return {
    baseURL: `${url}/v1`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The turn depends on the conversation alone: on the number of results since the question. */
function answerTo(request: ChatCompletionRequest): TextResponse | ContentWithToolCallsResponse {
  const { messages } = request;
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const results = messages.slice(asked + 1).filter(({ role }) => role === 'tool').length;
  const turn = TURNS[results];
  if (!JSON.stringify(messages[asked]?.content ?? '').includes('Kipchoge'))
    return { content: NO_SCRIPT, usage: usageOf(request, NO_SCRIPT) };
  if (turn === undefined) return { content: ANSWER, usage: usageOf(request, ANSWER) };
  const call = { id: `call_${results + 1}`, name: turn.tool, arguments: JSON.stringify(turn.arguments) };
  return { content: turn.thought, toolCalls: [call], usage: usageOf(request, `${turn.thought}${call.name}${call.arguments}`) };
}

/** Four characters are about one token. Both APIs get the same counts, under their own names. */
function usageOf({ messages, tools }: ChatCompletionRequest, answer: string): NonNullable<TextResponse['usage']> {
  const read = Math.ceil(JSON.stringify([messages, tools ?? []]).length / 4);
  const written = Math.ceil(answer.length / 4);
  return { prompt_tokens: read, input_tokens: read, completion_tokens: written, output_tokens: written, total_tokens: read + written };
}
