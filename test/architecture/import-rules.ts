import type { Import, SourceFile } from './source-file.ts';
import { loadedBy, packageOf, type SourceTree, targetOf } from './source-tree.ts';

/** The files and packages that the files below a path may import. A path that ends in a slash stands for all files below it. */
interface Zone {
  files: string;
  /** Files of the project. The files of the zone itself need no mention. */
  may?: readonly string[];
  /** Files of the project whose types alone may be imported. */
  mayTypes?: readonly string[];
  /** Files of the project that only `import()` may load. */
  mayLazily?: readonly string[];
  packages?: readonly string[];
  /** Packages whose types alone may be imported. */
  packageTypes?: readonly string[];
  /** Packages that only `import()` may load; `(computed)` stands for a module that the user names. */
  packagesLazily?: readonly string[];
}

/**
 * The allowed imports: the first zone that contains a file decides. Folders without a zone (test, bench, examples) may import
 * everything.
 */
const ZONES: readonly Zone[] = [
  // This code runs in the sandbox and outside of it, and imports nothing from outside the core.
  // The types of executors are part of the data of a run that executes code.
  { files: 'src/core/domain/code/', may: ['src/core/domain/'], mayTypes: ['src/core/execution/'] },
  { files: 'src/core/domain/' },
  { files: 'src/core/hints/', may: ['src/core/domain/'] },
  { files: 'src/core/protocol.ts', may: ['src/core/protocol-names.ts'], mayTypes: ['src/core/domain/', 'src/core/loop/'] },
  { files: 'src/core/execution/', may: ['src/core/domain/'] },
  { files: 'src/core/json-schema/', may: ['src/core/domain/'], packages: ['@cfworker/json-schema'] },
  { files: 'src/core/loop/', may: ['src/core/domain/', 'src/core/json-schema/', 'src/core/execution/', 'src/core/children/'] },
  { files: 'src/core/children/', may: ['src/core/domain/', 'src/core/loop/'] },
  { files: 'src/core/program/references/', may: ['src/core/domain/', 'src/core/json-schema/'] },
  {
    files: 'src/core/program/check/',
    may: ['src/core/domain/', 'src/core/json-schema/', 'src/core/program/references/', 'src/core/program/refine/'],
  },
  {
    files: 'src/core/wire-schemas/',
    may: ['src/core/domain/', 'src/core/json-schema/', 'src/core/loop/state/'],
    mayTypes: ['src/core/protocol.ts'],
  },
  { files: 'src/core/saved/', may: ['src/core/domain/', 'src/core/json-schema/', 'src/core/wire-schemas/'] },
  { files: 'src/core/program/errors/', may: ['src/core/domain/'] },
  { files: 'src/core/program/validation/', may: ['src/core/domain/', 'src/core/program/errors/'] },
  { files: 'src/core/program/refine/', may: ['src/core/domain/', 'src/core/program/errors/'] },
  { files: 'src/core/program/state/', may: ['src/core/domain/', 'src/core/program/references/'] },
  { files: 'src/core/program/prompt/', may: ['src/core/domain/', 'src/core/loop/state/', 'src/core/program/references/'] },
  { files: 'src/core/program/', may: ['src/core/domain/', 'src/core/json-schema/', 'src/core/loop/', 'src/core/program/'] },
  { files: 'src/core/', may: ['src/core/'], packages: ['@temporalio/common'] },

  // Checks the version of Node before anything else is loaded.
  { files: 'src/node-version/node-version.ts' },
  { files: 'src/node-version/require-node.ts', may: ['src/core/', 'src/node-version/node-version.ts'] },

  // The parts of the product, each on the core.
  { files: 'src/schema/', may: ['src/core/'], packages: ['zod'] },
  { files: 'src/anchors/', may: ['src/core/'] },
  { files: 'src/memory/', may: ['src/core/', 'src/stores/payload-store/'], packages: ['node:*'] },
  { files: 'src/define/', may: ['src/core/', 'src/schema/', 'src/anchors/'], packages: ['zod'] },
  { files: 'src/index.ts', may: ['src/core/', 'src/define/', 'src/schema/', 'src/anchors/'] },
  { files: 'src/model/', may: ['src/core/', 'src/schema/'], packages: ['node:*', 'zod'] },
  { files: 'src/codec/', may: ['src/core/'], packages: ['node:*', '@temporalio/common', '@temporalio/proto'] },
  { files: 'src/stores/payload-store/', may: ['src/core/'], packages: ['node:*', '@temporalio/common'] },
  { files: 'src/stores/archive/', may: ['src/core/', 'src/stores/payload-store/'], packages: ['node:*'] },
  { files: 'src/secrets/', may: ['src/core/'], packages: ['node:*'] },
  { files: 'src/log/', may: ['src/core/'], packages: ['node:*'] },
  {
    files: 'src/streams/',
    may: ['src/core/', 'src/codec/payload-bytes.ts', 'src/define/options/option-checks.ts', 'src/temporal/'],
    packages: ['node:*', '@temporalio/common'],
    packageTypes: ['@temporalio/client', 'redis'],
    // Most processes have no Redis: its client is loaded when the sink is opened.
    packagesLazily: ['redis'],
  },
  { files: 'src/dev-server/', may: ['src/core/'], packages: ['node:*', 'env-paths', '@temporalio/client', '@temporalio/worker'] },

  // Calls to the server, the reading of histories, and the client on top of both.
  {
    files: 'src/temporal/',
    may: ['src/core/', 'src/codec/'],
    packages: ['node:*', '@temporalio/client', '@temporalio/common', '@temporalio/envconfig'],
  },
  {
    files: 'src/history/',
    may: ['src/core/', 'src/temporal/', 'src/codec/', 'src/stores/payload-store/'],
    packages: ['node:*', '@temporalio/client', '@temporalio/common'],
    packageTypes: ['@temporalio/proto'],
  },
  {
    files: 'src/client/',
    may: ['src/'],
    packages: ['zod', 'node:*', 'lru-cache', '@temporalio/client', '@temporalio/common', '@temporalio/envconfig'],
    packageTypes: ['@temporalio/proto'],
  },
  // Only the service on a port of its own loads a server.
  {
    files: 'src/server/node/',
    may: ['src/core/', 'src/server/'],
    packages: ['node:*', '@hono/node-server'],
  },
  // The HTTP service. Who calls, and how often, is decided without it.
  {
    files: 'src/server/auth/',
    may: ['src/core/', 'src/stores/payload-store/run-folder.ts', 'src/memory/file-lock.ts'],
    packages: ['node:*', 'zod', 'jose'],
  },
  { files: 'src/server/limits/', may: ['src/core/', 'src/server/auth/'], packages: ['lru-cache'] },
  { files: 'src/server/cors/', may: ['src/core/'] },
  // Only the protocols of others in folders of their own load packages of these.
  {
    files: 'src/server/protocols/openai/',
    may: ['src/core/', 'src/define/', 'src/client/', 'src/server/'],
    packages: ['zod', 'node:*', '@temporalio/client'],
    packageTypes: ['openai'],
  },
  {
    files: 'src/server/protocols/mcp/',
    may: ['src/core/', 'src/define/', 'src/schema/', 'src/client/', 'src/server/'],
    packages: ['node:*', '@modelcontextprotocol/server'],
  },
  {
    files: 'src/server/',
    may: ['src/core/', 'src/define/', 'src/temporal/', 'src/client/', 'src/server/', 'src/streams/', 'src/node-version/require-node.ts'],
    packages: ['node:*', 'zod', 'hono', 'lru-cache', '@temporalio/client', '@temporalio/common'],
  },
  {
    files: 'src/cli/',
    may: ['src/'],
    mayTypes: ['worker/'],
    mayLazily: ['worker/', 'activities/models/'],
    packages: ['node:*', 'commander', '@temporalio/client'],
    packageTypes: ['@temporalio/worker'],
    packagesLazily: ['@temporalio/worker', '(computed)'],
  },

  // The two sides of the sandbox, and the worker that combines them.
  {
    files: 'workflows/',
    may: ['src/core/'],
    mayTypes: ['src/define/'],
    packages: ['@temporalio/workflow', '@temporalio/common'],
  },
  // Only the module that opens a connection loads the client of MCP servers.
  {
    files: 'activities/mcp/',
    may: ['src/core/', 'src/define/', 'src/schema/', 'src/model/', 'activities/'],
    packages: ['node:*', 'zod', '@modelcontextprotocol/client'],
  },
  // Only the parser of skills reads YAML.
  {
    files: 'activities/skills/',
    may: ['src/core/', 'src/define/', 'src/stores/payload-store/', 'activities/'],
    packages: ['node:*', 'zod', 'yaml'],
  },
  // Only the thread of an executor loads an engine.
  { files: 'activities/executors/quickjs/thread/', may: ['src/core/', 'activities/executors/'], packages: ['node:*', 'quickjs-wasi'] },
  {
    files: 'activities/executors/',
    may: ['src/core/', 'src/node-version/require-node.ts'],
    mayTypes: ['src/define/code/'],
    packages: ['node:*'],
  },
  {
    files: 'activities/',
    may: [
      'src/core/',
      'src/anchors/',
      'src/memory/',
      'src/define/',
      'src/schema/',
      'src/model/',
      'src/stores/payload-store/',
      'src/stores/archive/',
      'src/secrets/',
      'src/streams/',
      'src/temporal/',
      'src/history/',
    ],
    packages: ['node:*', 'zod', 'openai', 'lru-cache', '@temporalio/activity', '@temporalio/common', '@temporalio/client'],
  },
  {
    files: 'worker/',
    may: ['src/', 'activities/'],
    mayTypes: ['workflows/'],
    packages: ['node:*', '@temporalio/worker', '@temporalio/client', '@temporalio/common', '@temporalio/plugin'],
  },

  // The kit for tests: its entry loads little, and a test that runs agents loads the rest.
  {
    files: 'src/testing/memory/',
    may: ['src/', 'activities/'],
    packages: ['node:*', '@temporalio/common', '@temporalio/testing', '@temporalio/worker'],
    packageTypes: ['@temporalio/client'],
  },
  {
    files: 'src/testing/durable/',
    may: ['src/', 'worker/'],
    packages: ['node:*', '@temporalio/common', '@temporalio/worker'],
    packageTypes: ['@temporalio/client'],
  },
  {
    files: 'src/testing/harness/',
    may: ['src/core/', 'src/memory/', 'src/testing/', 'src/define/children/'],
    mayTypes: ['src/'],
    packages: ['node:*', '@temporalio/common'],
    packageTypes: ['@temporalio/activity', '@temporalio/worker'],
  },
  {
    files: 'src/testing/',
    may: [
      'src/core/',
      'src/memory/conformance/',
      'src/streams/conformance/',
      'src/node-version/require-node.ts',
      'src/model/real-models.ts',
      'src/temporal/installed-sdk.ts',
    ],
    mayTypes: ['src/', 'worker/'],
    mayLazily: ['src/dev-server/'],
    packages: ['node:*'],
  },
];

