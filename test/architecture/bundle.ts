import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { AsyncLocalStorage } from 'node:async_hooks';
import { createContext, runInContext } from 'node:vm';
import { LonghaulPlugin } from '../../worker/index.ts';
import { withoutComments } from './source-file.ts';
import { packageOf } from './source-tree.ts';

/** The contents of a worker's workflow bundle. */
export interface WorkflowBundle {
  /** Bytes of code, without comments and without the source map that the bundler appends. */
  codeBytes: number;
  /** Names of the packages in it, and `node:*` for a built-in module of Node. */
  packages: string[];
  /** The files of the project in it, relative to its root. */
  files: string[];
  /** All names under which Temporal could start a workflow. */
  workflowTypes: string[];
}

/** The source map ends the bundle. It has megabytes: an expression that captures it can overflow the stack. */
const SOURCE_MAP = '//# sourceMappingURL=data:application/json;charset=utf-8;base64,';

/** Builds the bundle of a worker that serves agents and these workflows. */
export async function bundleWorkflows(root: string, userWorkflows?: string): Promise<WorkflowBundle> {
  const plugin = new LonghaulPlugin({ agents: [], providers: {} });
  const { workflowsPath } = plugin.configureWorker({
    taskQueue: 'bundle',
    ...(userWorkflows === undefined ? {} : { workflowsPath: userWorkflows }),
  });
  if (workflowsPath === undefined) throw new Error('The plugin gives the worker no workflows: see configureWorker');
  const { code } = await bundleWorkflowCode({ workflowsPath, plugins: [plugin], logger: new DefaultLogger('ERROR') });
  const at = code.lastIndexOf(SOURCE_MAP);
  if (at < 0) throw new Error('The bundle has no source map: see SOURCE_MAP');
  const modules = modulesOf(code.slice(at + SOURCE_MAP.length).trim());
  return {
    codeBytes: Buffer.byteLength(withoutComments(code)),
    packages: [...new Set(modules.map(bundledPackage).filter((name) => name !== undefined))].toSorted(),
    files: modules.filter((path) => path.startsWith(root) && bundledPackage(path) === undefined).map((path) => path.slice(root.length)),
    workflowTypes: workflowTypesOf(code),
  };
}

function modulesOf(encodedMap: string): string[] {
  const map: unknown = JSON.parse(Buffer.from(encodedMap, 'base64').toString());
  if (typeof map !== 'object' || map === null || !('sources' in map) || !Array.isArray(map.sources))
    throw new Error('The source map has no sources');
  return map.sources.map(String);
}

/** The package of a module. Built-in modules of Node are called `external "node:fs"` or the like. */
function bundledPackage(module: string): string | undefined {
  if (module.startsWith('external ')) return 'node:*';
  const inside = module.split('node_modules/').at(-1);
  return inside === undefined || inside === module ? undefined : packageOf(inside);
}

/** Loads the bundle as a worker's sandbox does, and returns its workflow types. */
function workflowTypesOf(code: string): string[] {
  const sandbox: { [name: string]: unknown } = {
    __webpack_module_cache__: {},
    AsyncLocalStorage,
    TextEncoder,
    TextDecoder,
    URL,
    URLSearchParams,
  };
  const names: unknown = runInContext(`${code}\nObject.keys(__TEMPORAL__.importWorkflows()).join()`, createContext(sandbox));
  return String(names).split(',').toSorted();
}
