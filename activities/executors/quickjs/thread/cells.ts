import { createHash } from 'node:crypto';
import { EvalFlags, JSException, type JSValueHandle, type QuickJS, type Snapshot } from 'quickjs-wasi';
import { isTooDeep, MAX_JSON_DEPTH, TOO_DEEP } from '../../../../src/core/domain/json.ts';
import type { ExecutionError } from '../../../../src/core/domain/execution.ts';
import {
  type EndFrame,
  isVariableName,
  MAX_ANSWER_LENGTH,
  MAX_ARGUMENTS_LENGTH,
  MAX_BATCH_LENGTH,
  MAX_CALLS,
  MAX_NAMESPACE_LENGTH,
  MAX_SCRATCHPAD_LENGTH,
  MAX_SEGMENTS,
  type RunFrame,
  type ThreadSettings,
  timeoutError,
} from '../../frames.ts';
import { JAVASCRIPT_RESERVED_WORDS } from '../../../../src/core/code/callable-tools.ts';
import { createContext, type EngineModule, type EngineOptions, FILE_NAME, NOWHERE_ELSE, Parser, restoreContext } from './engine.ts';
import { PRELUDE, type PreludeSettings } from './prelude.ts';

/** Sends the output of a running cell. `ask` blocks until the results arrive, and returns them as a JSON list. */
export interface CellPort {
  write(text: string): void;
  /** `durationMs`: the duration of the segment. */
  ask(calls: unknown, durationMs: number): string;
}

type Namespace = Record<string, { type: string; json?: string }>;

/** One realm and the cells that run in it sequentially. */
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
  /** True while the code of a cell runs: output and answers of getters that run when its names are read do not count. */
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

  /** Loads the engine with the memory of a checkpoint, or returns why that is not possible. */
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
    // The code's waiting time does not count.
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

  /** Runs a program until it has ended or has nothing left to do. Whenever only calls are pending, they are made. */
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

  /** Returns the names that the code has declared. Reading them may run getters, whose work ends here. */
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

  /** Prevents code from calling tools and changing the scratchpad from now on. */
  private close(): void {
    try {
      this.realm.call('close');
    } catch {
      // Without memory even this fails; the executor then ends.
    }
  }

  private get thrown(): Thrown {
    const { timeoutMs, memoryBytes } = this.settings;
    return { timedOut: this.timedOut, timeoutSeconds: timeoutMs / 1_000, isFull: this.realm.memoryUsed() > memoryBytes * 0.8 };
  }
}

/** A cell in the engine's form: a function, or a module if it has import declarations. Both return their variables at the end. */
export interface Program {
  source: string;
  /** The export name of the module's variables; absent for a function. */
  exported?: string;
}

/** Reads a cell. A refused cell has not run at all. */
export function readProgram(parser: Parser, code: string, allowedImports: readonly string[]): ExecutionError | Program {
  const error = parser.failure(code);
  const isModule = error !== undefined && (parser.failure(code, true) === undefined || parser.imports(code).length > 0);
  if (error !== undefined && !isModule) return error;
  const problem = importsProblem(parser, { code, isModule }, allowedImports);
  if (problem !== undefined) return problem;
  const program = programOf(code, declaredNames(parser, code, isModule), isModule);
  return parser.failure(program.source, isModule) ?? program;
}

function programOf(code: string, names: readonly string[], isModule: boolean): Program {
  let handOver = 'handOver';
  while (code.includes(handOver)) handOver += '$';
  const members = names.map((name) => `get ${name}(){return ${name}},set ${name}(value$${name}){${name}=value$${name}}`).join();
  return isModule
    ? { source: `${code}\n;export const ${handOver} = {${members}};`, exported: handOver }
    : { source: `(async (${handOver}) => {${code}\n;${handOver}({${members}})})` };
}

/** A name in code: the parser decides which of them are declared. */
const NAME_PATTERN = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/gu;

