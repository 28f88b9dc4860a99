import { isTooDeep, TOO_DEEP } from '../../../../src/core/domain/json/json-depth.ts';
import type { ExecutionError } from '../../../../src/core/execution/execution-result.ts';
import type { EndFrame, RunFrame, ThreadSettings } from '../frames.ts';
import type { EngineModule } from './engine.ts';
import { readImage, writeImage } from './image.ts';
import { failureOfCode, failureOfEngine, type Outcome, type Thrown } from './outcome.ts';
import { Parser } from './parser.ts';
import { type Program, readProgram } from './program.ts';
import { type Host, Realm } from './realm.ts';

/** Sends what comes out of a cell while it runs. `ask` returns when the results are there: a JSON list of them. */
export interface CellPort {
  write(text: string): void;
  /** `durationMs` is the time that the segment took. */
  ask(calls: unknown, durationMs: number): string;
}

type Namespace = Record<string, { type: string; json?: string }>;

/** One realm and all cells that are run in it, one after the other. */
export class Cells implements Host {
  private readonly settings: ThreadSettings;
  private readonly port: CellPort;
  private parser!: Parser;
  private realm!: Realm;
  private time = 0;
  private segmentBegan = 0;
  private deadline = Infinity;
  private timedOut = false;
  private finalAnswer: string | undefined;
  /** True while the code of a cell runs: what getters print and answer when its names are read does not count. */
  private isRunning = false;

  private constructor(settings: ThreadSettings, port: CellPort) {
    this.settings = settings;
    this.port = port;
  }

  /** Loads the engine. */
  static async create(engine: EngineModule, settings: ThreadSettings, port: CellPort, now: number): Promise<Cells> {
    const cells = new Cells(settings, port);
    cells.time = now;
    [cells.parser, cells.realm] = await Promise.all([Parser.create(engine), Realm.create({ engine, settings, host: cells })]);
    return cells;
  }

  /** Loads the engine with the memory of a checkpoint. Returns why that is not possible, if it is not. */
  static async restore(engine: EngineModule, settings: ThreadSettings, port: CellPort, checkpoint: Uint8Array): Promise<Cells | string> {
    const cells = new Cells(settings, port);
    cells.parser = await Parser.create(engine);
    const image = readImage(checkpoint, cells.parser.version, settings);
    if (typeof image === 'string') return image;
    cells.realm = await Realm.restore({ engine, settings, host: cells }, image);
    return cells;
  }

  /** Returns the memory of the realm, with the injected values. */
  checkpoint(injected: readonly [string, string][]): Uint8Array<ArrayBuffer> {
    this.inject(injected);
    return writeImage(this.realm.image(), this.parser.version, this.settings);
  }

  /** Runs code to its end, or until a limit is reached. */
  async run(frame: RunFrame): Promise<EndFrame> {
    await this.parser.renew();
    this.time = frame.now;
    this.finalAnswer = undefined;
    this.isRunning = true;
    this.timedOut = false;
    this.segmentBegan = performance.now();
    this.deadline = this.settings.timeoutMs > 0 ? this.segmentBegan + this.settings.timeoutMs : Infinity;
    const ended = this.attempt(frame);
    this.isRunning = false;
    const figures = { durationMs: performance.now() - this.segmentBegan, memoryUsedBytes: this.realm.memoryUsed() };
    if ('kind' in ended) return { type: 'failed', ...figures, scratchpad: this.scratchpad(), ...ended };
    return { type: 'done', ...figures, scratchpad: this.scratchpad(), answer: this.finalAnswer, namespace: ended.namespace };
  }

  /** The JSON of the scratchpad, if there is one. */
  scratchpad(): string | undefined {
    if (!this.settings.scratchpad) return undefined;
    try {
      return this.realm.call('scratchpad');
    } catch {
      return undefined;
    }
  }

  write(text: string): void {
    if (this.isRunning) this.port.write(text);
  }

  answer(json: string): string {
    if (!this.isRunning) return 'the run has ended';
    try {
      if (isTooDeep(JSON.parse(json))) return TOO_DEEP;
    } catch {
      return 'the value is not JSON';
    }
    this.finalAnswer = json;
    return '';
  }

  ask(json: string): string {
    if (!this.isRunning || this.interrupt()) return '';
    const asked = performance.now();
    const results = this.port.ask(JSON.parse(json), asked - this.segmentBegan);
    this.segmentBegan = performance.now();
    // The time in which the code waited is not its own.
    this.deadline += this.segmentBegan - asked;
    return results;
  }

  interrupt(): boolean {
    this.timedOut ||= performance.now() > this.deadline;
    return this.timedOut;
  }

  now(): number {
    return this.time;
  }

  private attempt(frame: RunFrame): ExecutionError | { namespace: Namespace } {
    try {
      this.inject(frame.injected);
      const program = readProgram(this.parser, frame.code, this.settings.allowedImports);
      if ('kind' in program) return program;
      this.realm.call('begin', frame.seed, this.settings.outputLength, frame.mayCall ? 1 : 0);
      const outcome = this.outcomeOf(program);
      return failureOfCode(outcome, this.thrown) ?? { namespace: this.namespace() };
    } catch (error) {
      return failureOfEngine(error, this.thrown);
    } finally {
      this.close();
    }
  }

  /** Runs a program until it has ended, or has nothing left to do: each time that only calls are left, they are made. */
  private outcomeOf({ source, exported }: Program): Outcome {
    const { realm } = this;
    if (exported === undefined) realm.start(source);
    else realm.startModule(source, exported);
    do realm.context.executePendingJobs();
    while (realm.call('exchange') !== '');
    const outcome = JSON.parse(realm.call('outcome')) as Outcome;
    realm.call('end');
    realm.context.executePendingJobs();
    return outcome;
  }

  /** The names that the code has declared. Reading them may run getters, whose work ends here. */
  private namespace(): Namespace {
    this.isRunning = false;
    this.close();
    const namespace = JSON.parse(this.realm.call('namespace')) as Namespace;
    this.realm.context.executePendingJobs();
    return namespace;
  }

  private inject(values: readonly [string, string][]): void {
    for (const [name, json] of values) this.realm.call('inject', name, json);
  }

  /** From here on, code can neither call tools nor change the scratchpad. */
  private close(): void {
    try {
      this.realm.call('close');
    } catch {
      // Without memory the prelude cannot even do this; the executor then ends.
    }
  }

  private get thrown(): Thrown {
    const { timeoutMs, memoryBytes } = this.settings;
    return { timedOut: this.timedOut, timeoutSeconds: timeoutMs / 1_000, isFull: this.realm.memoryUsed() > memoryBytes * 0.8 };
  }
}
