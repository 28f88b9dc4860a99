import { RUN_CODE } from '../../src/core/domain/tool-calls.ts';
import type { ModelClient, ModelRequest, ModelResponse } from '../../src/core/domain/model.ts';
import { TOOL_NAME } from '../script/scripted-run.ts';

/** How a step calls the tool: sequentially from code, all calls together from code, or without code. */
export type Way = 'sequence' | 'together' | 'plain';

/** The script of a run. */
export interface CodingScript {
  way: Way;
  steps: number;
  /** The calls of each step. */
  calls: number;
}

/** The number of the first page. All pages have numbers of the same length. */
const FIRST_PAGE = 10_001;

/** A model that asks for `calls` calls in each of `steps` steps, with the bytes of its last request. */
export function codingModel({ way, steps, calls }: CodingScript): { client: ModelClient; lastRequestBytes: () => number } {
  let last = 0;
  let answered = 0;
  const answers = way === 'plain' ? steps * calls : steps;
  const client: ModelClient = {
    capabilities: { structuredOutput: true },
    call: (request) => {
      last = requestBytes(request);
      answered = request.conversation.flatMap(({ content }) => content).filter(({ type }) => type === 'tool_result').length;
      return Promise.resolve(answered >= answers ? answer('Done.') : next(answered, { way, steps, calls }));
    },
  };
  return { client, lastRequestBytes: () => last };
}

/** The code of a step: its calls, and one line of output. */
export function codeOfStep(step: number, { way, calls }: Pick<CodingScript, 'way' | 'calls'>): string {
  const first = FIRST_PAGE + step * calls;
  if (way === 'sequence') {
    return `let length${step} = 0;\nfor (let page = ${first}; page < ${first + calls}; page += 1) length${step} += ${TOOL_NAME}({ page }).length;\nprint(length${step});`;
  }
  const pages = `Array.from({ length: ${calls} }, (_, index) => tools.${TOOL_NAME}({ page: ${first} + index }))`;
  return `const texts${step} = await Promise.all(${pages});\nprint(texts${step}.reduce((sum, text) => sum + text.length, 0));`;
}

function next(answered: number, script: CodingScript): ModelResponse {
  const id = `call_${String(answered).padStart(24, '0')}`;
  const call =
    script.way === 'plain'
      ? { id, name: TOOL_NAME, arguments: JSON.stringify({ page: FIRST_PAGE + answered }) }
      : { id, name: RUN_CODE, arguments: JSON.stringify({ code: codeOfStep(answered, script) }) };
  return { ...answer(''), toolCalls: [call], finishReason: 'tool_calls' };
}

function answer(content: string): ModelResponse {
  return { content, toolCalls: [], usage: null, finishReason: 'stop' };
}

function requestBytes({ instructions, conversation, tools }: ModelRequest): number {
  return Buffer.byteLength(JSON.stringify({ instructions, conversation, tools }));
}