const DECLARATION = /\b(?:let|const|var|class|function)(?:\s+|\s*\*\s*)([\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*)/gu;

/** Returns the names that code, which must be parsable, declares at its top level. */
export function declaredNames(parser: Parser, code: string, isModule = false): string[] {
  const declared = plainlyDeclared(parser, code, isModule);
  let candidates = [...new Set(code.match(NAME_PATTERN))].filter(
    (name) => !JAVASCRIPT_RESERVED_WORDS.has(name) && !declared.includes(name),
  );
  let firstLine: number | undefined;
  // A second declaration of a name is an error, and the parser stops at the first: its line identifies the name.
  for (;;) {
    const line = parser.failedLine(`${code}\n;${candidates.map((name) => `\nlet ${name};`).join('')}`, isModule);
    if (line === undefined) return declared;
    // The parser has its own notion of line ends, so it determines the line of the first of these declarations.
    firstLine ??= parser.failedLine(`${code}\n;\n@`, isModule) ?? line;
    const name = candidates[line - firstLine];
    if (name === undefined) return declared;
    declared.push(name);
    candidates = candidates.slice(line - firstLine + 1);
  }
}

/** Returns the names after declaration keywords, if the parser confirms all of them: a name that can be exported is declared. */
function plainlyDeclared(parser: Parser, code: string, isModule: boolean): string[] {
  const imported = isModule ? importedNames(parser, code) : [];
  const found = [...imported, ...[...code.matchAll(DECLARATION)].map(([, name = '']) => name)];
  const names = [...new Set(found)].filter((name) => !JAVASCRIPT_RESERVED_WORDS.has(name));
  if (areDeclared(parser, code, names)) return names;
  return imported.filter((name) => areDeclared(parser, code, [name]));
}

function areDeclared(parser: Parser, code: string, names: readonly string[]): boolean {
  return parser.failure(`${code}\n;export {${names.join()}};`, true) === undefined;
}

/** The prelude's report on a run. */
export interface Outcome {
  state: 'pending' | 'done' | 'failed';
  name?: string;
  message?: string;
}

/** The state of a context when something was thrown. */
export interface Thrown {
  timedOut: boolean;
  timeoutSeconds: number;
  /** True if most of the memory is in use. */
  isFull: boolean;
}

const OUT_OF_MEMORY: ExecutionError = { kind: 'memory', message: 'The code ran out of memory' };

/** Returns why a run failed, from the prelude's report; undefined if it did not fail. */
function failureOfCode(outcome: Outcome, thrown: Thrown): ExecutionError | undefined {
  if (thrown.timedOut) return timeoutError(thrown.timeoutSeconds);
  if (outcome.state === 'done') return undefined;
  if (outcome.state === 'pending') return { kind: 'runtime', message: 'Error: the code awaits a promise that nothing settles' };
  const { name = '', message = '' } = outcome;
  if (name === 'InternalError' && message === 'out of memory') return OUT_OF_MEMORY;
  // The engine throws null if there is no memory left for an error.
  if (name === '' && message === 'null' && thrown.isFull) return OUT_OF_MEMORY;
  const kind = name === 'ReferenceError' && message.endsWith(' is not defined') ? 'undefined_name' : 'runtime';
  return { kind, message: name === '' ? message : `${name}: ${message}` };
}

/** Returns why a run failed, from the engine's exception: code was interrupted, or not even the prelude could report the error. */
function failureOfEngine(error: unknown, thrown: Thrown): ExecutionError {
  if (thrown.timedOut) return timeoutError(thrown.timeoutSeconds);
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof JSException && (error.name === '<null>' || message === 'out of memory')) return OUT_OF_MEMORY;
  if (thrown.isFull || message.endsWith('out of memory')) return OUT_OF_MEMORY;
  if (error instanceof JSException) return { kind: 'runtime', message: `${error.name}: ${message.slice(0, 500)}` };
  return { kind: 'protocol', message: `The engine failed: ${message.slice(0, 500)}` };
}

/** Begins every image. */
const MAGIC = Buffer.from('LHQJS1\n');
const MAX_HEADER_BYTES = 10_000;

/** The conditions that a memory must match, and the engine's location in it. */
interface Header {
  engine: string;
  functions: string;
  tools: string;
  limits: string;
  digest: string;
  bytes: number;
  stackPointer: number;
  runtimePtr: number;
  contextPtr: number;
  token: number;
}

/** Writes a memory as an image, with the conditions that it must match. */
function writeImage({ snapshot, token }: RealmImage, engine: string, settings: ThreadSettings): Uint8Array<ArrayBuffer> {
  const { memory, stackPointer, runtimePtr, contextPtr } = snapshot;
  const fitting = bindings(engine, settings);
  const header: Header = { ...fitting, digest: digest(memory), bytes: memory.length, stackPointer, runtimePtr, contextPtr, token };
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return new Uint8Array(Buffer.concat([MAGIC, length, text, memory]));
}

