import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join, relative } from 'node:path';
import { errorMessage } from '../../core/domain/errors.ts';
import { withoutEnd } from '../../core/domain/text.ts';
import { withSubAgents } from '../../define/agent-definition.ts';
import { quickjs } from '../../define/code.ts';
import { NEEDED_NODE, nodeProblem } from '../../node-version/node-version.ts';
import { OLDEST_SDK } from '../../temporal/server-connection.ts';
import { type CheckGroup, type Examination, fail, type Finding, type Machine, ok, skipped, warn } from './examination.ts';

export const MACHINE_CHECKS: CheckGroup = {
  heading: 'Node and packages',
  checks: [
    { name: 'node', run: checkNode },
    { name: 'native-core', run: checkNativeCore },
    { name: 'sdk-copies', run: checkSdkCopies },
    { name: 'protobufjs', run: checkProtobuf },
    { name: 'typescript', run: checkTypeScript },
  ],
};

function checkNode({ machine }: Examination): Finding {
  const { nodeVersion } = machine;
  if (nodeProblem(nodeVersion) === undefined) return ok(`Node ${nodeVersion} is one that Longhaul runs on.`);
  return fail(`Node ${nodeVersion} is too old: ${NEEDED_NODE}, is needed.`, 'npm install --save-dev node@24');
}

/** The core of Temporal's SDK is a native library: it may be built for another C library, or for another kind of machine. */
function checkNativeCore({ machine }: Examination): Finding {
  const fromProject = createRequire(join(machine.folder, 'package.json'));
  let worker: string;
  try {
    worker = fromProject.resolve('@temporalio/worker');
  } catch {
    return skipped('The package "@temporalio/worker" is not installed here: this project runs no worker.');
  }
  try {
    createRequire(worker)('@temporalio/core-bridge');
    return ok(`The native core of Temporal's SDK loads (${libcText()}).`);
  } catch (error) {
    const [line = ''] = errorMessage(error).split('\n');
    const needed = /GLIBC_[\d.]+/.exec(line)?.[0];
    const remedy = 'use an image with glibc 2.31 or newer, such as node:24-bookworm-slim, and not Alpine';
    return fail(
      needed === undefined
        ? `The native core of Temporal's SDK does not load on ${process.platform} ${process.arch} with ${libcText()}: ${line}`
        : `The native core of Temporal's SDK needs ${needed}, and this machine has ${libcText()}: ${remedy}.`,
      'npm install --force @temporalio/worker',
    );
  }
}

/** Returns the C library of this machine: only Linux has several. */
function libcText(): string {
  if (process.platform !== 'linux') return process.platform;
  const report: typeof process.report & { excludeNetwork?: boolean } = process.report;
  // Otherwise the report looks up the names of all connections.
  report.excludeNetwork = true;
  const { header } = report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return header?.glibcVersionRuntime === undefined ? 'a C library that is not glibc' : `glibc ${header.glibcVersionRuntime}`;
}

const NO_PROJECT = 'There is no package.json here: this folder is not a project.';

function isProject({ folder }: Machine): boolean {
  return existsSync(join(folder, 'package.json'));
}

function checkSdkCopies({ machine }: Examination): Finding {
  const copies = installedCopies(machine.folder, (name) => name.startsWith('@temporalio/'));
  if (copies.length === 0 && !isProject(machine)) return skipped(NO_PROJECT);
  if (copies.length === 0) return fail("No package of Temporal's SDK is installed here.", `npm install ${sdkAt(OLDEST_SDK)}`);
  const versions = [...new Set(copies.map(({ version }) => version))].toSorted();
  const byName = Map.groupBy(copies, ({ name }) => name);
  const twice = [...byName.values()].find((some) => some.length > 1);
  if (versions.length === 1 && twice === undefined)
    return ok(`All ${copies.length} packages of Temporal's SDK are at ${versions[0]}, each once.`);
  const [usual = ''] = mostFrequent(copies.map(({ version }) => version));
  const others = twice ?? copies.filter(({ version }) => version !== usual);
  const summary = `Temporal's SDK is installed in several copies, and objects of one are foreign to the other: ${listed(others, machine.folder)}`;
  const pinned = others.find(({ path }) => ownerOf(path) !== undefined);
  if (pinned !== undefined)
    return fail(
      `${summary}. ${ownerOf(pinned.path)} asks for that version: use a release of it for ${usual}.`,
      `npm explain ${pinned.name}`,
    );
  const together = [...byName.keys()].filter((name) => RELEASED_TOGETHER.has(name));
  return fail(`${summary}.`, `npm install --save-exact ${together.map((name) => `${name}@${usual}`).join(' ')} && npm dedupe`);
}

