import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BundleOptions, type BundlerPlugin, bundleWorkflowCode, DefaultLogger, type ReplayWorkerOptions } from '@temporalio/worker';
import { loopDigest } from '../activities/bursts/loop-digest.ts';
import { errorMessage, UsageError } from '../src/core/domain/errors.ts';
import { defined } from '../src/core/domain/json.ts';

type WebpackConfig = Parameters<NonNullable<BundleOptions['webpackConfigHook']>>[0];
/** A plugin of the underlying bundler. */
export type WebpackPlugin = Extract<NonNullable<WebpackConfig['plugins']>[number], { apply: unknown }>;

/** The lines of webpack's output that are shown: enough to find the first error. */
const LINES_OF_OUTPUT = 8;

/** Bundles workflows without logging. Throws a UsageError with the bundler's reason. */
export async function bundleWorkflows(options: BundleOptions): Promise<{ code: string }> {
  const output: string[] = [];
  try {
    return await bundleWorkflowCode({ ...options, logger: new DefaultLogger('ERROR', ({ message }) => output.push(message)) });
  } catch (error) {
    throw new UsageError(
      `The workflows "${options.workflowsPath}" cannot be bundled: ${bundlerError(output.join('\n')) ?? errorMessage(error)}`,
      {
        cause: error,
      },
    );
  }
}

/** Returns the bundler's error without its own stack, which says nothing about the workflows. */
function bundlerError(output: string): string | undefined {
  const start = output.indexOf('ERROR in ');
  if (start < 0) return undefined;
  const lines = output.slice(start).split('\n');
  return lines
    .filter((line) => !/^\s+at /.test(line))
    .slice(0, LINES_OF_OUTPUT)
    .join('\n');
}

/** Returns the path of a workflow module: of its source or its built form, like this file. */
function workflowModule(name: string): string {
  return fileURLToPath(new URL(`../workflows/${name}${extname(import.meta.url)}`, import.meta.url));
}

/** The module that exports only Longhaul's workflows: each of its exports becomes a workflow type. */
export const RUNS_MODULE = workflowModule('runs');

/**
 * The interceptor modules of every bundle: they provide the reason of a cancellation, which the SDK omits, and the
 * guards for queries and Updates to runs that a worker has just loaded.
 */
export const INTERCEPTOR_MODULES: readonly string[] = ['cancellation', 'query-guard', 'update-guard'].map((name) =>
  workflowModule(`interceptors/${name}`),
);

/** The module that turns off stack traces. */
export const WITHOUT_STACK_TRACES_MODULE = workflowModule('interceptors/without-stack-traces');

/** The converter that passes undecodable values to the run, so that it can refuse them. */
export const PAYLOAD_CONVERTER_MODULE = workflowModule('interceptors/payload-converter');

/**
 * Writes a module that exports the user's workflows and those of Longhaul, so that one worker serves both without a re-export
 * by the user. Returns the path for the bundler.
 */
export function combinedWorkflows(userWorkflows: string | undefined): string {
  if (userWorkflows === undefined || userWorkflows === RUNS_MODULE) return RUNS_MODULE;
  const code = [userWorkflows, RUNS_MODULE].map((path) => `export * from ${JSON.stringify(path)};\n`).join('');
  // A new directory that no other user can write to: its content becomes code of the worker.
  const directory = mkdtempSync(join(tmpdir(), 'longhaul-workflows-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'workflows.js');
  writeFileSync(path, code);
  return path;
}

/** Sets the path of the SDK: the bundler searches next to the workflows, but the combined module is elsewhere. */
export function resolveSdk(configure: BundleOptions['webpackConfigHook']): NonNullable<BundleOptions['webpackConfigHook']> {
  const scope = dirname(dirname(dirname(createRequire(import.meta.url).resolve('@temporalio/workflow/package.json'))));
  return (config) => {
    const resolve = { ...config.resolve, modules: [...(config.resolve?.modules ?? []), scope] };
    return (configure ?? ((same) => same))({ ...config, resolve });
  };
}

/**
 * Puts modules that import each other into one scope. Otherwise each access to another module's export calls a getter, and every run
 * creates the modules and their getters again: together a seventh of the time of a replay.
 */
export function inOneScope(configure: NonNullable<BundleOptions['webpackConfigHook']>): NonNullable<BundleOptions['webpackConfigHook']> {
  const optimization = { concatenateModules: true, providedExports: true, usedExports: true };
  return (config) => configure({ ...config, optimization: { ...config.optimization, ...optimization } });
}

/** Defines the loop digest in workflows, so that no burst of another build makes decisions that their loop would not. */
export function withLoopDigest(
  configure: NonNullable<BundleOptions['webpackConfigHook']>,
): NonNullable<BundleOptions['webpackConfigHook']> {
  return (config) => {
    const configured = configure(config);
    const define: WebpackPlugin = {
      apply: (compiler) => new compiler.webpack.DefinePlugin({ LONGHAUL_LOOP: JSON.stringify(loopDigest()) }).apply(compiler),
    };
    return { ...configured, plugins: [...(configured.plugins ?? []), define] };
  };
}

/**
 * The interceptor module to add to a prebuilt bundle, so that a divergence can be described by its commands. A Replayer
 * that bundles itself adds it.
 */
export const COMMAND_RECORDER_MODULE = fileURLToPath(
  new URL(`../workflows/interceptors/command-recorder${extname(import.meta.url)}`, import.meta.url),
);

/**
 * Bundles workflows like a worker with these options, and adds the command recorder. Throws a UsageError with the
 * bundler's reason.
 */
export async function bundleForReplay(
  workflowsPath: string = RUNS_MODULE,
  { interceptors, dataConverter, bundlerOptions, plugins = [] }: Omit<ReplayWorkerOptions, 'workflowsPath'>,
): Promise<{ code: string }> {
  const { payloadConverterPath, failureConverterPath } = dataConverter ?? {};
  return bundleWorkflows({
    ...bundlerOptions,
    workflowsPath,
    workflowInterceptorModules: [...(interceptors?.workflowModules ?? []), COMMAND_RECORDER_MODULE],
    ...defined({ payloadConverterPath, failureConverterPath }),
    plugins: plugins.filter((plugin): plugin is typeof plugin & BundlerPlugin => 'configureBundler' in plugin),
  });
}
