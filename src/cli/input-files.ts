import { type Stats, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ArchiveSink, CreateWorkerOptions, LonghaulPluginOptions, PayloadStore } from '../../worker/index.ts';
import { errorMessage, memberOf, UsageError } from '../core/domain/errors.ts';
import { defined, isJsonObject } from '../core/domain/json.ts';
import type { ModelClient } from '../core/domain/model.ts';
import type { Problem } from '../core/program/check/problems.ts';
import type { AnyAgent } from '../define/agent-definition.ts';
import { SHARED_OPTIONS } from '../define/all-parts.ts';
import type { Resources } from '../define/context.ts';
import { isCompiledProgram } from '../define/program/from-compiled-program.ts';
import type { AnyProgram } from '../define/program/program-definition.ts';
import type { MemoryStore } from '../memory/memory-store.ts';
import { nearestName } from '../core/domain/text.ts';
import { NEEDED_NODE } from '../node-version/node-version.ts';
import { type Terminal, textOrStdin } from './terminal.ts';

/** The worker options that the module may export, besides the ones checked here (`EXPORTS`), and that the worker checks. */
type CheckedByWorker = Exclude<keyof LonghaulPluginOptions, keyof typeof EXPORTS | keyof typeof BY_FLAGS>;

/** What a module may export for the worker to check, with the form of each: the compiler reports an option that is missing here. */
const CHECKED_BY_WORKER: Readonly<Record<CheckedByWorker, 'function' | 'object' | true>> = {
  ...SHARED_OPTIONS,
  embed: 'function',
  batch: 'object',
  secrets: true,
  archiveTimeout: true,
  streams: 'object',
  telemetry: 'object',
  captureContent: true,
  limits: 'object',
  governor: 'object',
  authorize: 'function',
  notify: 'function',
  notifyEnded: 'function',
  notifyEndedTimeout: true,
  prices: 'object',
  continueAsNew: 'object',
  childCheckEvery: true,
  missingTimeout: true,
  heartbeatEvery: true,
  transcriptCacheSize: true,
  codeCache: 'object',
  workflowStackTraces: true,
};

/** Worker options that a command reads elsewhere, because clients need the same, or because each start of a worker has others. */
const BY_FLAGS = { codec: '--codec or LONGHAUL_CODEC', versioning: '--deployment, --build-id and --versioning' } as const;

/** The exports of a module of agents that a worker uses. */
export interface AgentsModule extends Pick<CreateWorkerOptions, CheckedByWorker | 'payloadStore' | 'archive' | 'memory'> {
  agents: AnyAgent[];
  programs: AnyProgram[];
  /** Tools that the steps of documents may name, without the tools of programs. */
  tools: NonNullable<CreateWorkerOptions['tools']>;
  anchors: NonNullable<CreateWorkerOptions['anchors']>;
  /** Undefined if the module exports none: the command then provides defaults. */
  providers: Record<string, ModelClient> | undefined;
  resources: Resources;
}

/**
 * Loads the module that the user named. Throws a UsageError that explains what is wrong with it. Calls `note` with a line for each export
 * that is ignored and looks like a mistake.
 */
export async function loadAgentsModule(path: string, note: (line: string) => void = () => undefined): Promise<AgentsModule> {
  const file = resolve(path);
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) throw new UsageError(`The agents module "${path}" does not exist (looked for "${file}")`);
  if (!found.isFile()) throw new UsageError(`The agents module "${path}" is not a file: name the file, such as "${path}/agents.ts"`);
  const kind = await moduleKindProblem(path, file);
  if (kind !== undefined) throw new UsageError(kind);
  const exported = await importModule(path, file);
  const read = readExports(path, exported);
  for (const line of ignoredExports(path, exported)) note(line);
  return read;
}

async function importModule(path: string, file: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (error) {
    throw new UsageError(importProblem(path, extname(file), error), { cause: error });
  }
}