/** Packages of Temporal's SDK that are released together. Others, such as storage drivers, have separate versions. */
const RELEASED_TOGETHER = new Set(
  ['activity', 'client', 'cloud', 'common', 'core-bridge', 'envconfig', 'nexus', 'plugin', 'proto', 'testing', 'worker', 'workflow'].map(
    (name) => `@temporalio/${name}`,
  ),
);

/** Returns the package that contains a copy, unless both are released together: installing the SDK would leave the copy there. */
function ownerOf(path: string): string | undefined {
  const [, ...packages] = path.split('/node_modules/');
  const owner = packages.at(-2) ?? '';
  return owner === '' || owner.startsWith('.') || RELEASED_TOGETHER.has(owner) ? undefined : owner;
}

function sdkAt(version: string): string {
  return ['client', 'common', 'worker', 'workflow', 'activity', 'proto', 'plugin', 'envconfig']
    .map((name) => `@temporalio/${name}@${version}`)
    .join(' ');
}

/** Returns values, the most frequent one first. */
function mostFrequent(values: readonly string[]): string[] {
  const counts = Map.groupBy(values, (value) => value);
  return [...counts].toSorted(([, one], [, other]) => other.length - one.length).map(([value]) => value);
}

function listed(copies: readonly PackageCopy[], folder: string): string {
  return copies.map(({ name, version, path }) => `${name} ${version} in ${relative(folder, path) || path}`).join(', ');
}

/** A second protobufjs makes payloads of another class: histories then cannot be replayed from JSON. */
function checkProtobuf({ machine }: Examination): Finding {
  const own = copyLoadedFrom(machine.folder, 'protobufjs');
  const sdk = copyLoadedFrom(machine.folder, '@temporalio/proto');
  const ofSdk = sdk === undefined ? undefined : copyLoadedFrom(sdk.path, 'protobufjs');
  const install = 'npm install protobufjs@^8.7.1 && npm dedupe';
  if (own === undefined && !isProject(machine)) return skipped(NO_PROJECT);
  if (own === undefined) return fail('The package "protobufjs" is not installed next to Temporal\'s SDK.', install);
  if (ofSdk !== undefined && ofSdk.path !== own.path) {
    return fail(`Temporal's SDK has a separate protobufjs: ${listed([own, ofSdk], machine.folder)}.`, install);
  }
  const [major = 0, minor = 0] = own.version.split('.').map(Number);
  if (major === 8 && minor >= 7) return ok(`protobufjs ${own.version} is shared with Temporal's SDK.`);
  return fail(`protobufjs is at ${own.version}, and 8.7.1 or newer of 8.x is needed.`, install);
}

function checkTypeScript({ machine, agentsPath }: Examination): Finding {
  if (machine.loadsTypeScript) return ok('This Node loads TypeScript without a build.');
  const isTypeScript = agentsPath !== undefined && /^\.[mc]?ts$/.test(extname(agentsPath));
  const why = /--no-(?:experimental-)?strip-types/.test(machine.env['NODE_OPTIONS'] ?? '')
    ? 'NODE_OPTIONS turns it off'
    : 'it is turned off';
  const summary = `This Node does not load TypeScript: ${why}.`;
  return isTypeScript ? fail(summary, 'unset NODE_OPTIONS') : warn(summary, 'unset NODE_OPTIONS');
}

/** A copy of a package in a project. */
interface PackageCopy {
  name: string;
  version: string;
  /** Its folder. */
  path: string;
}

/** Returns every copy of the packages that `wants` accepts, in the `node_modules` of a folder and of the folders above it, each once. */
function installedCopies(folder: string, wants: (name: string) => boolean): PackageCopy[] {
  const found = new Map<string, PackageCopy>();
  for (let at = folder; ; at = dirname(at)) {
    visitModules(join(at, 'node_modules'), wants, found);
    if (at === dirname(at)) return [...found.values()];
  }
}

