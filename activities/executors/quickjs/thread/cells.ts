import { EvalFlags, type JSValueHandle, type QuickJS } from 'quickjs-wasi';
import { isTooDeep, TOO_DEEP } from '../../../../src/core/domain/json/json-depth.ts';
import type { ExecutionError } from '../../../../src/core/execution/execution-result.ts';
import { MAX_ANSWER_LENGTH, MAX_NAMESPACE_LENGTH, type RunFrame, type ThreadFrame, type ThreadLimits } from '../frames.ts';
import { createContext, FILE_NAME } from './engine.ts';
import { failureOfCode, failureOfEngine, type Outcome, type Thrown } from './outcome.ts';
import { Parser } from './parser.ts';
import { PRELUDE } from './prelude.ts';

/** The part of a frame that says how a run ended. */
export type Ending = Extract<ThreadFrame, { type: 'done' | 'failed' }>;

/** One context and all that is run in it. */
export class Cells {
  private readonly limits: ThreadLimits;
  private readonly write: (text: string) => void;
  private parser!: Parser;
  private context!: QuickJS;
  /** The functions of the prelude. */
  private api!: JSValueHandle;
  private now = 0;
  private deadline = Infinity;
  private timedOut = false;
  private answer: string | undefined;
  /** True while the code of a cell runs: what getters print and answer when its names are read does not count. */
  private isRunning = false;

  private constructor(limits: ThreadLimits, write: (text: string) => void) {
    this.limits = limits;
    this.write = write;
  }

  /** Loads the engine. `write` is called with all that the code prints, up to the limit of output. */
  static async create(limits: ThreadLimits, write: (text: string) => void, now: number): Promise<Cells> {
    const cells = new Cells(limits, write);
    cells.now = now;
    cells.parser = await Parser.create();
    cells.context = await createContext({
      memoryLimit: limits.memoryBytes,
      now: () => cells.now,
      interruptHandler: () => {
        cells.timedOut ||= performance.now() > cells.deadline;
        return cells.timedOut;
      },
    });
    cells.api = cells.prelude();
    return cells;
  }

  /** Runs code to its end, or until a limit is reached. */
  run(frame: RunFrame): Ending {
    const began = performance.now();
    this.now = frame.now;
    this.answer = undefined;
    this.isRunning = true;
    this.timedOut = false;
    this.deadline = this.limits.timeoutMs > 0 ? began + this.limits.timeoutMs : Infinity;
    const ended = this.attempt(frame);
    const figures = { durationMs: performance.now() - began, memoryUsedBytes: this.memoryUsed() };
    if ('kind' in ended) return { type: 'failed', ...figures, ...ended };
    return { type: 'done', ...figures, answer: this.answer, namespace: ended.namespace };
  }

  private attempt(frame: RunFrame): ExecutionError | { namespace: Record<string, { type: string; json?: string }> } {
    try {
      for (const [name, json] of frame.injected) this.call('inject', name, json);
      const problem = this.parser.problem(frame.code);
      if (problem !== undefined) return problem;
      const cell = this.wrapped(frame.code);
      if (typeof cell !== 'string') return cell;
      this.call('begin', frame.seed, this.limits.outputLength);
      this.start(cell);
      this.context.executePendingJobs();
      const outcome = JSON.parse(this.call('outcome')) as Outcome;
      return failureOfCode(outcome, this.thrown) ?? { namespace: this.namespace() };
    } catch (error) {
      return failureOfEngine(error, this.thrown);
    }
  }

  /** The names that the code has declared. Reading them may run getters, whose work ends here. */
  private namespace(): Record<string, { type: string; json?: string }> {
    this.isRunning = false;
    const namespace = JSON.parse(this.call('namespace')) as Record<string, { type: string; json?: string }>;
    this.context.executePendingJobs();
    return namespace;
  }

  private get thrown(): Thrown {
    const { timeoutMs, memoryBytes } = this.limits;
    return { timedOut: this.timedOut, timeoutSeconds: timeoutMs / 1_000, isFull: this.memoryUsed() > memoryBytes * 0.8 };
  }

  /** The code as a function that hands over the variables of its top level when it has run to its end. */
  private wrapped(code: string): string | ExecutionError {
    const names = this.parser.declaredNames(code);
    let commit = 'commit';
    while (code.includes(commit)) commit += '$';
    const members = names.map((name) => `get ${name}(){return ${name}},set ${name}(value$${name}){${name}=value$${name}}`);
    const cell = `(async (${commit}) => {${code}\n;${commit}({${members.join()}})})`;
    return this.parser.failure(cell) ?? cell;
  }

  private start(source: string): void {
    const cell = this.context.evalCode(source, FILE_NAME);
    const start = this.api.getProp('start');
    try {
      this.context.callFunction(start, this.context.undefined, cell).dispose();
    } finally {
      start.dispose();
      cell.dispose();
    }
  }

  /** Calls a function of the prelude with texts and numbers. */
  private call(name: string, ...values: (string | number)[]): string {
    const { context } = this;
    const used = [
      this.api.getProp(name),
      ...values.map((value) => (typeof value === 'string' ? context.newString(value) : context.newNumber(value))),
    ];
    const [called, ...args] = used as [JSValueHandle, ...JSValueHandle[]];
    try {
      return context.callFunction(called, context.undefined, ...args).consume((result) => (result.isString ? result.toString() : ''));
    } finally {
      for (const handle of used) handle.dispose();
    }
  }

  private prelude(): JSValueHandle {
    const { context } = this;
    const write = context.newFunction('write', (text?: JSValueHandle) => {
      if (this.isRunning && text?.isString === true && text.length <= this.limits.outputLength) this.write(text.toString());
      return context.undefined;
    });
    const answer = context.newFunction('answer', (json?: JSValueHandle) => {
      const problem =
        json?.isString === true && json.length <= MAX_ANSWER_LENGTH ? this.takeAnswer(json.toString()) : 'the value is no text';
      return context.newString(problem);
    });
    const bounds = [MAX_ANSWER_LENGTH, MAX_NAMESPACE_LENGTH].map((bound) => context.newNumber(bound));
    const make = context.evalCode(PRELUDE, 'prelude', EvalFlags.STRICT);
    return context.callFunction(make, context.undefined, write, answer, ...bounds);
  }

  /** Keeps the JSON of a final answer, or explains why it is none. */
  private takeAnswer(json: string): string {
    if (!this.isRunning) return 'the run has ended';
    try {
      if (isTooDeep(JSON.parse(json))) return TOO_DEEP;
    } catch {
      return 'the value is not JSON';
    }
    this.answer = json;
    return '';
  }

  private memoryUsed(): number {
    try {
      return this.context.getMemoryUsage().mallocSize;
    } catch {
      return 0;
    }
  }
}
