import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../src/index.ts';

/** The tool that each answer but the last one calls. */
const TOOL = 'look_up';

/** What the provider takes. */
interface ProviderPace {
  requestsPerMinute: number;
  tokensPerMinute: number;
  /** Answers name the limits. */
  headers: boolean;
}

/** Milliseconds of an answer, and its tokens: from the first to the second. */
const ANSWER_MS = [300, 1_000] as const;
const ANSWER_TOKENS = [20, 200] as const;

/** Buckets hold one second's worth of requests, or two seconds' worth of tokens: a provider forgives that much. */
const SECONDS_OF_REQUESTS = 1;
const SECONDS_OF_TOKENS = 2;

/** A provider with the API of Chat Completions that refuses requests over its limits, in a process that counts them. */
export class PacedProvider {
  /** Requests that were answered, by the tenant that their prompt names. */
  readonly answered = new Map<string, number>();
  asked = 0;
  refused = 0;
  readonly #pace: ProviderPace;
  readonly #server: Server;
  #requests: number;
  #tokens: number;
  #at = performance.now();
  #isEnding = false;
  #calls = 0;

  constructor(pace: ProviderPace) {
    this.#pace = pace;
    this.#requests = (pace.requestsPerMinute / 60) * SECONDS_OF_REQUESTS;
    this.#tokens = (pace.tokensPerMinute / 60) * SECONDS_OF_TOKENS;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** Starts it. Returns the `baseURL`. */
  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** Counts from here on. */
  count(): void {
    this.answered.clear();
    this.asked = 0;
    this.refused = 0;
  }

  /** From now on each answer is the last one of its run. */
  end(): void {
    this.#isEnding = true;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request as AsyncIterable<Buffer>) body += chunk.toString();
    this.asked += 1;
    const prompt = Math.ceil(body.length / 4);
    const answer = Math.round(between(ANSWER_TOKENS));
    const waitMs = this.#take(prompt + answer);
    const headers = {
      'content-type': 'application/json',
      ...(this.#pace.headers ? { 'x-ratelimit-limit-requests': String(this.#pace.requestsPerMinute) } : {}),
    };
    if (waitMs > 0) {
      this.refused += 1;
      response.writeHead(429, { ...headers, 'retry-after-ms': String(waitMs) });
      response.end(JSON.stringify({ error: { message: 'Rate limit reached', type: 'requests', code: 'rate_limit_exceeded' } }));
      return;
    }
    const tenant = /tenant-\d+/.exec(body)?.[0] ?? '';
    this.answered.set(tenant, (this.answered.get(tenant) ?? 0) + 1);
    setTimeout(() => {
      response.writeHead(200, headers);
      response.end(JSON.stringify(this.#answer({ prompt_tokens: prompt, completion_tokens: answer, total_tokens: prompt + answer })));
    }, between(ANSWER_MS));
  }

  /** Takes what a request needs. Returns the milliseconds until there is enough; 0 if there was. */
  #take(tokens: number): number {
    const { requestsPerMinute, tokensPerMinute } = this.#pace;
    const now = performance.now();
    const minutes = (now - this.#at) / 60_000;
    this.#at = now;
    this.#requests = Math.min((requestsPerMinute / 60) * SECONDS_OF_REQUESTS, this.#requests + minutes * requestsPerMinute);
    this.#tokens = Math.min((tokensPerMinute / 60) * SECONDS_OF_TOKENS, this.#tokens + minutes * tokensPerMinute);
    if (this.#requests < 1 || this.#tokens < 0) {
      return Math.ceil(Math.max(((1 - this.#requests) * 60_000) / requestsPerMinute, (-this.#tokens * 60_000) / tokensPerMinute, 50));
    }
    this.#requests -= 1;
    this.#tokens -= tokens;
    return 0;
  }

  #answer(usage: object): object {
    this.#calls += 1;
    const call = { id: `call_${this.#calls}`, type: 'function', function: { name: TOOL, arguments: '{"page":1}' } };
    const message = this.#isEnding ? { role: 'assistant', content: 'Done.' } : { role: 'assistant', content: null, tool_calls: [call] };
    return { id: `answer-${this.#calls}`, choices: [{ index: 0, message, finish_reason: this.#isEnding ? 'stop' : 'tool_calls' }], usage };
  }
}

function between([least, most]: readonly [number, number]): number {
  return least + Math.random() * (most - least);
}

/** The agent of all runs, which looks something up until the provider says that it is done. */
export const governedAgent = defineAgent({
  name: 'reader',
  model: 'paced/model',
  instructions: 'You read pages.',
  tools: [
    defineTool({
      name: TOOL,
      description: 'Reads a page',
      parameters: z.object({ page: z.int() }),
      tier: 'local',
      execute: () => 'a page',
    }),
  ],
  window: { keepResults: 4 },
  limits: { steps: 10_000 },
});