function readExports(path: string, exported: Record<string, unknown>): AgentsModule {
  const read = <Value>(name: keyof typeof EXPORTS): Value | undefined => exportIn(path, exported, name) as Value | undefined;
  // Agents and programs may be exports of any name. Documents of any client may name tools and anchors, so only listed ones count.
  const agents = read<AnyAgent[]>('agents') ?? elementsIn<AnyAgent>(exported, 'agents');
  const programs = read<AnyProgram[]>('programs') ?? elementsIn<AnyProgram>(exported, 'programs');
  const tools = read<AgentsModule['tools']>('tools') ?? [];
  if (agents.length + programs.length + tools.length === 0) {
    const names = Object.keys(exported).map((name) => `"${name}"`);
    throw new UsageError(
      `The agents module "${path}" exports no agents and no programs (it exports: ${names.join(', ') || 'nothing'}): ` +
        'write export const agents = [...], with agents made by defineAgent, or programs = [...], made by defineProgram',
    );
  }
  return {
    agents,
    programs,
    tools,
    anchors: read('anchors') ?? [],
    providers: providersIn(path, read('providers')),
    resources: read('resources') ?? {},
    ...defined({
      payloadStore: read<PayloadStore>('payloadStore'),
      archive: read<ArchiveSink>('archive'),
      memory: read<MemoryStore>('memory'),
    }),
    ...defined(Object.fromEntries(Object.keys(CHECKED_BY_WORKER).map((name) => [name, exported[name]]))),
  };
}

/** The checked exports: the kind of each, or of its elements if it is a list, and how to write it. */
const EXPORTS = {
  agents: { element: 'an agent', made: 'defineAgent', is: (value) => isOfKind(value, 'agent') },
  programs: { element: 'a program', made: 'defineProgram', is: (value) => isOfKind(value, 'program') },
  tools: { element: 'a tool', made: 'defineTool', is: (value) => isOfKind(value, 'tool') },
  anchors: {
    element: 'an anchor',
    made: 'defineAnchor',
    is: (value) => typeof memberOf(value, 'name') === 'string' && hasMethods(value, 'check'),
  },
  providers: { what: 'an object', write: 'providers = { openai: openai() }', is: isJsonObject },
  resources: { what: 'an object', write: 'resources = { pool }', is: isJsonObject },
  payloadStore: {
    what: 'a payload store',
    write: 'payloadStore = fileStore({ directory })',
    is: (value) => typeof memberOf(value, 'name') === 'string' && hasMethods(value, 'store', 'deleteRun'),
  },
  archive: { what: 'an archive', write: 'archive = fileArchive({ directory })', is: (value) => hasMethods(value, 'append', 'deleteRun') },
  memory: {
    what: 'a memory',
    write: 'memory = sqliteMemory({ file })',
    is: (value) => hasMethods(value, 'remember', 'recall', 'forget', 'list'),
  },
} as const satisfies Record<
  string,
  ({ what: string; write: string } | { element: string; made: string }) & { is: (value: unknown) => boolean }
>;

/** Returns a line for each export that is set by flags instead, or is named and formed almost like one that a worker uses. */
function ignoredExports(path: string, exported: Record<string, unknown>): string[] {
  const names = [...Object.keys(EXPORTS), ...Object.keys(CHECKED_BY_WORKER)];
  return Object.entries(exported).flatMap(([name, value]) => {
    const begin = `The agents module "${path}" exports "${name}", which is ignored`;
    if (value === undefined || names.includes(name)) return [];
    if (Object.hasOwn(BY_FLAGS, name)) return [`${begin}: set it with ${BY_FLAGS[name as keyof typeof BY_FLAGS]}`];
    const meant = nearestName(name, names);
    return meant === undefined || !hasForm(value, meant) ? [] : [`${begin}. Did you mean "${meant}"?`];
  });
}

