import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BundleOptions } from '@temporalio/worker';

/** Returns the path of a workflow module: of its source or its built form, like this file. */
function workflowModule(name: string): string {
  return fileURLToPath(new URL(`../workflows/${name}${extname(import.meta.url)}`, import.meta.url));
}

/** The module that exports the workflows of Longhaul alone: every export of it becomes a workflow type. */
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

/** The converter that passes values which a run cannot decode to the run, so that it can refuse them. */
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

/** Tells the bundler where the SDK is: it searches beside the workflows, and the combined module is elsewhere. */
export function resolveSdk(hook: BundleOptions['webpackConfigHook']): NonNullable<BundleOptions['webpackConfigHook']> {
  const scope = dirname(dirname(dirname(createRequire(import.meta.url).resolve('@temporalio/workflow/package.json'))));
  return (config) => {
    const resolve = { ...config.resolve, modules: [...(config.resolve?.modules ?? []), scope] };
    return (hook ?? ((same) => same))({ ...config, resolve });
  };
}