/** Packages that must not be loaded together with a file, over any chain of imports. */
const CLOSURES: readonly { entries: string; mustNotLoad: readonly string[] }[] = [
  {
    entries: 'workflows/',
    mustNotLoad: ['zod', 'openai', 'node:*', '@temporalio/activity', '@temporalio/client', '@temporalio/worker', '@temporalio/testing'],
  },
  { entries: 'src/index.ts', mustNotLoad: ['openai', '@temporalio/client', '@temporalio/worker', '@temporalio/testing'] },
  { entries: 'src/define/program/index.ts', mustNotLoad: ['openai', '@temporalio/client', '@temporalio/worker', '@temporalio/testing'] },
  {
    entries: 'src/testing/index.ts',
    mustNotLoad: [
      'openai',
      'zod',
      '@temporalio/activity',
      '@temporalio/client',
      '@temporalio/common',
      '@temporalio/testing',
      '@temporalio/worker',
    ],
  },
  { entries: 'src/testing/', mustNotLoad: ['openai', '@temporalio/workflow'] },
  // Only the thread of an executor has an engine.
  { entries: 'activities/executors/quickjs/quickjs-executor.ts', mustNotLoad: ['quickjs-wasi'] },
  {
    entries: 'activities/executors/index.ts',
    mustNotLoad: ['quickjs-wasi', 'openai', '@temporalio/activity', '@temporalio/client', '@temporalio/worker', '@temporalio/testing'],
  },
  // Most workers have no MCP servers.
  { entries: 'worker/index.ts', mustNotLoad: ['@modelcontextprotocol/client', 'redis'] },
  { entries: 'src/client/index.ts', mustNotLoad: ['openai', '@temporalio/worker', '@temporalio/activity', '@temporalio/testing'] },
];