/** True if the value could be the export of this name. Agents and programs are found under any name, and count as no mistake. */
function hasForm(value: unknown, name: string): boolean {
  if (name === 'agents' || name === 'programs') return false;
  if (isChecked(name)) {
    const { is, ...kind } = EXPORTS[name];
    return 'element' in kind ? Array.isArray(value) && value.length > 0 && value.every(is) : is(value);
  }
  const form = CHECKED_BY_WORKER[name as CheckedByWorker];
  return form === true || (typeof value === form && value !== null);
}

function isChecked(name: string): name is keyof typeof EXPORTS {
  return Object.hasOwn(EXPORTS, name);
}

/** True for a definition of this kind. Checks `kind` instead of the class: the module may use another copy of this package. */
function isOfKind(value: unknown, kind: string): boolean {
  return memberOf(value, 'kind') === `longhaul.${kind}`;
}

function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  return names.every((name) => typeof memberOf(value, name) === 'function');
}

function exportIn(path: string, exported: Record<string, unknown>, name: keyof typeof EXPORTS): unknown {
  const value = exported[name];
  const kind = EXPORTS[name];
  if (value === undefined) return undefined;
  if (!('element' in kind)) {
    if (kind.is(value)) return value;
    throw new UsageError(`"${name}" of the agents module "${path}" is not ${kind.what}: write export const ${kind.write}`);
  }
  if (!Array.isArray(value))
    throw new UsageError(`"${name}" of the agents module "${path}" is not a list: write export const ${name} = [...]`);
  const wrong = value.findIndex((one) => !kind.is(one));
  if (wrong < 0) return value;
  throw new UsageError(`"${name}[${wrong}]" of the agents module "${path}" is not ${kind.element}: make it with ${kind.made}`);
}

/** Returns the agents or programs that are exported under any name, individually or in a list, each once. */
function elementsIn<Element>(exported: Record<string, unknown>, name: 'agents' | 'programs'): Element[] {
  return [...new Set(Object.values(exported).flat().filter(EXPORTS[name].is))] as Element[];
}

function providersIn(path: string, providers: Record<string, ModelClient> | undefined): Record<string, ModelClient> | undefined {
  const wrong = Object.entries(providers ?? {}).find(([, client]) => !hasMethods(client, 'call') || !isJsonObject(client.capabilities));
  if (wrong === undefined) return providers;
  throw new UsageError(`"providers.${wrong[0]}" of the agents module "${path}" is not a model client: it has no "call" and "capabilities"`);
}

const TYPESCRIPT = ['.ts', '.mts', '.cts', '.tsx'];

/** Returns the line that explains why a module could not be loaded and, if known, how to fix it. */
export function importProblem(path: string, extension: string, error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  const message = messageOf(error);
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && TYPESCRIPT.includes(extension)) return noTypeScript(path, extension);
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') {
    return (
      `The agents module "${path}" cannot be loaded: ${message}${locationText(error)}. Node only strips types: ` +
      'write it without enums, namespaces and parameter properties, or compile it to JavaScript'
    );
  }
  return (
    importedKindProblem(path, error, fileOfFailure(error)) ??
    `The agents module "${path}" cannot be loaded: ${message}${locationText(error)}`
  );
}

/** Returns the message of an error. A definition lists all its problems; the other lines of a parser's message say nothing more. */
function messageOf(error: unknown): string {
  const message = errorMessage(error);
  return error instanceof Error && error.name === 'UsageError' ? message : message.split('\n').slice(0, 3).join(' ').trim();
}

function noTypeScript(path: string, extension: string): string {
  if (extension === '.tsx')
    return `The agents module "${path}" is a ".tsx" file, which Node cannot load: name it ".ts", or compile it to JavaScript`;
  return (
    `The agents module "${path}" is TypeScript, which this Node (${process.version}) does not load: ` +
    `use ${NEEDED_NODE}, without --no-experimental-strip-types, or compile it to JavaScript`
  );
}

/** Returns the file that a SyntaxError is about: the first line of its stack, before the message. */
function fileOfFailure(error: unknown): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  return /^(?:file:\/\/)?(\/[^\n]+):\d+\n/.exec(stack)?.[1];
}

