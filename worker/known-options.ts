import { nonEmpty, requireKnown } from '../src/define/option-checks.ts';
import { UsageError } from '../src/domain/error.ts';
import type { CreateWorkerOptions } from './create-worker.ts';
import type { LonghaulPluginOptions } from './plugin.ts';

/** Every option by its name: one that is added to the type is missed here by the compiler. */
const PLUGIN: Record<keyof LonghaulPluginOptions, true> = {
  agents: true,
  providers: true,
  resources: true,
  secrets: true,
  payloadStore: true,
  archive: true,
  archiveTimeout: true,
  authorize: true,
  notify: true,
  prices: true,
  continueAsNew: true,
  heartbeatEvery: true,
  transcriptCacheSize: true,
  codec: true,
  versioning: true,
};

type OwnOption = Exclude<keyof CreateWorkerOptions, keyof LonghaulPluginOptions>;

const OWN: Record<OwnOption, true> = {
  connection: true,
  address: true,
  namespace: true,
  taskQueue: true,
  workflowsPath: true,
  shutdownGrace: true,
  logLevel: true,
  logFormat: true,
  worker: true,
};

/** Throws a UsageError for options that no plugin has, and for lists of agents and providers that are none. */
export function checkPluginOptions(options: LonghaulPluginOptions): void {
  requireKnown('the plugin', options, Object.keys(PLUGIN));
  checkParts('the plugin', options);
}

/** The same for `createWorker`. Returns what of the options is for the plugin. */
export function checkWorkerOptions(options: CreateWorkerOptions): LonghaulPluginOptions {
  requireKnown('the worker', options, [...Object.keys(PLUGIN), ...Object.keys(OWN)]);
  checkParts('the worker', options);
  for (const name of ['address', 'namespace', 'taskQueue', 'workflowsPath'] as const) {
    if (options[name] !== undefined) nonEmpty(`the worker: "${name}"`, options[name]);
  }
  if (options.connection !== undefined && options.address !== undefined) {
    throw new UsageError('the worker has both "connection" and "address": leave one of them out');
  }
  const own = Object.entries(options).filter(([name]) => Object.hasOwn(PLUGIN, name));
  return { ...Object.fromEntries(own), agents: options.agents, providers: options.providers };
}

/** Who writes JavaScript gets no other word for what is missing. */
function checkParts(owner: string, { agents, providers, versioning }: Partial<LonghaulPluginOptions>): void {
  if (!Array.isArray(agents)) throw new UsageError(`${owner}: "agents" is ${shown(agents)}: write a list of what defineAgent returned`);
  for (const agent of agents as readonly unknown[]) {
    if (kindOf(agent) === 'longhaul.agent') continue;
    throw new UsageError(`${owner}: "agents" has something that is no agent: make it with defineAgent`);
  }
  if (typeof providers !== 'object' || providers === null) {
    throw new UsageError(`${owner}: "providers" is ${shown(providers)}: write model clients by name, such as {openai: openai()}`);
  }
  for (const [name, client] of Object.entries(providers)) {
    if (typeof (client as { call?: unknown } | null)?.call === 'function') continue;
    throw new UsageError(
      `${owner}: "providers.${name}" is no model client: write openai({…}), or an object with "call" and "capabilities"`,
    );
  }
  if (versioning !== undefined) requireKnown(`${owner}: "versioning"`, versioning, ['deploymentName', 'buildId', 'behavior']);
}

function kindOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined;
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : typeof value === 'function' ? 'a function' : JSON.stringify(value);
}
