import type { Import, SourceFile } from './source-file.ts';
import { loadedBy, packageOf, type SourceTree, targetOf } from './source-tree.ts';

/** What the files below a path may import. A path that ends in a slash stands for all files below it. */
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

const PURE = ['src/domain/', 'src/loop/', 'src/receive/', 'src/answers/', 'src/calls/', 'src/protocol.ts', 'src/activity-outcome.ts'];

/**
 * Who may import what: the first zone that holds a file decides. Folders that no zone names (test, bench, examples)
 * may import everything.
 */
const ZONES: readonly Zone[] = [
  // Pure, on both sides of the sandbox.
  { files: 'src/domain/' },
  { files: 'src/loop/', may: ['src/domain/', 'src/schema/check-json-schema.ts'] },
  { files: 'src/protocol.ts', mayTypes: ['src/domain/', 'src/loop/'] },
  { files: 'src/receive/', may: ['src/domain/', 'src/loop/', 'src/schema/'], mayTypes: ['src/protocol.ts'] },
  { files: 'src/answers/', may: ['src/domain/', 'src/loop/', 'src/protocol.ts'], packages: ['@temporalio/common'] },
  { files: 'src/activity-outcome.ts', may: ['src/domain/', 'src/protocol.ts'], mayTypes: ['src/loop/'], packages: ['@temporalio/common'] },
  {
    files: 'src/calls/',
    may: ['src/domain/', 'src/protocol.ts', 'src/activity-outcome.ts', 'src/loop/approvals.ts', 'src/loop/thought.ts'],
    mayTypes: ['src/loop/'],
    packages: ['@temporalio/common'],
  },
  {
    files: 'src/schema/',
    may: ['src/domain/', 'src/loop/run-carry.ts'],
    mayTypes: ['src/protocol.ts'],
    packages: ['zod', '@cfworker/json-schema'],
  },

  // What says which Node is needed, before anything else does.
  { files: 'src/require-node.ts', may: ['src/domain/'] },

  // What users write agents with.
  { files: 'src/define/', may: ['src/domain/', 'src/schema/', 'src/protocol.ts'], packages: ['zod'] },
  { files: 'src/index.ts', may: ['src/domain/', 'src/define/', 'src/schema/', 'src/protocol.ts'] },

  // What an activity makes of a model's answer.
  { files: 'src/model/', may: ['src/domain/', 'src/schema/'], packages: ['node:*', 'zod', 'jsonrepair'] },

  // How payloads are encoded. The failure converter is loaded by its path, into the sandbox too.
  { files: 'src/codec/failure-converter.ts', packages: ['@temporalio/common'] },
  { files: 'src/codec/', may: ['src/domain/'], packages: ['node:*', '@temporalio/common', '@temporalio/proto'] },

  // Where content goes that is too large for a history.
  { files: 'src/payload-store/', may: ['src/domain/'], packages: ['node:*', '@temporalio/common'] },

  // What a worker logs, and how.
  { files: 'src/log/', may: ['src/domain/'], packages: ['node:*'] },

  // Where the values of secrets are.
  { files: 'src/secrets/', may: ['src/domain/'], packages: ['node:*'] },

  // Where the record of a run is kept for good.
  { files: 'src/archive/', may: ['src/domain/', 'src/payload-store/'], packages: ['node:*'] },

  // Around a run.
  {
    files: 'src/client/',
    may: [...PURE, 'src/require-node.ts', 'src/schema/', 'src/define/', 'src/payload-store/', 'src/archive/', 'src/codec/'],
    packages: ['zod', 'node:*', '@temporalio/client', '@temporalio/common', '@temporalio/envconfig'],
    packageTypes: ['@temporalio/proto'],
  },
  { files: 'src/dev-server/', may: ['src/domain/'], packages: ['node:*', 'env-paths', '@temporalio/client', '@temporalio/testing'] },
  {
    files: 'src/cli/',
    may: [
      'src/domain/',
      'src/define/',
      'src/schema/',
      'src/protocol.ts',
      'src/client/',
      'src/archive/',
      'src/payload-store/',
      'src/codec/',
      'src/dev-server/',
      'src/log/',
    ],
    mayTypes: ['worker/'],
    mayLazily: ['worker/', 'activities/models/'],
    packages: ['node:*', 'commander', '@temporalio/client'],
    packageTypes: ['@temporalio/worker'],
    packagesLazily: ['@temporalio/worker', '(computed)'],
  },

  // The two sides of the sandbox, and what puts them together.
  {
    files: 'workflows/',
    may: [...PURE, 'src/schema/'],
    mayTypes: ['src/define/'],
    packages: ['@temporalio/workflow', '@temporalio/common'],
  },
  // The client of MCP servers is loaded where a connection is opened, and by nothing else.
  {
    files: 'activities/mcp/',
    may: ['src/domain/', 'src/define/', 'src/schema/', 'src/model/', 'activities/time-limit.ts', 'activities/unknown-outcome.ts'],
    mayTypes: ['activities/secret-vault.ts'],
    packages: ['node:*', 'zod', '@modelcontextprotocol/client'],
  },
  {
    files: 'activities/',
    may: [
      'src/domain/',
      'src/define/',
      'src/schema/',
      'src/model/',
      'src/payload-store/',
      'src/archive/',
      'src/secrets/',
      'src/protocol.ts',
      'src/client/read-run.ts',
      'src/client/run-outcome.ts',
      'src/client/request-cancel.ts',
      'src/client/grpc-code.ts',
      'src/client/ask-again.ts',
    ],
    packages: ['node:*', 'zod', 'openai', 'lru-cache', '@temporalio/activity', '@temporalio/common', '@temporalio/client'],
  },
  {
    files: 'worker/',
    may: ['src/', 'activities/'],
    mayTypes: ['workflows/'],
    packages: ['node:*', '@temporalio/worker', '@temporalio/client', '@temporalio/common', '@temporalio/plugin'],
  },

  // The kit for tests: what is loaded with it is light, and what runs agents is loaded by a test that does.
  {
    files: 'src/testing/memory/',
    may: [...PURE, 'src/define/', 'src/testing/', 'src/log/', 'src/client/run-input.ts', 'activities/'],
    packages: ['node:*', '@temporalio/common', '@temporalio/testing', '@temporalio/worker'],
    packageTypes: ['@temporalio/client'],
  },
  {
    files: 'src/testing/durable/',
    may: [...PURE, 'src/define/', 'src/testing/', 'src/client/', 'src/dev-server/', 'worker/'],
    packages: ['node:*', '@temporalio/common', '@temporalio/worker'],
    packageTypes: ['@temporalio/client'],
  },
  {
    files: 'src/testing/stage/',
    may: ['src/domain/', 'src/protocol.ts', 'src/testing/'],
    mayTypes: ['src/define/', 'src/client/', 'src/secrets/'],
    packages: ['node:*', '@temporalio/common'],
    packageTypes: ['@temporalio/activity', '@temporalio/worker'],
  },
  {
    files: 'src/testing/',
    may: ['src/domain/', 'src/require-node.ts', 'src/model/real-models.ts'],
    mayTypes: ['src/define/', 'src/client/', 'src/secrets/', 'src/payload-store/', 'worker/'],
    mayLazily: ['src/dev-server/'],
    packages: ['node:*'],
  },
];