/** Returns the location of an error in the user's code, which the message alone rarely shows. */
function locationText(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const locations = [...stack.matchAll(/(?:file:\/\/)?(\/[^():\n]+):(\d+)/g)].map(
    ([, file = '', line = '']) => `${decodeURI(file)}:${line}`,
  );
  const own = locations.find((one) => !/\/node_modules\/|\/cli\/agents-module\./.test(one));
  return own === undefined ? '' : ` (at ${own})`;
}

/** A statement at the beginning of a line that only an ES module has. */
const ES_MODULE = /^(?:import\s*[\w{*'"]|export\s*[{*]|export\s+(?:const|let|var|default|async|function|class|type|interface)\b)/m;

/** The ways in which a CommonJS module exports: without them it exports nothing. */
const COMMON_JS = /\b(?:module\.exports|exports\.\w+|require\()/;

/** Node's errors for an ES module that it loads as CommonJS. */
const TAKEN_FOR_COMMON_JS = /^(?:Cannot use import statement outside a module|Unexpected token 'export'|Cannot use 'import\.meta' outside)/;

/**
 * Returns advice for an ES module in a package that `package.json` declares as CommonJS, as `npm init -y` does;
 * otherwise undefined. Called before Node loads the module, because Node prints its own warning.
 */
async function moduleKindProblem(path: string, file: string): Promise<string | undefined> {
  if (!['.ts', '.js'].includes(extname(file))) return undefined;
  const manifest = await nearestManifest(dirname(file));
  if (manifest?.type !== 'commonjs') return undefined;
  const code = await readFile(file, 'utf8');
  return ES_MODULE.test(code) && !COMMON_JS.test(code) ? advice(path, path, manifest.path) : undefined;
}

/** Returns the same advice for a module that the one at `path` imports and that failed to load. `at` is its file. */
function importedKindProblem(path: string, error: unknown, at: string | undefined): string | undefined {
  if (!(error instanceof SyntaxError) || !TAKEN_FOR_COMMON_JS.test(error.message)) return undefined;
  return advice(path, at ?? path, 'package.json');
}

function advice(path: string, file: string, manifest: string): string {
  const named = basename(file).replace(/\.(ts|js)$/, '.m$1');
  return (
    `The agents module "${path}" cannot be loaded: "${file}" is an ES module, but "${manifest}" has "type": "commonjs", as "npm init -y" ` +
    `writes it: run npm pkg set type=module next to it, or name the file "${named}"`
  );
}

async function nearestManifest(folder: string): Promise<{ path: string; type: unknown } | undefined> {
  const path = join(folder, 'package.json');
  const found: unknown = await readFile(path, 'utf8').then(
    (text) => JSON.parse(text) as unknown,
    () => undefined,
  );
  if (typeof found === 'object' && found !== null) return { path, type: 'type' in found ? found.type : undefined };
  const above = dirname(folder);
  return above === folder ? undefined : nearestManifest(above);
}

/** The programs of a file: one document of a JSON file, or those that a module exports. */
export interface ProgramFile {
  /** The name of the file, for messages. */
  label: string;
  documents: unknown[];
  /** The module, if the file is one. */
  module?: AgentsModule;
}

/** The function that reads compiled programs of AXON. */
const CONVERT = 'fromCompiledProgram(json, { model }) of "longhaul/program" (docs/axon.md)';

const MODULES = ['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs'];

/** Reads a file of programs, or a document from stdin. Throws a UsageError that says what is wrong with the file. */
export async function readProgramFile(path: string, terminal: Pick<Terminal, 'stdin' | 'signal'>): Promise<ProgramFile> {
  if (extname(path) === '.axon') {
    const compile = `compile it with AXON, convert the compiled program with ${CONVERT}, and check the result`;
    throw new UsageError(`"${path}" is source text of AXON, which Longhaul does not compile: ${compile}`);
  }
  if (!MODULES.includes(extname(path))) {
    const document = await readJson(path, 'program', terminal);
    if (!isCompiledProgram(document)) return { label: path === '-' ? 'stdin' : basename(path), documents: [document] };
    throw new UsageError(`The program in "${path}" is one that AXON has compiled: convert it with ${CONVERT}, and check the result`);
  }
  const module = await loadAgentsModule(path);
  if (module.programs.length > 0) return { label: basename(path), documents: module.programs.map((one) => one.toJSON()), module };
  throw new UsageError(
    `The module "${path}" exports no programs: write export const programs = [...], with programs made by defineProgram`,
  );
}

/** Reads a JSON file, or stdin for "-". Throws a UsageError that names what the file is for. */
export async function readJson(path: string, noun: string, terminal: Pick<Terminal, 'stdin' | 'signal'>): Promise<unknown> {
  const text = path === '-' ? await textOrStdin(path, terminal) : await readUserFile(path, noun);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new UsageError(`The ${noun} in ${path === '-' ? 'stdin' : `"${path}"`} is not JSON: ${errorMessage(error)}`, { cause: error });
  }
}

/** Returns the problems because of which a module could not define a program; undefined for any other error. */
export function problemsOfDefinition(error: unknown): readonly Problem[] | undefined {
  for (let cause: unknown = error; typeof cause === 'object' && cause !== null; cause = 'cause' in cause ? cause.cause : undefined) {
    if ('problems' in cause && Array.isArray(cause.problems)) return cause.problems as Problem[];
  }
  return undefined;
}

/** The problem with a file in plain words, by system error code. */
const FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist: a part of its path is a file',
  EISDIR: 'is a folder: name a file',
  EACCES: 'may not be used by the user of this process',
  EPERM: 'may not be used by the user of this process',
  EROFS: 'is on a disk that cannot be written',
  ENOSPC: 'cannot be written: the disk is full',
  ELOOP: 'is a link that leads back to itself',
  ENAMETOOLONG: 'has a name that is too long',
};

/** Reads a text file that the user named. Throws a UsageError that says what the file is for, and what is wrong with it. */
export async function readUserFile(path: string, noun: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`The ${noun} "${path}" ${faultOf(error, 'cannot be read')}${lookedFor(path, error)}`, { cause: error });
  }
}

