import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type * as packagedBundleModule from '../worker/packaged-bundle.ts';

type PackagedBundleModule = Pick<typeof packagedBundleModule, 'packagedBundle'>;

const WORKER = fileURLToPath(new URL('../dist/worker/', import.meta.url));

/**
 * Bundles the workflows of the built package once, before any test, unless the build has the bundle already: tests that pack the package or
 * run its command then have it as published.
 */
export async function setup(): Promise<void> {
  if (!existsSync(`${WORKER}write-packaged-bundle-main.js`)) return;
  const { packagedBundle } = (await import(pathToFileURL(`${WORKER}packaged-bundle.js`).href)) as PackagedBundleModule;
  if (packagedBundle({}) === undefined) await promisify(execFile)(process.execPath, [`${WORKER}write-packaged-bundle-main.js`]);
}