/** Reads an image, or returns why it cannot be restored here. */
function readImage(bytes: Uint8Array, engine: string, settings: ThreadSettings): RealmImage | string {
  try {
    const header = readHeader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    if (header === undefined) return 'it is not a checkpoint of this executor';
    const fitting = bindings(engine, settings);
    if (header.engine !== fitting.engine || header.functions !== fitting.functions) return 'it was made by another version of the executor';
    if (header.tools !== fitting.tools) return 'it was made with other tools, imports or scratchpad';
    if (header.limits !== fitting.limits) return 'it was made with other limits';
    const { stackPointer, runtimePtr, contextPtr, token } = header;
    const memory = bytes.subarray(MAGIC.length + 4 + headerLength(bytes));
    if (memory.length !== header.bytes || digest(memory) !== header.digest) return 'it is damaged';
    return { snapshot: { memory, stackPointer, runtimePtr, contextPtr, extensions: [] }, token };
  } catch {
    return 'it is damaged';
  }
}

function bindings(engine: string, settings: ThreadSettings): Pick<Header, 'engine' | 'functions' | 'tools' | 'limits'> {
  const { tools, scratchpad, allowedImports, ...limits } = settings;
  const text = (value: unknown): string => digest(Buffer.from(JSON.stringify(value)));
  return { engine, functions: digest(Buffer.from(PRELUDE)), tools: text([tools, scratchpad, allowedImports]), limits: text(limits) };
}

function readHeader(bytes: Buffer): Header | undefined {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  const length = headerLength(bytes);
  if (length > MAX_HEADER_BYTES) return undefined;
  return JSON.parse(bytes.toString('utf8', MAGIC.length + 4, MAGIC.length + 4 + length)) as Header;
}

