import type { Import, SourceFile } from './source-file.ts';
import { loadedBy, packageOf, type SourceTree, targetOf } from './source-tree.ts';

/**
 * What the files of a room may import. A room is a path without an ending: `src/core/kernel` is the folder, or the file `src/core/kernel.ts`,
 * whichever there is.
 */
interface Zone {
  room: string;
  /** Other rooms. */
  may?: readonly string[];
  /** Rooms whose types alone may be imported. */
  mayTypes?: readonly string[];
  /** Rooms that only `import()` may load. */
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
export const ZONES: readonly Zone[] = [
  // The page knows the routes of the service, and no other part of the product.
  { room: 'studio', packages: ['preact', '@preact/signals', 'uplot', 'diff', '@dagrejs/dagre'] },
  // This code runs in the sandbox and outside of it, and imports nothing from outside the core.
  { room: 'src/core/domain' },
  { room: 'src/core/activity-requests/contracts', may: ['src/core/domain'], mayTypes: ['src/core/bursts'] },
  {
    room: 'src/core/protocol',
    may: ['src/core/activity-requests/contracts'],
    mayTypes: ['src/core/domain', 'src/core/kernel'],
  },
  { room: 'src/core/json-schema', may: ['src/core/domain'], packages: ['@cfworker/json-schema'] },
  // The loop knows no capability; each of these knows the loop.
  { room: 'src/core/kernel', may: ['src/core/domain', 'src/core/json-schema'] },
  {
    room: 'src/core/capabilities',
    // The state of a session is in the room of its turns.
    may: ['src/core/domain', 'src/core/json-schema', 'src/core/kernel', 'src/core/sessions/open-session'],
  },
  { room: 'src/core/bursts', may: ['src/core/domain', 'src/core/kernel'] },
  { room: 'src/core/input-checks', may: ['src/core/domain', 'src/core/json-schema'] },
  { room: 'src/core/saved', may: ['src/core/domain', 'src/core/json-schema', 'src/core/input-checks'] },
  { room: 'src/core/program', may: ['src/core/domain', 'src/core/json-schema', 'src/core/kernel', 'src/core/capabilities'] },
  { room: 'src/core', packages: ['@temporalio/common'] },

  // Checks the version of Node before anything else is loaded.
  { room: 'src/node-version/node-version' },
  { room: 'src/node-version', may: ['src/core'] },

  // The parts of the product, each on the core.
  { room: 'src/schema', may: ['src/core'], packages: ['zod'] },
  { room: 'src/anchors', may: ['src/core'] },
  { room: 'src/memory', may: ['src/core', 'src/stores'], packages: ['node:*'] },
  { room: 'src/define', may: ['src/core', 'src/schema', 'src/anchors'], mayTypes: ['src/model'], packages: ['zod'] },
  { room: 'src/index', may: ['src/core', 'src/define', 'src/schema', 'src/anchors'], mayTypes: ['src/model'] },
  { room: 'src/model', may: ['src/core', 'src/schema'], packages: ['node:*', 'zod'] },
  { room: 'src/codec', may: ['src/core'], packages: ['node:*', '@temporalio/common', '@temporalio/proto'] },
  { room: 'src/stores', may: ['src/core'], packages: ['node:*', '@temporalio/common'] },
  { room: 'src/secrets', may: ['src/core'], packages: ['node:*'] },
  { room: 'src/log', may: ['src/core'], packages: ['node:*'] },
  // The pages of the manual, for the command that serves them.
  { room: 'src/guide', may: ['src/core'], packages: ['node:*'] },
  {
    room: 'src/streams',
    may: ['src/core', 'src/codec', 'src/define/option-checks', 'src/temporal'],
    packages: ['node:*', '@temporalio/common'],
    packageTypes: ['@temporalio/client', 'redis'],
    // Most processes have no Redis: its client is loaded when the sink is opened.
    packagesLazily: ['redis'],
  },
  // The governor uses the connection of the streams, which loads the client of Redis when it is opened.
  {
    room: 'src/governor',
    may: ['src/core', 'src/define/option-checks', 'src/streams/redis/redis-connection', 'src/streams/redis/redis-server'],
    packages: ['node:*'],
  },
  // Spans and metrics go to the user's own SDK: of OpenTelemetry, its API alone is loaded, and only if a worker wants telemetry.
  {
    room: 'src/telemetry',
    may: ['src/core', 'src/define/option-checks'],
    packages: ['node:*'],
    packageTypes: ['@opentelemetry/api'],
    packagesLazily: ['@opentelemetry/api'],
  },
  { room: 'src/dev-server', may: ['src/core'], packages: ['node:*', 'env-paths', '@temporalio/client', '@temporalio/worker'] },

  // Calls to the server, the reading of histories, and the client on top of both.
  {
    room: 'src/temporal',
    may: ['src/core', 'src/codec'],
    packages: ['node:*', '@temporalio/client', '@temporalio/common', '@temporalio/envconfig'],
  },
  {
    room: 'src/history',
    may: ['src/core', 'src/temporal', 'src/codec', 'src/stores', 'src/telemetry/ids'],
    packages: ['node:*', '@temporalio/client', '@temporalio/common'],
    packageTypes: ['@temporalio/proto'],
  },
  {
    room: 'src/client',
    may: ['src'],
    packages: ['zod', 'node:*', 'lru-cache', '@temporalio/client', '@temporalio/common', '@temporalio/envconfig'],
    packageTypes: ['@temporalio/proto'],
  },
  // Only the service on a separate port loads a server.
  { room: 'src/server/node-server', may: ['src/core', 'src/server'], packages: ['node:*', '@hono/node-server'] },
  // The HTTP service. Who calls, and how often, is decided without it.
  {
    room: 'src/server/auth',
    may: ['src/core', 'src/stores', 'src/memory', 'src/server/schemas'],
    packages: ['node:*', 'zod', 'jose'],
  },
  { room: 'src/server/limits', may: ['src/core', 'src/server/auth'], packages: ['lru-cache'] },
  { room: 'src/server/cors', may: ['src/core'] },
  // Only the rooms of third-party protocols load packages of these protocols.
  {
    room: 'src/server/protocols/openai',
    may: ['src/core', 'src/define', 'src/client', 'src/server'],
    packages: ['zod', 'node:*', '@temporalio/client'],
    packageTypes: ['openai'],
  },
  {
    room: 'src/server/protocols/mcp',
    may: ['src/core', 'src/define', 'src/schema', 'src/client', 'src/server'],
    packages: ['node:*', '@modelcontextprotocol/server'],
  },
  {
    room: 'src/server',
    may: ['src/core', 'src/define', 'src/temporal', 'src/client', 'src/streams', 'src/node-version'],
    mayTypes: ['src/telemetry'],
    packages: ['node:*', 'zod', 'hono', 'lru-cache', '@temporalio/client', '@temporalio/common'],
  },
  {
    room: 'src/cli',
    may: ['src'],
    mayTypes: ['worker', 'activities/executors'],
    mayLazily: ['worker', 'activities/models', 'activities/executors'],
    packages: ['node:*', 'commander', '@temporalio/client'],
    packageTypes: ['@temporalio/common', '@temporalio/worker'],
    packagesLazily: ['@temporalio/worker', '(computed)'],
  },

  // The two sides of the sandbox, and the worker that combines them.
  { room: 'workflows', may: ['src/core'], mayTypes: ['src/define'], packages: ['@temporalio/workflow', '@temporalio/common'] },
  // Only the module that opens a connection loads the client of MCP servers.
  {
    room: 'activities/mcp',
    may: ['src/core', 'src/define', 'src/schema', 'src/model', 'activities'],
    packages: ['node:*', 'zod', '@modelcontextprotocol/client'],
  },
  // Only the parser of skills reads YAML.
  {
    room: 'activities/skills',
    may: ['src/core', 'src/define', 'src/stores', 'activities'],
    packages: ['node:*', 'zod', 'yaml'],
  },
  // Only the thread of an executor loads an engine.
  { room: 'activities/executors/quickjs/thread', may: ['src/core', 'activities/executors'], packages: ['node:*', 'quickjs-wasi'] },
  { room: 'activities/executors', may: ['src/core', 'src/node-version'], mayTypes: ['src/define/code'], packages: ['node:*'] },
  // The packages of the AI SDK are the user's: this client knows their models by their form alone.
  {
    room: 'activities/models/ai-sdk',
    may: ['src/core', 'src/define', 'src/model', 'activities/models'],
    packages: ['lru-cache', 'node:*'],
  },
  {
    room: 'activities',
    may: [
      'src/core',
      'src/anchors',
      'src/memory',
      'src/define',
      'src/governor',
      'src/schema',
      'src/model',
      'src/stores',
      'src/secrets',
      'src/streams',
      'src/telemetry',
      'src/temporal',
      'src/history',
    ],
    packages: ['node:*', 'zod', 'openai', 'lru-cache', '@temporalio/activity', '@temporalio/common', '@temporalio/client'],
  },
  {
    room: 'worker',
    may: ['src', 'activities'],
    mayTypes: ['workflows'],
    packages: ['node:*', '@temporalio/worker', '@temporalio/client', '@temporalio/common', '@temporalio/plugin'],
  },

  // The kit for tests: its entry loads little, and a test that runs agents loads the rest.
  {
    room: 'src/testing/memory',
    may: ['src', 'activities'],
    packages: ['node:*', '@temporalio/common', '@temporalio/testing', '@temporalio/worker'],
    packageTypes: ['@temporalio/client'],
  },
  {
    room: 'src/testing/durable',
    may: ['src', 'worker'],
    packages: ['node:*', '@temporalio/common', '@temporalio/worker'],
    packageTypes: ['@temporalio/client'],
  },
  {
    room: 'src/testing/harness',
    may: [
      'src/core',
      'src/memory',
      'src/testing',
      'src/define/agent-definition',
      'src/define/all-parts',
      'src/define/option-checks',
      'src/temporal/real-timers',
      'src/temporal/waiting',
      'src/streams/waits',
      'activities/bursts/around-calls',
    ],
    mayTypes: ['src'],
    packages: ['node:*', '@temporalio/common'],
    packageTypes: ['@temporalio/activity', '@temporalio/worker'],
  },
  {
    room: 'src/testing',
    may: [
      'src/core',
      'src/define/permissions',
      'src/memory/memory-store-conformance',
      'src/streams/stream-sink-conformance',
      'src/node-version',
      'src/model',
      'src/temporal',
    ],
    mayTypes: ['src', 'worker'],
    mayLazily: ['src/dev-server'],
    packages: ['node:*'],
  },
];

/** The packages of the SDK that belong to processes other than the one that loads an entry. */
const OF_WORKERS = ['@temporalio/activity', '@temporalio/worker', '@temporalio/testing'];

/** Packages that must not be loaded together with a room, over any chain of imports. */
export const CLOSURES: readonly { entries: string; mustNotLoad: readonly string[] }[] = [
  { entries: 'workflows', mustNotLoad: ['zod', 'openai', 'node:*', '@temporalio/client', ...OF_WORKERS] },
  { entries: 'src/index', mustNotLoad: ['openai', '@temporalio/client', '@temporalio/worker', '@temporalio/testing'] },
  { entries: 'src/define', mustNotLoad: ['openai', '@temporalio/client', '@temporalio/worker', '@temporalio/testing'] },
  { entries: 'src/testing/index', mustNotLoad: ['zod', '@temporalio/client', '@temporalio/common', ...OF_WORKERS] },
  { entries: 'src/testing', mustNotLoad: ['openai', '@temporalio/workflow'] },
  // Only the thread of an executor has an engine.
  { entries: 'activities/executors/quickjs/quickjs-executor', mustNotLoad: ['quickjs-wasi'] },
  { entries: 'activities/executors/index', mustNotLoad: ['quickjs-wasi', 'openai', '@temporalio/client', ...OF_WORKERS] },
  // Most workers have no MCP servers.
  { entries: 'worker/index', mustNotLoad: ['@modelcontextprotocol/client', 'redis', '@opentelemetry/api'] },
  // An application that answers pages itself loads no service.
  {
    entries: 'src/server/protocols/ai-sdk/index',
    mustNotLoad: ['ai', 'hono', 'jose', 'openai', '@modelcontextprotocol/server', ...OF_WORKERS],
  },
  { entries: 'src/client/index', mustNotLoad: ['openai', ...OF_WORKERS] },
];

/** Lists every import that the zones do not allow, as a sentence. */
export function importViolations(tree: SourceTree): string[] {
  return [...tree.values()].flatMap((file) => {
    const zone = ZONES.find((one) => covers(one.room, file.path));
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

/** Lists every room that a rule names and that has no files: such a rule cannot be broken. */
export function emptyRooms(tree: SourceTree): string[] {
  const named = [
    ...ZONES.flatMap(({ room, may = [], mayTypes = [], mayLazily = [] }) => [room, ...may, ...mayTypes, ...mayLazily]),
    ...CLOSURES.map(({ entries }) => entries),
  ];
  const paths = [...tree.keys()];
  return [...new Set(named)].filter((room) => !paths.some((path) => covers(room, path)));
}

/** Lists every relative import that names no file of the tree, or lacks its `.ts`. */
export function danglingImports(tree: SourceTree): string[] {
  return [...tree.values()].flatMap((file) =>
    file.imports
      .filter((one) => one.specifier.startsWith('.') && !one.specifier.endsWith('.css') && !tree.has(targetOf(file, one)))
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
  if (covers(zone.room, target) || hasFile(zone.may, target)) return true;
  return (one.typeOnly && hasFile(zone.mayTypes, target)) || (one.lazy && hasFile(zone.mayLazily, target));
}

function sentence(zone: Zone, file: SourceFile, one: Import): string {
  const how = one.typeOnly ? ' (types)' : one.lazy ? ' (lazily)' : '';
  return `${file.path} must not import ${targetOf(file, one)}${how}: ${zone.room} may not`;
}

function inFolderOfZones(file: SourceFile): boolean {
  return ZONES.some((zone) => zone.room.split('/')[0] === file.path.split('/')[0]);
}

function hasFile(places: readonly string[] | undefined, path: string): boolean {
  return places?.some((place) => covers(place, path)) ?? false;
}

function has(names: readonly string[] | undefined, name: string): boolean {
  return names?.includes(name) ?? false;
}

function covers(room: string, path: string): boolean {
  return path === `${room}.ts` || path.startsWith(`${room}/`);
}
