import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import type { WorkerOptions } from '@temporalio/worker';
import { loopDigest } from '../activities/bursts/loop-digest.ts';
import type { CodecOptions } from '../src/codec/encryption.ts';

/** The folder of the bundle in the package: next to this file once built. There is no bundle next to the sources. */
export const PACKAGED_BUNDLE_FOLDER = fileURLToPath(new URL('.', import.meta.url));

/** The names of its files: the code, and its origin. */
export const PACKAGED_BUNDLE_FILES = { code: 'workflow-bundle.js', record: 'workflow-bundle.json' } as const;

/** The worker options that affect the bundle. */
export interface BundleParts extends Pick<
  WorkerOptions,
  'workflowsPath' | 'interceptors' | 'bundlerOptions' | 'dataConverter' | 'plugins' | 'debugMode'
> {
  codec?: CodecOptions | undefined;
  workflowStackTraces?: boolean | undefined;
}

/** The code and packages that a bundle was built from. */
export interface BundleOrigin {
  /** The digest of the loop, which is a constant in the bundle. */
  readonly loop: string;
  /** The versions of the bundled packages, and of the bundler. */
  readonly versions: Readonly<Record<string, string>>;
  /** The bundled files of each package. */
  readonly files: Readonly<Record<string, readonly string[]>>;
  /** A digest of the content of these files. */
  readonly content: string;
}

/** The record that the package has of its bundle. */
export interface BundleRecord {
  /** The digest of the code, to detect a damaged file. */
  readonly code: string;
  readonly origin: BundleOrigin;
}

const known = new Map<string, boolean>();

/**
 * Returns the bundle of the package if the worker would make the same one: with options that do not affect it, and from the files that
 * are installed. Otherwise undefined, and the worker bundles. `plugins` does not include Longhaul's.
 */
export function packagedBundle(parts: BundleParts, folder: string = PACKAGED_BUNDLE_FOLDER): { codePath: string } | undefined {
  if (changesBundle(parts)) return undefined;
  const isUsable = known.get(folder) ?? isOfInstalledFiles(folder);
  known.set(folder, isUsable);
  return isUsable ? { codePath: join(folder, PACKAGED_BUNDLE_FILES.code) } : undefined;
}

function changesBundle(parts: BundleParts): boolean {
  const { workflowsPath, interceptors, bundlerOptions, dataConverter = {}, plugins = [], debugMode, codec, workflowStackTraces } = parts;
  const { payloadConverterPath, failureConverterPath } = dataConverter;
  return (
    workflowsPath !== undefined ||
    bundlerOptions !== undefined ||
    payloadConverterPath !== undefined ||
    failureConverterPath !== undefined ||
    // Its failure converter is in the bundle.
    codec?.encryption !== undefined ||
    (interceptors?.workflowModules ?? []).length > 0 ||
    plugins.some((plugin) => 'configureWorker' in plugin || 'configureBundler' in plugin) ||
    // Both are for debugging workflow sources, and the bundle of the package has no source map.
    workflowStackTraces === true ||
    debugMode === true ||
    // As the SDK reads it.
    ['1', 't', 'true'].includes((process.env['TEMPORAL_DEBUG'] ?? '').toLowerCase())
  );
}

/** Also returns false for a missing or damaged bundle: the worker then makes its own. */
function isOfInstalledFiles(folder: string): boolean {
  try {
    const record = JSON.parse(readFileSync(join(folder, PACKAGED_BUNDLE_FILES.record), 'utf8')) as BundleRecord;
    const code = readFileSync(join(folder, PACKAGED_BUNDLE_FILES.code), 'utf8');
    return digestOf([code]) === record.code && isDeepStrictEqual(installedOrigin(record.origin.files), record.origin);
  } catch {
    return false;
  }
}

/** Returns the current origin of a bundle of these files. Throws if a file is missing, or if a package exists twice. */
export function installedOrigin(files: BundleOrigin['files']): BundleOrigin {
  const versions: Record<string, string> = {};
  const contents: string[] = [];
  for (const [name, folder] of packageFolders(Object.keys(files))) {
    versions[name] = manifestAt(join(folder, 'package.json')).version;
    for (const file of files[name] ?? []) contents.push(`${name}/${file}`, readFileSync(join(folder, file), 'utf8'));
  }
  return { loop: loopDigest(), versions, files, content: digestOf(contents) };
}

/** Returns a digest of texts, in their order. */
export function digestOf(texts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(`${Buffer.byteLength(text)}\n`).update(text);
  return hash.digest('base64url');
}

/**
 * Finds packages as the bundler does: from Longhaul's own, and from those that depend on them. Throws if one is missing, or if two of them
 * find different copies of a third: a bundle would have both.
 */
export function packageFolders(names: readonly string[]): Map<string, string> {
  const own = ownPackage();
  const manifests = new Map([[own.name, join(own.folder, 'package.json')]]);
  // The loop also visits what it adds.
  for (const from of manifests.values()) {
    const { dependencies, peerDependencies } = manifestAt(from);
    for (const name of names.filter((one) => one in { ...dependencies, ...peerDependencies })) {
      const at = foundManifest(name, pathToFileURL(from).href);
      if ((manifests.get(name) ?? at) !== at) throw new Error(`The package "${name}" is installed twice`);
      manifests.set(name, at);
    }
  }
  return new Map(
    names.toSorted().map((name) => {
      const manifest = manifests.get(name);
      if (manifest === undefined) throw new Error(`The package "${name}" is not installed`);
      return [name, dirname(manifest)];
    }),
  );
}

/** Returns Longhaul's own package. */
export function ownPackage(): { name: string; folder: string } {
  const manifest = foundManifest(import.meta.url, import.meta.url);
  return { name: manifestAt(manifest).name, folder: dirname(manifest) };
}

function foundManifest(name: string, from: string): string {
  const path = findPackageJSON(name, from);
  if (path === undefined) throw new Error(`The package "${name}" is not installed`);
  return realpathSync(path);
}

/** The part of a package.json that is read. */
interface Manifest {
  name: string;
  version: string;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

function manifestAt(path: string): Manifest {
  return JSON.parse(readFileSync(path, 'utf8')) as Manifest;
}
