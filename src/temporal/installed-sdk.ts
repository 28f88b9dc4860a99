import { createRequire } from 'node:module';

/** Packages of Temporal's SDK that this package imports, in the client, the worker or the test kits. */
const PACKAGES = ['activity', 'client', 'common', 'envconfig', 'plugin', 'proto', 'testing', 'worker', 'workflow'];

/**
 * The versions of Temporal's SDK that this package finds, by the name of the package. One that is not found is left out: a
 * service that starts runs may be deployed without the packages of a worker, and a bundled one without any.
 */
export function installedSdk(): Record<string, string> {
  const versions: Record<string, string> = {};
  for (const name of PACKAGES) {
    const version = installedVersion(`@temporalio/${name}`);
    if (version !== undefined) versions[`@temporalio/${name}`] = version;
  }
  return versions;
}

/** Returns the version of a package that this one finds, or its own. Undefined if there is none, as in a bundle. */
export function installedVersion(name: string): string | undefined {
  // A bundle in CommonJS has no `import.meta`.
  const here: string | undefined = import.meta.url;
  if (here === undefined) return undefined;
  try {
    const manifest: unknown = createRequire(here)(`${name}/package.json`);
    return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : undefined;
  } catch {
    return undefined;
  }
}