/** Returns the error for a file that the user named and that cannot be written. */
export function unwritable(path: string, error: unknown): UsageError {
  // For a file that is to be created, it is the folder that does not exist.
  const fault =
    memberOf(error, 'code') === 'ENOENT'
      ? 'is in a folder that does not exist: make the folder first'
      : faultOf(error, 'cannot be written');
  return new UsageError(`Nothing can be written: "${path}" ${fault}`, { cause: error });
}

/** Throws a UsageError unless the path is a file. `what` begins the message: `--memory names`. */
export function requireFile(path: string, what: string): void {
  const found = foundAt(path, what);
  if (found === undefined) throw new UsageError(`${what} "${path}", which does not exist`);
  if (found.isDirectory()) throw new UsageError(`${what} "${path}", which is a folder: name a file`);
}

/** Returns the file or folder at the path, or undefined. Throws a UsageError if the system does not say. */
export function foundAt(path: string, what: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw new UsageError(`${what} "${path}", which ${faultOf(error, 'cannot be read')}`, { cause: error });
  }
}

/** Throws a UsageError if the path is a folder: no file can be written there. */
export function refuseFolder(path: string): void {
  if (foundAt(path, 'The output is to be')?.isDirectory() === true) throw unwritable(path, { code: 'EISDIR' });
}

function faultOf(error: unknown, otherwise: string): string {
  return FAULTS[String(memberOf(error, 'code'))] ?? `${otherwise}: ${errorMessage(error)}`;
}

/** Names the absolute path of a missing file: the path may be relative to a folder that the user did not expect. */
function lookedFor(path: string, error: unknown): string {
  const isMissing = memberOf(error, 'code') === 'ENOENT';
  return isMissing && resolve(path) !== path ? ` (looked for "${resolve(path)}")` : '';
}
