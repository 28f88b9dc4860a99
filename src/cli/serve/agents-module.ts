import { stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ArchiveSink, CreateWorkerOptions, PayloadStore } from '../../../worker/index.ts';
import type { AnyAgent } from '../../define/agent-definition.ts';
import type { Resources } from '../../define/context/run-context.ts';
import { UsageError } from '../../core/domain/errors/error.ts';
import type { ModelClient } from '../../core/domain/model/model.ts';
import { importProblem } from './import-problem.ts';
import { moduleKindProblem } from './module-kind.ts';
import { type ProgramParts, readProgramParts } from './program-parts.ts';

/** The exports of a module of agents that a worker uses. */
export interface AgentsModule extends ProgramParts {
  agents: AnyAgent[];
  /** Undefined if the module exports none: the command then provides defaults. */
  providers: Record<string, ModelClient> | undefined;
  resources: Resources;
  /** The store for large tool results. Undefined if the module exports none. */
  payloadStore: PayloadStore | undefined;
  /** The archive for finished executions. Undefined if the module exports none. */
  archive: ArchiveSink | undefined;
  /** Other options of the worker, which the worker checks. */
  more: MoreOptions;
}

const MORE = ['secrets', 'authorize', 'notify', 'notifyEnded', 'prices', 'streams'] as const;

/** Worker options that a module may export under their own names. */
export type MoreOptions = Pick<CreateWorkerOptions, (typeof MORE)[number]>;

/** Loads the module that the user named. Throws a UsageError that explains what is wrong with it. */
export async function loadAgentsModule(path: string): Promise<AgentsModule> {
  const file = resolve(path);
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) throw new UsageError(`The agents module "${path}" does not exist (looked for "${file}")`);
  if (!found.isFile()) throw new UsageError(`The agents module "${path}" is not a file: name the file, such as "${path}/agents.ts"`);
  const kind = await moduleKindProblem(path, file);
  if (kind !== undefined) throw new UsageError(kind);
  return readExports(path, await importModule(path, file));
}

async function importModule(path: string, file: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (error) {
    throw new UsageError(importProblem(path, extname(file), error), { cause: error });
  }
}

function readExports(path: string, exported: Record<string, unknown>): AgentsModule {
  const agents = agentsIn(path, exported);
  const parts = readProgramParts(path, exported);
  if (agents.length + parts.programs.length + parts.tools.length === 0) {
    const names = Object.keys(exported).map((name) => `"${name}"`);
    throw new UsageError(
      `The agents module "${path}" exports no agents and no programs (it exports: ${names.join(', ') || 'nothing'}): ` +
        'write export const agents = [...], with agents made by defineAgent, or programs = [...], made by defineProgram',
    );
  }
  return {
    agents,
    ...parts,
    providers: providersIn(path, exported['providers']),
    resources: resourcesIn(path, exported['resources']),
    payloadStore: payloadStoreIn(path, exported['payloadStore']),
    archive: archiveIn(path, exported['archive']),
    more: Object.fromEntries(MORE.flatMap((name) => (exported[name] === undefined ? [] : [[name, exported[name]]]))),
  };
}

/** Returns the agents of `agents` if it is exported; otherwise every exported agent, alone or in an exported list. */
function agentsIn(path: string, exported: Record<string, unknown>): AnyAgent[] {
  const listed = exported['agents'];
  if (listed === undefined) return [...new Set(Object.values(exported).flat().filter(isAgent))];
  if (!Array.isArray(listed))
    throw new UsageError(`"agents" of the agents module "${path}" is not a list: write export const agents = [...]`);
  const wrong = listed.findIndex((one) => !isAgent(one));
  if (wrong < 0) return listed;
  throw new UsageError(`"agents[${wrong}]" of the agents module "${path}" is not an agent: make it with defineAgent`);
}

/**
 * True for an agent, recognised by its `kind` and not by its class: the module may use another copy of this package.
 */
function isAgent(value: unknown): value is AnyAgent {
  return isObject(value) && value['kind'] === 'longhaul.agent';
}

function providersIn(path: string, providers: unknown): Record<string, ModelClient> | undefined {
  if (providers === undefined) return undefined;
  if (!isObject(providers)) {
    throw new UsageError(
      `"providers" of the agents module "${path}" is not an object: write export const providers = { openai: openai() }`,
    );
  }
  const wrong = Object.entries(providers).find(([, client]) => !isModelClient(client));
  if (wrong !== undefined) {
    throw new UsageError(
      `"providers.${wrong[0]}" of the agents module "${path}" is not a model client: it has no "call" and "capabilities"`,
    );
  }
  return providers as Record<string, ModelClient>;
}

function isModelClient(value: unknown): value is ModelClient {
  return isObject(value) && typeof value['call'] === 'function' && isObject(value['capabilities']);
}

function resourcesIn(path: string, resources: unknown): Resources {
  if (resources === undefined) return {};
  if (isObject(resources)) return resources;
  throw new UsageError(`"resources" of the agents module "${path}" is not an object: write export const resources = { pool }`);
}

function payloadStoreIn(path: string, store: unknown): PayloadStore | undefined {
  if (store === undefined) return undefined;
  if (isPayloadStore(store)) return store;
  throw new UsageError(
    `"payloadStore" of the agents module "${path}" is not a payload store: write export const payloadStore = fileStore({ directory })`,
  );
}

function isPayloadStore(value: unknown): value is PayloadStore {
  return (
    isObject(value) && typeof value['name'] === 'string' && typeof value['store'] === 'function' && typeof value['deleteRun'] === 'function'
  );
}

function archiveIn(path: string, archive: unknown): ArchiveSink | undefined {
  if (archive === undefined) return undefined;
  if (isArchive(archive)) return archive;
  throw new UsageError(
    `"archive" of the agents module "${path}" is not an archive: write export const archive = fileArchive({ directory })`,
  );
}

function isArchive(value: unknown): value is ArchiveSink {
  return isObject(value) && typeof value['append'] === 'function' && typeof value['deleteRun'] === 'function';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
