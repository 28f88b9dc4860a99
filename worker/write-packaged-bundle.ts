import { existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { BundleOptions } from '@temporalio/worker';
import { bundleWorkflows, RUNS_MODULE, type WebpackPlugin } from './bundle-workflows.ts';
import {
  type BundleRecord,
  digestOf,
  installedOrigin,
  PACKAGED_BUNDLE_FILES,
  PACKAGED_BUNDLE_FOLDER,
  ownPackage,
  packageFolders,
} from './packaged-bundle.ts';
import { LonghaulPlugin } from './plugin.ts';

/** The package whose version determines what the bundler adds around the workflows. */
const BUNDLER = '@temporalio/worker';

/**
 * Writes the bundle of a worker without user workflows, and its origin, into a folder. `npm run prepack` writes it into the
 * package.
 */
export async function writePackagedBundle(folder: string = PACKAGED_BUNDLE_FOLDER): Promise<void> {
  const modules = new Set<string>();
  const { code } = await bundleWorkflows({
    workflowsPath: RUNS_MODULE,
    plugins: [new LonghaulPlugin({ agents: [], providers: {} })],
    webpackConfigHook: collecting(modules),
  });
  const packaged = withoutSources(code);
  const origin = installedOrigin(filesOfPackages([...modules].filter((path) => existsSync(path))));
  const record: BundleRecord = { code: digestOf([packaged]), origin };
  await write(join(folder, PACKAGED_BUNDLE_FILES.code), packaged);
  await write(join(folder, PACKAGED_BUNDLE_FILES.record), JSON.stringify(record));
}

/** Collects the module files, and names them in the code relative to the package folder, wherever the bundler runs. */
function collecting(modules: Set<string>): NonNullable<BundleOptions['webpackConfigHook']> {
  const collect: WebpackPlugin = {
    apply: (compiler) =>
      compiler.hooks.thisCompilation.tap('longhaul', (compilation) =>
        compilation.hooks.finishModules.tap('longhaul', (found) => {
          for (const module of found) if ('resource' in module && typeof module.resource === 'string') modules.add(module.resource);
        }),
      ),
  };
  return (config) => ({ ...config, context: ownPackage().folder, plugins: [...(config.plugins ?? []), collect] });
}

/** Sorts files by the packages that they belong to. Throws if one belongs to a second copy of its package. */
function filesOfPackages(paths: readonly string[]): Record<string, string[]> {
  const own = ownPackage();
  const names = paths.map((path) => /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(`/${relative(own.folder, path)}`)?.[1] ?? own.name);
  const folders = packageFolders([...new Set([...names, BUNDLER])]);
  const files: Record<string, string[]> = Object.fromEntries([...folders.keys()].map((name) => [name, []]));
  for (const [index, path] of paths.entries()) {
    const name = names[index] ?? '';
    const file = relative(folders.get(name) ?? '', path);
    if (file.startsWith('..')) throw new Error(`The bundle has a file of another copy of "${name}": ${path}`);
    files[name]?.push(file);
  }
  return Object.fromEntries(Object.entries(files).map(([name, ofPackage]) => [name, ofPackage.toSorted()]));
}

/** Writes atomically: a reader never finds half a file. */
async function write(path: string, text: string): Promise<void> {
  const unfinished = `${path}.${process.pid}`;
  await writeFile(unfinished, text);
  await rename(unfinished, path);
}

const SOURCE_MAP = '//# sourceMappingURL=data:application/json;charset=utf-8;base64,';
const NO_SOURCES = Buffer.from(JSON.stringify({ version: 3, file: 'workflow-bundle.js', sources: [], names: [], mappings: '' }));

/**
 * Returns a bundle with an empty source map, which the SDK requires. Each starting worker reads its bundle, and the map is most of it:
 * without it, the start takes a third of the time. Stack frames of workflows are then lines of the bundle.
 */
export function withoutSources(code: string): string {
  const at = code.lastIndexOf(SOURCE_MAP);
  if (at < 0) throw new Error('The bundle has no source map: see SOURCE_MAP');
  return `${code.slice(0, at)}${SOURCE_MAP}${NO_SOURCES.toString('base64')}`;
}