/** Lists every import that the zones do not allow, as a sentence. */
export function importViolations(tree: SourceTree): string[] {
  return [...tree.values()].flatMap((file) => {
    const zone = ZONES.find((one) => covers(one.files, file.path));
    if (zone === undefined) return inFolderOfZones(file) ? [`${file.path} is in no zone: give it one in import-rules.ts`] : [];
    return file.imports.filter((one) => !isAllowed(zone, file, one)).map((one) => sentence(zone, file, one));
  });
}

/** Lists every entry that loads a forbidden package, as a sentence with the chain of imports. */
export function closureViolations(tree: SourceTree): string[] {
  return CLOSURES.flatMap(({ entries, mustNotLoad }) =>
    [...tree.keys()]
      .filter((path) => covers(entries, path))
      .flatMap((path) => {
        const loaded = loadedBy(tree, path);
        return mustNotLoad.flatMap((name) => {
          const chain = loaded.get(name);
          return chain === undefined ? [] : [`${path} must not load ${name}: ${chain.join(' > ')}`];
        });
      }),
  );
}

/** Lists every relative import that names no file of the tree, or lacks its `.ts`. */
export function danglingImports(tree: SourceTree): string[] {
  return [...tree.values()].flatMap((file) =>
    file.imports
      .filter((one) => one.specifier.startsWith('.') && !tree.has(targetOf(file, one)))
      .map((one) => `${file.path} imports ${one.specifier}, which is no file of the project`),
  );
}

