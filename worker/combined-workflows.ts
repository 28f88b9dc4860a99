import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BundleOptions } from '@temporalio/worker';

/** The source or the built form of a workflow module, whichever this file is. */
function workflowModule(name: string): string {
  return fileURLToPath(new URL(`../workflows/${name}${extname(import.meta.url)}`, import.meta.url));
}

/** The module that exports `agentRun` alone: everything exported there becomes a workflow type. */
export const AGENT_RUN_MODULE = workflowModule('agent-run');

/** The modules that every bundle needs: the reason of a cancellation, which the SDK does not pass in, and the guards against what queries and Updates do to runs that are just loaded. */
export const INTERCEPTOR_MODULES: readonly string[] = ['cancellation', 'query-guard', 'update-guard'].map((name) =>
  workflowModule(`interceptors/${name}`),
);

/** The converter that gives a run what it cannot read as a value, to be refused. */
export const PAYLOAD_CONVERTER_MODULE = workflowModule('interceptors/payload-converter');

/**
 * A module that exports the user's workflows and `agentRun`, so that one worker serves both without the user having
 * to re-export anything. Returns the path to give to the bundler.
 */
export function combinedWorkflows(userWorkflows: string | undefined): string {
  if (userWorkflows === undefined || userWorkflows === AGENT_RUN_MODULE) return AGENT_RUN_MODULE;
  const code = [userWorkflows, AGENT_RUN_MODULE].map((path) => `export * from ${JSON.stringify(path)};\n`).join('');
  // A directory that nobody else can have made or can write to: what lies in it becomes code of the worker.
  const directory = mkdtempSync(join(tmpdir(), 'longhaul-workflows-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'workflows.js');
  writeFileSync(path, code);
  return path;
}

/** The bundler looks for the SDK beside the workflows; the combined module lies elsewhere, so it is told where the SDK is. */
export function resolveSdk(hook: BundleOptions['webpackConfigHook']): NonNullable<BundleOptions['webpackConfigHook']> {
  const scope = dirname(dirname(dirname(createRequire(import.meta.url).resolve('@temporalio/workflow/package.json'))));
  return (config) => {
    const resolve = { ...config.resolve, modules: [...(config.resolve?.modules ?? []), scope] };
    return (hook ?? ((same) => same))({ ...config, resolve });
  };
}
