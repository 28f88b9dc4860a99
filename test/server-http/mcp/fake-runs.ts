import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { LonghaulClient } from '../../../src/client/index.ts';
import type { StreamedResult, StreamItemContent } from '../../../src/client/stream/stream-item.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { newEvent } from '../../../src/core/domain/record.ts';
import { newStep } from '../../../src/core/domain/tool-calls.ts';
import type { Handler } from '../../../src/server/index.ts';
import { clientWithRun } from '../requests.ts';

/** A run that a test acts: its stream has the items that the test gives it. */
export class FakeRun {
  readonly runId: string;
  readonly cancelled: [reason: string, options: unknown][] = [];
  pending: { toolName: string }[] = [];
  #items: StreamItemContent[] = [];
  #grown = Promise.withResolvers<void>();
  /** The number of streams that are read at the moment. */
  readers = 0;

  constructor(runId: string) {
    this.runId = runId;
  }

  /** Adds items to the stream. */
  shows(...items: StreamItemContent[]): this {
    this.#items.push(...items);
    this.#grown.resolve();
    this.#grown = Promise.withResolvers();
    return this;
  }

  /** Ends the run. */
  ends(result: Partial<StreamedResult>): this {
    const whole = { status: 'completed', stopReason: 'final_answer', error: null, output: '', ...result } as StreamedResult;
    return this.shows({ type: 'end', result: whole });
  }

  async *stream({ signal }: { signal: AbortSignal }): AsyncGenerator<StreamItemContent & { cursor: string }> {
    this.readers += 1;
    const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
    aborted.catch(() => undefined);
    try {
      for (let index = 0; ;) {
        signal.throwIfAborted();
        const item = this.#items[index];
        if (item === undefined) {
          await Promise.race([this.#grown.promise, aborted]);
          continue;
        }
        index += 1;
        yield { ...item, cursor: String(index) };
        if (item.type === 'end') return;
      }
    } finally {
      this.readers -= 1;
    }
  }

  async approvals(): Promise<{ pending: { toolName: string }[]; remembered: [] }> {
    return { pending: this.pending, remembered: [] };
  }

  async cancel(reason: string, options: unknown): Promise<'requested'> {
    this.cancelled.push([reason, options]);
    this.ends({ status: 'cancelled', stopReason: 'cancelled', cancelReason: reason });
    return 'requested';
  }
}

/** The runs that a client of a test has started, and the starts. */
export class FakeRuns {
  readonly started: { agent: string; options: Record<string, unknown> }[] = [];
  readonly #runs = new Map<string, FakeRun>();
  readonly #acted: (run: FakeRun) => void;

  /** `acted` is called with each run that is started. */
  constructor(acted: (run: FakeRun) => void) {
    this.#acted = acted;
  }

  /** The only run. */
  get only(): FakeRun {
    const [run, ...others] = this.#runs.values();
    if (run === undefined || others.length > 0) throw new Error(`${this.#runs.size} runs were started`);
    return run;
  }

  get client(): LonghaulClient {
    return clientWithRun({}, { start: this.#start, handle: (runId: string) => this.#runs.get(runId) ?? unknownRun });
  }

  readonly #start = async (agent: { name: string }, options: Record<string, unknown>): Promise<FakeRun> => {
    this.started.push({ agent: agent.name, options });
    const run = new FakeRun(typeof options['runId'] === 'string' ? options['runId'] : `run-${this.started.length}`);
    this.#runs.set(run.runId, run);
    this.#acted(run);
    return run;
  };
}

const unknownRun = {
  cancel: async (): Promise<never> => {
    throw new LonghaulError('run_not_found', 'There is no such run');
  },
};

/** A response of the model that calls tools, as an event. */
export function calling(...names: string[]): StreamItemContent {
  const content = names.map((name, index) => ({ type: 'tool_call', toolCallId: `c${index}`, name, arguments: {} }) as const);
  return { type: 'event', offset: 0, event: newEvent({ id: names.join('-'), now: 0 }, 'x', 'clerk', content) };
}

/** A step of the record. */
export function step(number: number): StreamItemContent {
  return { type: 'step', step: newStep(number) };
}

/** The generation of the protocol that a client speaks. */
export type Generation = 'legacy' | 'auto';

/** A client of the protocol, as users have it, that reaches a handler without a socket. */
export async function mcpClient(handler: Handler, generation: Generation, seen: Request[] = []): Promise<Client & AsyncDisposable> {
  const transport = new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), {
    fetch: async (url, init) => {
      const request = new Request(url, init);
      seen.push(request.clone());
      return handler(request);
    },
  });
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: generation } });
  await client.connect(transport);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}
