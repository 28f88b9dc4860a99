import type { ToolCaller, ToolSnapshot } from '../domain/agent.ts';
import type { CodeLanguage } from '../domain/code.ts';
import { isDeniedByName, type SnapshotParts } from '../domain/parts.ts';

/** True if the given caller (the model or code) may call a tool. */
export function mayCall(caller: ToolCaller, { callers }: { readonly callers?: readonly ToolCaller[] | undefined }): boolean {
  return callers?.includes(caller) ?? true;
}

/** The tools of a run and its initial rules. */
export interface CallingAgent extends SnapshotParts {
  readonly tools: readonly ToolSnapshot[];
}

/** Returns the tools that a caller may call, without those that the rules deny by name. */
export function toolsFor(caller: ToolCaller, agent: CallingAgent): ToolSnapshot[] {
  return agent.tools.filter((tool) => mayCall(caller, tool) && !isDeniedByName(agent, tool));
}

/** Returns the id of a call made by code: the id of the `run_code` call, and a number, from 1. */
export function codeCallId(callId: string, number: number): string {
  return `${callId}.${number}`;
}

/** True for an id in the form of code's calls. The model's calls must not have such ids, or two calls could have the same one. */
export function isCodeCallId(id: string): boolean {
  return /\.[0-9]+$/.test(id);
}

/** JavaScript words that cannot be variable names, in strict or sloppy code, and those that cannot be global variables. */
export const JAVASCRIPT_RESERVED_WORDS: ReadonlySet<string> = new Set(
  (
    'arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for ' +
    'function if implements import in Infinity instanceof interface let NaN new null package private protected public return static ' +
    'super switch this throw true try typeof undefined var void while with yield'
  ).split(' '),
);

export const PYTHON_KEYWORDS: ReadonlySet<string> = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from global if import in is ' +
    'lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
);

/** Names that an executor provides to code in addition to the tools. */
const PROVIDED_NAMES: ReadonlySet<string> = new Set(
  'print console final_answer tools store recall observe memory uncertain explore commit'.split(' '),
);

/** Predefined names in JavaScript. A tool with such a name would hide them. */
const JAVASCRIPT_GLOBALS: ReadonlySet<string> = new Set(
  (
    'AggregateError Array ArrayBuffer Atomics BigInt BigInt64Array BigUint64Array Boolean DataView Date Error EvalError ' +
    'FinalizationRegistry Float16Array Float32Array Float64Array Function Int16Array Int32Array Int8Array Intl Iterator JSON Map Math ' +
    'Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String Symbol SyntaxError TypeError ' +
    'URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet constructor decodeURI decodeURIComponent ' +
    'encodeURI encodeURIComponent escape globalThis hasOwnProperty isFinite isNaN isPrototypeOf parseFloat parseInt ' +
    'propertyIsEnumerable then toLocaleString toString unescape valueOf'
  ).split(' '),
);

/** Predefined functions and types in Python. */
const PYTHON_BUILTINS: ReadonlySet<string> = new Set(
  (
    'abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex delattr dict dir divmod ' +
    'enumerate eval exec exit filter float format frozenset getattr globals hasattr hash help hex id input int isinstance issubclass ' +
    'iter len list locals map max memoryview min next object oct open ord pow property quit range repr reversed round set setattr ' +
    'slice sorted staticmethod str sum super tuple type vars zip Ellipsis NotImplemented BaseException BaseExceptionGroup Exception ' +
    'ExceptionGroup GeneratorExit KeyboardInterrupt StopAsyncIteration StopIteration SystemExit Warning'
  ).split(' '),
);

/** The other exceptions of Python. */
const PYTHON_EXCEPTION = /^[A-Z][A-Za-z]*(?:Error|Warning)$/;

export const LANGUAGE_NAMES: Readonly<Record<CodeLanguage, string>> = { javascript: 'JavaScript', python: 'Python' };

/** Returns why code cannot call a tool by its name, or undefined. */
export function spellingProblem(name: string, language: CodeLanguage): string | undefined {
  const spoken = LANGUAGE_NAMES[language];
  if (!isIdentifier(name)) return `${spoken} cannot spell this name: use letters, digits and "_", and begin with a letter`;
  if (name.startsWith('__')) return 'a name that begins with "__" is reserved';
  if (reservedWords(language).has(name)) return `it is a reserved word of ${spoken}`;
  if (PROVIDED_NAMES.has(name)) return 'code has a function of this name already';
  return isBuiltIn(name, language) ? `${spoken} has a function or a type of this name already` : undefined;
}

/** True if a parameter can have the name. */
export function isParameterName(name: string, language: CodeLanguage): boolean {
  return isIdentifier(name) && !reservedWords(language).has(name);
}

function isIdentifier(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
}

function reservedWords(language: CodeLanguage): ReadonlySet<string> {
  return language === 'python' ? PYTHON_KEYWORDS : JAVASCRIPT_RESERVED_WORDS;
}

function isBuiltIn(name: string, language: CodeLanguage): boolean {
  return language === 'python' ? PYTHON_BUILTINS.has(name) || PYTHON_EXCEPTION.test(name) : JAVASCRIPT_GLOBALS.has(name);
}