function isAllowed(zone: Zone, file: SourceFile, one: Import): boolean {
  const target = targetOf(file, one);
  if (!one.specifier.startsWith('.')) {
    const name = packageOf(target);
    if (has(zone.packages, name)) return true;
    return (one.typeOnly && has(zone.packageTypes, name)) || (one.lazy && has(zone.packagesLazily, name));
  }
  if (covers(zone.files, target) || hasFile(zone.may, target)) return true;
  return (one.typeOnly && hasFile(zone.mayTypes, target)) || (one.lazy && hasFile(zone.mayLazily, target));
}

function sentence(zone: Zone, file: SourceFile, one: Import): string {
  const how = one.typeOnly ? ' (types)' : one.lazy ? ' (lazily)' : '';
  return `${file.path} must not import ${targetOf(file, one)}${how}: ${zone.files} may not`;
}

function inFolderOfZones(file: SourceFile): boolean {
  return ZONES.some((zone) => zone.files.split('/')[0] === file.path.split('/')[0]);
}

function hasFile(places: readonly string[] | undefined, path: string): boolean {
  return places?.some((place) => covers(place, path)) ?? false;
}

function has(names: readonly string[] | undefined, name: string): boolean {
  return names?.includes(name) ?? false;
}

function covers(place: string, path: string): boolean {
  return place.endsWith('/') ? path.startsWith(place) : path === place;
}
