import { EvalFlags, type JSValueHandle, type QuickJS, type Snapshot } from 'quickjs-wasi';
import { MAX_JSON_DEPTH } from '../../../../src/core/domain/json.ts';
import {
  isVariableName,
  MAX_ANSWER_LENGTH,
  MAX_ARGUMENTS_LENGTH,
  MAX_BATCH_LENGTH,
  MAX_CALLS,
  MAX_NAMESPACE_LENGTH,
  MAX_SCRATCHPAD_LENGTH,
  MAX_SEGMENTS,
  type ThreadSettings,
} from '../../frames.ts';
import { createContext, type EngineModule, type EngineOptions, FILE_NAME, restoreContext } from './engine.ts';
import { PRELUDE, type PreludeSettings } from './prelude.ts';

/** The functions of the thread that the prelude calls, and the conditions under which code runs. None may throw. */
export interface Host {
  write(text: string): void;
  /** Keeps the JSON of a final answer, or explains why it is none. */
  answer(json: string): string;
  /** Has calls made, and returns the JSON of their results; empty if they cannot be made. */
  ask(json: string): string;
  /** True if the code has to stop. */
  interrupt(): boolean;
  now(): number;
}

/** The engine and the settings of a realm. */
interface RealmOptions {
  engine: EngineModule;
  settings: ThreadSettings;
  host: Host;
}

/** The memory of a realm, and the token by which it finds the functions of its prelude in it. */
export interface RealmImage {
  snapshot: Snapshot;
  token: number;
}

/** One context in which the code of a model runs, with the functions of its prelude. */
export class Realm {
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
    // Modules are made of built-ins that code has not changed yet.
    for (const name of MODULES.keys()) {
      if (settings.allowedImports.includes(name)) context.evalCode(`import '${name}'`, 'prelude', EvalFlags.TYPE_MODULE).dispose();
    }
    context.executePendingJobs();
    return new Realm(context, api);
  }

  /** Makes a realm of the memory of another, which had the same options. */
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

  /** Starts a cell that is a module, and hands its variables over in what it exports by the name `exported`. */
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

  /** Calls a function of the prelude with texts and numbers, and returns the text that it returns. */
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

/** The functions by their names, in the order of the prelude's arguments. A snapshot has the names. */
function hostFunctions(context: QuickJS, { settings: { outputLength }, host }: RealmOptions): HostFunctions {
  const isText = (value: JSValueHandle | undefined, length: number): value is JSValueHandle =>
    value?.isString === true && value.length <= length;
  return {
    write: (text) => {
      if (isText(text, outputLength)) host.write(text.toString());
      return context.undefined;
    },
    answer: (json) => context.newString(isText(json, MAX_ANSWER_LENGTH) ? host.answer(json.toString()) : 'the value is no text'),
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

/** The functions and constants of `Math` that give the same result each time. */
const MATH =
  'abs acos acosh asin asinh atan atan2 atanh cbrt ceil clz32 cos cosh exp expm1 floor fround hypot imul log log10 log1p log2 max min ' +
  'pow round sign sin sinh sqrt tan tanh trunc E LN10 LN2 LOG10E LOG2E PI SQRT1_2 SQRT2';

const MATH_NAMES = MATH.replaceAll(' ', ', ');

/** The modules that the executor has: their names and their code. */
const MODULES: ReadonlyMap<string, string> = new Map([
  ['math', `export const { ${MATH_NAMES} } = Math;\nexport default Object.freeze({ ${MATH_NAMES} });`],
]);

/** Explains why code may not import a module; undefined if it may. A module is allowed by the first part of its name. */
export function importProblem(name: string, allowed: readonly string[]): string | undefined {
  const shown = `Import "${name.slice(0, 200)}" is not allowed`;
  if (allowed.length === 0) return `${shown}: the code has no modules`;
  if (!allowed.includes(name.split('/')[0] ?? '')) return `${shown}: the code may import ${allowed.join(', ')}`;
  if (MODULES.has(name)) return undefined;
  return `${shown}: the executor has no such module, only ${[...MODULES.keys()].join(', ')}`;
}

/** The code of a module, for the engine. Code is checked before it runs, so a module that may not be imported is never asked for. */
function moduleSource(name: string, allowed: readonly string[]): string {
  const source = importProblem(name, allowed) === undefined ? MODULES.get(name) : undefined;
  return source ?? "throw new TypeError('This import is not allowed');";
}