/** What must not be loaded together with a file, by whatever way. */
const CLOSURES: readonly { entries: string; mustNotLoad: readonly string[] }[] = [
  {
    entries: 'workflows/',
    mustNotLoad: ['zod', 'openai', 'node:*', '@temporalio/activity', '@temporalio/client', '@temporalio/worker', '@temporalio/testing'],
  },
  { entries: 'src/index.ts', mustNotLoad: ['openai', '@temporalio/client', '@temporalio/worker', '@temporalio/testing'] },
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
  // Most workers have no MCP servers.
  { entries: 'worker/index.ts', mustNotLoad: ['@modelcontextprotocol/client'] },
  { entries: 'src/client/index.ts', mustNotLoad: ['openai', '@temporalio/worker', '@temporalio/activity', '@temporalio/testing'] },
];

/** Every import that the zones do not allow, as a sentence. */
export function importViolations(tree: SourceTree): string[] {
  return [...tree.values()].flatMap((file) => {
    const zone = ZONES.find((one) => covers(one.files, file.path));
    if (zone === undefined) return inFolderOfZones(file) ? [`${file.path} is in no zone: give it one in import-rules.ts`] : [];
    return file.imports.filter((one) => !isAllowed(zone, file, one)).map((one) => sentence(zone, file, one));
  });
}

/** Every entry that loads what it must not, as a sentence with the way that leads there. */
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

/** Every relative import that names no file of the tree, or lacks its `.ts`. */
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