function headerLength(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(MAGIC.length, true);
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

const KEYWORD = 'import';
/** How often a program with imports may contain the word: each occurrence is parsed. */
const MAX_WORDS = 50;

/** Blank space and comments: each text matches in one way only, so that the work grows with its length. */
const TRIVIA = String.raw`(?:\s|\/\*(?:[^*]|\*(?!\/))*\*\/|\/\/[^\n\r\u2028\u2029]*)*`;
const CALL = new RegExp(String.raw`^${TRIVIA}\(`, 'u');
const CALL_BY_NAME = new RegExp(String.raw`^${TRIVIA}\(${TRIVIA}(['"\x60])([^'"\x60\\$\n\r]*)\1${TRIVIA}\)`, 'u');
const META = new RegExp(String.raw`^${TRIVIA}\.`, 'u');

/** The imported names of a declaration: the text between its keyword and its module. */
const CLAUSE = new RegExp(String.raw`^([\s\S]*?)\bfrom${TRIVIA}['"]`, 'u');

/** Returns why a parsable program must not run: somewhere it imports, exports or requires something that it may not. */
function importsProblem(
  parser: Parser,
  { code, isModule }: { code: string; isModule: boolean },
  allowed: readonly string[],
): ExecutionError | undefined {
  const message = isModule ? declarationsProblem(parser, code, allowed) : undefined;
  const problem = message ?? wordsProblem(parser, { code, isModule }, allowed);
  if (problem !== undefined) return { kind: 'import_not_allowed', message: problem };
  return parser.uses(code, 'require', isModule)
    ? { kind: 'import_not_allowed', message: 'require is not allowed: write import' }
    : undefined;
}

/** Returns the names that a module's import declarations declare. */
function importedNames(parser: Parser, code: string): string[] {
  const names = keywords(parser, code, true).flatMap((rest) => {
    if (CALL.test(rest) || META.test(rest)) return [];
    const clause = CLAUSE.exec(rest)?.[1]?.replaceAll(/\/\*[\s\S]*?(?:\*\/|$)|\/\/.*/gu, ' ') ?? '';
    // The declared name is the last one of each part: `a`, `a as b`, `* as c`.
    return clause.split(',').flatMap((part) => part.match(NAME_PATTERN)?.slice(-1) ?? []);
  });
  return [...new Set(names)];
}

function declarationsProblem(parser: Parser, code: string, allowed: readonly string[]): string | undefined {
  const imports = parser.imports(code);
  const refused = imports.map((name) => importProblem(name, allowed)).find((problem) => problem !== undefined);
  if (refused !== undefined) return refused;
  if (imports.length === 0) return 'import and export are not allowed: the code is not a module';
  return parser.uses(code, 'export', true) ? 'export is not allowed: the variables of the code are there for the next' : undefined;
}

function wordsProblem(
  parser: Parser,
  { code, isModule }: { code: string; isModule: boolean },
  allowed: readonly string[],
): string | undefined {
  if (!parser.uses(code, KEYWORD, isModule)) return undefined;
  if (allowed.length === 0) return 'import() is not allowed: the code has no modules';
  if (code.split(KEYWORD).length > MAX_WORDS + 1) return `import is not allowed in code that has the word more than ${MAX_WORDS} times`;
  for (const rest of keywords(parser, code, isModule)) {
    const name = CALL_BY_NAME.exec(rest)?.[2];
    const problem = name === undefined ? undefined : importProblem(name, allowed);
    if (problem !== undefined) return problem;
    if (name === undefined && CALL.test(rest)) return 'import() is not allowed unless its argument is the name of a module, as a text';
    if (META.test(rest)) return 'import.meta is not allowed';
  }
  return undefined;
}

/** Returns the texts after each occurrence of the word as a keyword. */
function keywords(parser: Parser, code: string, isModule: boolean): string[] {
  const found: string[] = [];
  for (let index = code.indexOf(KEYWORD); index !== -1; index = code.indexOf(KEYWORD, index + 1)) {
    const rest = code.slice(index + KEYWORD.length);
    if (parser.failure(`${code.slice(0, index)}${NOWHERE_ELSE}${rest}`, isModule) !== undefined) found.push(rest);
  }
  return found;
}

/** The thread's functions that the prelude calls, and the clock and interrupts of code. None may throw. */
export interface Host {
  write(text: string): void;
  /** Keeps the JSON of a final answer, or returns why it is invalid. */
  answer(json: string): string;
  /** Makes calls, and returns the JSON of their results; empty if they cannot be made. */
  ask(json: string): string;
  /** True if the code must stop. */
  interrupt(): boolean;
  now(): number;
}

/** The engine and the settings of a realm. */
interface RealmOptions {
  engine: EngineModule;
  settings: ThreadSettings;
  host: Host;
}

/** The memory of a realm, and the token that locates the functions of its prelude in it. */
interface RealmImage {
  snapshot: Snapshot;
  token: number;
}

/** A context for a model's code, with the functions of its prelude. */
class Realm {
  readonly context: QuickJS;
  private readonly api: JSValueHandle;

  private constructor(context: QuickJS, api: JSValueHandle) {
    this.context = context;
    this.api = api;
  }

  static async create(options: RealmOptions): Promise<Realm> {
    const { settings } = options;
    const context = await createContext(engineOptions(options));
    const functions = Object.entries(hostFunctions(context, options)).map(([name, run]) => context.newFunction(name, run));
    const make = context.evalCode(PRELUDE, 'prelude', EvalFlags.STRICT);
    const api = context.callFunction(make, context.undefined, ...functions, context.newString(preludeSettings(settings)));
    // Modules are evaluated before code can change the built-ins that they use.
    for (const name of MODULES.keys()) {
      if (settings.allowedImports.includes(name)) context.evalCode(`import '${name}'`, 'prelude', EvalFlags.TYPE_MODULE).dispose();
    }
    context.executePendingJobs();
    return new Realm(context, api);
  }

  /** Creates a realm from another realm's memory, which must have had the same options. */
  static async restore(options: RealmOptions, { snapshot, token }: RealmImage): Promise<Realm> {
    const context = await restoreContext(snapshot, engineOptions(options));
    for (const [name, run] of Object.entries(hostFunctions(context, options))) context.registerHostCallback(name, run);
    return new Realm(context, context.importHandle(token));
  }

  /** Returns a copy of the memory. */
  image(): RealmImage {
    return { token: this.context.exportHandle(this.api), snapshot: this.context.snapshot() };
  }

  /** Starts a cell: the source of a function. */
  start(source: string): void {
    const cell = this.context.evalCode(source, FILE_NAME);
    try {
      this.callWith('start', [cell]);
    } finally {
      cell.dispose();
    }
  }

  /** Starts a cell that is a module, and passes on its variables from the export named `exported`. */
  startModule(source: string, exported: string): void {
    const module = this.context.evalCode(source, FILE_NAME, EvalFlags.TYPE_MODULE);
    const name = this.context.newString(exported);
    try {
      this.callWith('startModule', [module, name]);
    } finally {
      module.dispose();
      name.dispose();
    }
  }

  /** Calls a function of the prelude with texts and numbers, and returns its text. */
  call(name: string, ...values: (string | number)[]): string {
    const { context } = this;
    const handles = values.map((value) => (typeof value === 'string' ? context.newString(value) : context.newNumber(value)));
    try {
      return this.callWith(name, handles);
    } finally {
      for (const handle of handles) handle.dispose();
    }
  }

  memoryUsed(): number {
    try {
      return this.context.getMemoryUsage().mallocSize;
    } catch {
      return 0;
    }
  }

  private callWith(name: string, values: readonly JSValueHandle[]): string {
    const called = this.api.getProp(name);
    try {
      return this.context
        .callFunction(called, this.context.undefined, ...values)
        .consume((result) => (result.isString ? result.toString() : ''));
    } finally {
      called.dispose();
    }
  }
}

function engineOptions({ engine, settings, host }: RealmOptions): EngineOptions {
  const { memoryBytes, allowedImports } = settings;
  return {
    engine,
    memoryLimit: memoryBytes,
    now: () => host.now(),
    interruptHandler: () => host.interrupt(),
    moduleLoader: { normalize: (_base, name) => name, load: (name) => moduleSource(name, allowedImports) },
  };
}

type HostFunctions = Record<'write' | 'answer' | 'ask', (value?: JSValueHandle) => JSValueHandle>;

/** Returns the host functions by name, in the order of the prelude's arguments. A snapshot refers to them by name. */
function hostFunctions(context: QuickJS, { settings: { outputLength }, host }: RealmOptions): HostFunctions {
  const isText = (value: JSValueHandle | undefined, length: number): value is JSValueHandle =>
    value?.isString === true && value.length <= length;
  return {
    write: (text) => {
      if (isText(text, outputLength)) host.write(text.toString());
      return context.undefined;
    },
    answer: (json) => context.newString(isText(json, MAX_ANSWER_LENGTH) ? host.answer(json.toString()) : 'the value is not text'),
    ask: (json) => context.newString(isText(json, MAX_BATCH_LENGTH + 2) ? host.ask(json.toString()) : ''),
  };
}

function preludeSettings({ tools, scratchpad }: ThreadSettings): string {
  const settings: PreludeSettings = {
    tools: tools.map(({ name, parameters }) => ({ name, parameters, isName: isVariableName(name) })),
    scratchpad,
    calls: MAX_CALLS,
    segments: MAX_SEGMENTS,
    depth: MAX_JSON_DEPTH,
    answerLength: MAX_ANSWER_LENGTH,
    argumentsLength: MAX_ARGUMENTS_LENGTH,
    batchLength: MAX_BATCH_LENGTH,
    scratchpadLength: MAX_SCRATCHPAD_LENGTH,
    namespaceLength: MAX_NAMESPACE_LENGTH,
  };
  return JSON.stringify(settings);
}

/** The deterministic functions and constants of `Math`. */
const MATH =
  'abs acos acosh asin asinh atan atan2 atanh cbrt ceil clz32 cos cosh exp expm1 floor fround hypot imul log log10 log1p log2 max min ' +
  'pow round sign sin sinh sqrt tan tanh trunc E LN10 LN2 LOG10E LOG2E PI SQRT1_2 SQRT2';

const MATH_NAMES = MATH.replaceAll(' ', ', ');

/** The executor's modules: their names and their code. */
const MODULES: ReadonlyMap<string, string> = new Map([
  ['math', `export const { ${MATH_NAMES} } = Math;\nexport default Object.freeze({ ${MATH_NAMES} });`],
]);

/** Returns why code may not import a module; undefined if it may. The first part of its name decides. */
export function importProblem(name: string, allowed: readonly string[]): string | undefined {
  const shown = `Import "${name.slice(0, 200)}" is not allowed`;
  if (allowed.length === 0) return `${shown}: the code has no modules`;
  if (!allowed.includes(name.split('/')[0] ?? '')) return `${shown}: the code may import ${allowed.join(', ')}`;
  if (MODULES.has(name)) return undefined;
  return `${shown}: the executor has no such module, only ${[...MODULES.keys()].join(', ')}`;
}

/** Returns the code of a module for the engine. Code is checked before it runs, so the engine never asks for a forbidden module. */
function moduleSource(name: string, allowed: readonly string[]): string {
  const source = importProblem(name, allowed) === undefined ? MODULES.get(name) : undefined;
  return source ?? "throw new TypeError('This import is not allowed');";
}