/** Returns the copy of a package that modules in a folder load, as Node finds it: the nearest one above. */
function copyLoadedFrom(folder: string, name: string): PackageCopy | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const copy = copyAt(join(at, 'node_modules', name), name);
    if (copy !== undefined || at === dirname(at)) return copy;
  }
}

/** Visits a folder `node_modules` and those inside its packages. Links lead to packages that are visited where they are. */
function visitModules(folder: string, wants: (name: string) => boolean, found: Map<string, PackageCopy>): void {
  for (const { name, path, isLink } of packagesIn(folder)) {
    const copy = wants(name) ? copyAt(path, name) : undefined;
    if (copy !== undefined) found.set(copy.path, copy);
    if (!isLink) visitModules(join(path, 'node_modules'), wants, found);
  }
}

/** Yields the packages in a `node_modules` folder, including scoped ones and pnpm's store. */
function* packagesIn(folder: string): Generator<{ name: string; path: string; isLink: boolean }> {
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.name === '.pnpm') {
      for (const one of entriesOf(path)) yield* packagesIn(join(path, one.name, 'node_modules'));
    } else if (entry.name.startsWith('@')) {
      for (const one of entriesOf(path))
        yield { name: `${entry.name}/${one.name}`, path: join(path, one.name), isLink: one.isSymbolicLink() };
    } else if (!entry.name.startsWith('.')) {
      yield { name: entry.name, path, isLink: entry.isSymbolicLink() };
    }
  }
}

function copyAt(path: string, name: string): PackageCopy | undefined {
  try {
    const { version } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as { version?: unknown };
    return { name, version: String(version), path: realpathSync(path) };
  } catch {
    return undefined;
  }
}

function entriesOf(folder: string): ReturnType<typeof readFolder> {
  try {
    return readFolder(folder);
  } catch {
    return [];
  }
}

function readFolder(folder: string) {
  return readdirSync(folder, { withFileTypes: true });
}

export const SANDBOX_CHECKS: CheckGroup = {
  heading: 'Code of models',
  checks: [
    { name: 'quickjs', run: checkQuickjs },
    { name: 'python-sandbox', run: checkPythonSandbox },
  ],
};

async function checkQuickjs({ machine }: Examination): Promise<Finding> {
  const refusal = (reason: string): Finding =>
    fail(`Code in JavaScript does not run: ${withoutEnd(reason, '.')}.`, 'npm install --force longhaul');
  try {
    const { createExecutor } = await import('../../../activities/executors/index.ts');
    await using executor = await createExecutor(machine.javascript ?? quickjs());
    const { finalValue, error } = await executor.run('final_answer(6 * 7)');
    return finalValue === 42 ? ok('Code in JavaScript runs in QuickJS.') : refusal(error?.message ?? 'it has no result');
  } catch (error) {
    return refusal(errorMessage(error));
  }
}

/** Checks bubblewrap, user namespaces and limits with code that slightly exceeds each: the same check that a worker makes. */
async function checkPythonSandbox({ agents, machine }: Examination): Promise<Finding> {
  const loaded = await agents;
  const owners =
    loaded.state === 'loaded' ? withSubAgents(loaded.module.agents).filter(({ code }) => code?.executor.kind === 'python') : [];
  const [owner] = owners;
  if (owner === undefined) return skipped('No agent runs code in Python.');
  const [{ checkPython }, { BUBBLEWRAP, PYTHON, sandboxedPython }] = await Promise.all([
    import('../../../activities/executors/python/check-python.ts'),
    import('../../../activities/executors/python/python-executor.ts'),
  ]);
  try {
    await checkPython({
      platform: process.platform,
      bubblewrap: BUBBLEWRAP,
      python: PYTHON,
      program: sandboxedPython,
      ...machine.isolation,
    });
    return ok('Code in Python is isolated by bubblewrap, and its limits hold.');
  } catch (error) {
    const message = errorMessage(error);
    return fail(`Agent "${owner.name}" runs code in Python: ${message}.`, remedyOf(message));
  }
}

/** Returns the command that the message proposes. */
function remedyOf(message: string): string {
  const [install] = /apt-get install [\w-]+/.exec(message) ?? [];
  if (install !== undefined) return install;
  return /user namespaces/.test(message) ? 'sysctl -w kernel.unprivileged_userns_clone=1' : 'bwrap --version';
}
