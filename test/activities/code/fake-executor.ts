import type { CreateExecutor } from '../../../activities/executors/create-executor.ts';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';
import type { Scratchpad } from '../../../src/core/domain/code.ts';
import {
  type CodeCall,
  type CodeCallResult,
  type ExecutionErrorKind,
  type Executor,
  failed,
  type Moment,
  type Segment,
  succeeded,
} from '../../../src/core/domain/execution.ts';

/** The executors that were made, as far as tests look at them. */
export interface FakeExecutors {
  create: CreateExecutor;
  all: FakeExecutor[];
  /** Counts the executors that were not killed. */
  alive: () => number;
  /** The code of all cells that were begun. */
  begun: () => string[];
  /** The text that `surprise` prints: a test changes it to make code do something else. */
  surprise: string;
  /** The kind of error that ends every cell, if a test sets one. `hang`: no cell ends before it is killed. */
  fault?: ExecutionErrorKind | 'hang';
}

/** Makes executors of a small language, one instruction a line. */
export function fakeExecutors(): FakeExecutors {
  const executors: FakeExecutors = {
    all: [],
    surprise: 'same',
    begun: () => executors.all.flatMap(({ begun }) => begun),
    alive: () => executors.all.filter(({ isKilled }) => !isKilled).length,
    create: () => {
      const executor = new FakeExecutor(executors);
      executors.all.push(executor);
      return Promise.resolve(executor);
    },
  };
  return executors;
}

const LIMITS = { maxOutputBytes: 10_000 };

/**
 * `let NAME JSON`, `copy NAME FROM` (`$` is the list of the last results), `print NAME`, `surprise`, `spend MS`,
 * `call TOOL JSON | TOOL JSON`, `final NAME`, `note JSON` (scratchpad), `throw TEXT`, `end KIND TEXT`, `hang`.
 */
export class FakeExecutor implements Executor {
  isKilled = false;
  begun: string[] = [];
  readonly #executors: FakeExecutors;
  #names = new Map<string, JsonValue>();
  #lines: string[] = [];
  #output: string[] = [];
  #segmentFrom = 0;
  #spentMs = 0;
  #final: { value: JsonValue } | undefined;
  #scratchpad: Scratchpad = { values: {}, observations: [], failed: [] };
  #hang: ((segment: Segment) => void) | undefined;

  constructor(executors: FakeExecutors) {
    this.#executors = executors;
  }

  run(): never {
    throw new Error('not used');
  }

  begin(code: string, { now, seed }: Moment): Promise<Segment> {
    this.begun.push(code);
    this.#lines = code.split('\n');
    this.#output = [];
    this.#segmentFrom = 0;
    this.#final = undefined;
    this.#names.set('moment', [now, seed]);
    return this.#go();
  }

  resume(results: readonly CodeCallResult[]): Promise<Segment> {
    this.#names.set(
      '$',
      results.map((result) => ('value' in result ? result.value : `failed: ${result.error}`)),
    );
    return this.#go();
  }

  close(): Promise<void> {
    this.isKilled = true;
    this.#hang?.(this.#failed('killed', 'The run was killed'));
    return Promise.resolve();
  }

  kill(): never {
    throw new Error('not used');
  }

  inject(): never {
    throw new Error('not used');
  }

  reset(): never {
    throw new Error('not used');
  }

  checkpoint(): Promise<Uint8Array> {
    return Promise.resolve(Buffer.from(JSON.stringify([...this.#names])));
  }

  restore(bytes: Uint8Array): Promise<void> {
    this.#names = new Map(JSON.parse(Buffer.from(bytes).toString()) as [string, JsonValue][]);
    return Promise.resolve();
  }

  async #go(): Promise<Segment> {
    if (this.isKilled) throw new Error('the executor was killed');
    const { fault } = this.#executors;
    if (fault === 'hang') return new Promise((resolve) => (this.#hang = resolve));
    if (fault !== undefined) return this.#failed(fault, 'it does not work');
    this.#spentMs = 1;
    for (;;) {
      const line = this.#lines.shift();
      if (line === undefined) return this.#ended();
      const end = await this.#perform(line);
      if (end !== undefined) return end;
    }
  }

  #perform(line: string): Segment | Promise<Segment> | undefined {
    const [verb = '', name = '', ...words] = line.split(' ');
    const rest = words.join(' ');
    switch (verb) {
      case 'let':
        this.#names.set(name, JSON.parse(rest) as JsonValue);
        return undefined;
      case 'copy':
        this.#names.set(name, this.#names.get(rest) ?? null);
        return undefined;
      case 'print':
        this.#output.push(JSON.stringify(this.#names.get(name) ?? null));
        return undefined;
      case 'surprise':
        this.#output.push(this.#executors.surprise);
        return undefined;
      case 'spend':
        this.#spentMs += Number(name);
        return undefined;
      case 'final':
        this.#final = { value: this.#names.get(name) ?? null };
        return undefined;
      case 'note':
        this.#scratchpad = { ...this.#scratchpad, values: JSON.parse(name) as JsonObject };
        return undefined;
      case 'call':
        return this.#calls(line.slice('call '.length).split(' | '));
      case 'throw':
        return this.#failed('runtime', `${name} ${rest}`.trim());
      case 'end':
        return this.#failed(name as ExecutionErrorKind, rest);
      case 'hang':
        return new Promise((resolve) => (this.#hang = resolve));
      default:
        return this.#failed('syntax', `unknown word "${verb}"`);
    }
  }

  #calls(texts: string[]): Segment {
    const output = this.#output.slice(this.#segmentFrom).join('\n');
    this.#segmentFrom = this.#output.length;
    const calls = texts.map((text): CodeCall => {
      const [tool = '', ...args] = text.split(' ');
      return { tool, arguments: JSON.parse(args.join(' ')) as JsonObject };
    });
    return { type: 'calls', calls, output, durationMs: this.#spentMs };
  }

  #ended(): Segment {
    const namespace = Object.fromEntries([...this.#names].map(([name, value]) => [name, { type: typeof value, value }]));
    const run = { ...this.#figures(), finalAnswer: this.#final, namespace, scratchpad: this.#scratchpad };
    return this.#end(succeeded(run, LIMITS.maxOutputBytes));
  }

  #failed(kind: ExecutionErrorKind, message: string): Segment {
    return this.#end(failed(this.#figures(), { kind, message }));
  }

  #end(result: (Segment & { type: 'ended' })['result']): Segment {
    return { type: 'ended', result, durationMs: this.#spentMs };
  }

  #figures(): { output: string; durationMs: number; memoryUsedBytes: number } {
    return { output: this.#output.join('\n'), durationMs: this.#spentMs, memoryUsedBytes: 1_000 };
  }
}
