import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { importProblem, loadAgentsModule } from '../../../src/cli/input-files.ts';
import { PLUGIN_OPTIONS } from '../../../worker/plugin.ts';

const AGENT = (name: string): string => `({ kind: 'longhaul.agent', name: '${name}', model: 'p/m', tools: [] })`;
const CLIENT = '{ capabilities: { structuredOutput: true }, call: async () => ({}) }';

let directory = '';
let files = 0;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longhaul-agents-'));
});

afterAll(async () => {
  await rm(directory, { recursive: true });
});

async function write(code: string, extension = 'mjs'): Promise<string> {
  files += 1;
  const path = join(directory, `agents-${files}.${extension}`);
  await writeFile(path, code);
  return path;
}

async function names(code: string, extension?: string): Promise<string[]> {
  return (await loadAgentsModule(await write(code, extension))).agents.map((agent) => agent.name);
}

async function problem(code: string, extension?: string): Promise<string> {
  const path = await write(code, extension);
  const error: unknown = await loadAgentsModule(path).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ name: 'UsageError' });
  return (error as Error).message.replaceAll(path, 'PATH');
}

describe('agents are found', () => {
  test('in the list "agents", and nowhere else if it exists', async () => {
    expect(await names(`export const agents = [${AGENT('a')}, ${AGENT('b')}]; export const other = ${AGENT('c')};`)).toEqual(['a', 'b']);
  });

  test('under any name, each once', async () => {
    expect(
      await names(`export const a = ${AGENT('a')}; export const b = ${AGENT('b')}; export default a; export const limit = 3;`),
    ).toEqual(expect.arrayContaining(['a', 'b']));
  });

  test('in a default list, and as the default', async () => {
    expect(await names(`export default [${AGENT('a')}, ${AGENT('b')}];`)).toEqual(['a', 'b']);
    expect(await names(`export default ${AGENT('a')};`)).toEqual(['a']);
  });

  test('in a CommonJS module', async () => {
    expect(await names(`exports.agents = [${AGENT('a')}];`, 'cjs')).toEqual(['a']);
  });
});

test('with providers, resources and a payload store; without providers, the command chooses them', async () => {
  const whole = await loadAgentsModule(
    await write(`export const agents = [${AGENT('a')}]; export const providers = { p: ${CLIENT} }; export const resources = { pool: 1 };`),
  );
  expect(Object.keys(whole.providers ?? {})).toEqual(['p']);
  expect(whole.resources).toEqual({ pool: 1 });
  const withStore = `export const payloadStore = { name: 's', store() {}, retrieve() {}, deleteRun() {} };`;
  expect((await loadAgentsModule(await write(`export const agents = [${AGENT('a')}]; ${withStore}`))).payloadStore?.name).toBe('s');
  const withArchive = 'export const archive = { append() {}, read() {}, deleteRun() {} };';
  expect((await loadAgentsModule(await write(`export const agents = [${AGENT('a')}]; ${withArchive}`))).archive).toBeDefined();
  const bare = await loadAgentsModule(await write(`export const agents = [${AGENT('a')}];`));
  expect(bare).toEqual({ agents: bare.agents, programs: [], tools: [], anchors: [], providers: undefined, resources: {} });
  const hooks = 'export const secrets = () => "s"; export const authorize = () => ({ as: "a" }); export const prices = {};';
  const hooked = await loadAgentsModule(await write(`export const agents = [${AGENT('a')}]; ${hooks}`));
  expect(hooked).toMatchObject({ secrets: expect.any(Function), authorize: expect.any(Function), prices: {} });
});

test('with every option of a worker that no flag sets', async () => {
  const wholeOptions: object = PLUGIN_OPTIONS;
  const options = Object.keys(wholeOptions).filter((name) => !(name in CHECKED_VALUES) && name !== 'codec' && name !== 'versioning');
  expect(options).toEqual(
    expect.arrayContaining(['batch', 'hooks', 'limits', 'governor', 'embed', 'missingTimeout', 'notifyEndedTimeout']),
  );
  const code = options.map((name) => `export const ${name} = '${name}';`).join(' ');
  const whole = await loadAgentsModule(await write(`export const agents = [${AGENT('a')}]; ${code}`));
  expect(whole).toMatchObject(Object.fromEntries(options.map((name) => [name, name])));
});

/** The options whose exports the command checks itself. */
const CHECKED_VALUES = {
  agents: true,
  programs: true,
  tools: true,
  anchors: true,
  providers: true,
  resources: true,
  payloadStore: true,
  archive: true,
  memory: true,
};

describe('an ignored export is reported', () => {
  const notes = async (code: string): Promise<string[]> => {
    const path = await write(`export const agents = [${AGENT('a')}]; ${code}`);
    const lines: string[] = [];
    await loadAgentsModule(path, (line) => lines.push(line.replaceAll(path, 'PATH')));
    return lines;
  };

  test.each([
    ['provider', 'providers', `{ p: ${CLIENT} }`],
    ['paylodStore', 'payloadStore', `{ name: 's', store() {}, retrieve() {}, deleteRun() {} }`],
    ['tool', 'tools', `[{ kind: 'longhaul.tool', name: 't' }]`],
    ['notifyEnd', 'notifyEnded', '() => undefined'],
    ['batches', 'batch', '{ openai: {} }'],
    ['missingTimeoutMs', 'missingTimeout', '1_000'],
  ])('if %s is almost the name of an option, and its value has the form of one', async (name, meant, value) => {
    expect(await notes(`export const ${name} = ${value};`)).toEqual([
      `The agents module "PATH" exports "${name}", which is ignored. Did you mean "${meant}"?`,
    ]);
  });

  test('if flags set the option', async () => {
    expect(await notes('export const codec = { compression: true };')).toEqual([
      'The agents module "PATH" exports "codec", which is ignored: set it with --codec or LONGHAUL_CODEC',
    ]);
  });

  test('and no other one', async () => {
    const others = `export const pool = {}; export const agent = ${AGENT('b')}; export const tool = { kind: 'longhaul.tool', name: 't' }; export const limit = 3;`;
    expect(await notes(`${others} export default 1; export const providers = { p: ${CLIENT} };`)).toEqual([]);
  });
});

describe('programs are found', () => {
  const PROGRAM = (name: string): string =>
    `({ kind: 'longhaul.program', name: '${name}', document: {}, tools: [], agents: [], programs: [] })`;
  const programs = async (code: string): Promise<string[]> => (await loadAgentsModule(await write(code))).programs.map(({ name }) => name);

  test('under any name, each once, and in the list "programs", which names all of them', async () => {
    expect(await programs(`export const p = ${PROGRAM('p')}; export default [p];`)).toEqual(['p']);
    expect(await programs(`export const programs = [${PROGRAM('a')}]; export const other = ${PROGRAM('c')};`)).toEqual(['a']);
  });

  test('with tools, anchors and a memory from the exports of these names alone', async () => {
    const tool = "({ kind: 'longhaul.tool', name: 't' })";
    const anchor = "({ name: 'NoPrices', onViolation: 'raise', check: () => [] })";
    const memory = '({ remember() {}, recall() {}, forget() {}, list() {} })';
    const whole = await loadAgentsModule(
      await write(`export const tools = [${tool}]; export const anchors = [${anchor}]; export const memory = ${memory};`),
    );
    expect(whole).toMatchObject({ agents: [], programs: [], tools: [{ name: 't' }], anchors: [{ name: 'NoPrices' }] });
    expect(whole.memory).toBeDefined();
    const alone = await loadAgentsModule(
      await write(`export const p = ${PROGRAM('p')}; export const t = ${tool}; export const a = ${anchor};`),
    );
    expect(alone).toMatchObject({ tools: [], anchors: [] });
    expect(alone.memory).toBeUndefined();
  });

  test('and not if they are something else', async () => {
    const agent = `export const agents = [${AGENT('a')}];`;
    expect(await problem(`${agent} export const programs = 3;`)).toContain('"programs" of the agents module "PATH" is not a list');
    expect(await problem(`${agent} export const programs = [{}];`)).toContain('"programs[0]" of the agents module "PATH" is not a program');
    expect(await problem(`${agent} export const tools = [() => 1];`)).toContain('"tools[0]" of the agents module "PATH" is not a tool');
    expect(await problem(`${agent} export const anchors = ['NoPrices'];`)).toContain(
      '"anchors[0]" of the agents module "PATH" is not an anchor',
    );
    expect(await problem(`${agent} export const memory = new Map();`)).toContain('"memory" of the agents module "PATH" is not a memory');
  });
});

describe('a module that cannot be served is refused with the reason', () => {
  test('if it does not exist, or is a directory', async () => {
    await expect(loadAgentsModule('./nowhere/agents.ts')).rejects.toThrow(
      /The agents module "\.\/nowhere\/agents\.ts" does not exist \(looked for "\//,
    );
    await expect(loadAgentsModule(directory)).rejects.toThrow('is not a file');
  });

  test('if it exports no agents', async () => {
    expect(await problem('export const tools = []; export const x = 1;')).toBe(
      'The agents module "PATH" exports no agents and no programs (it exports: "tools", "x"): write export const agents = [...], with ' +
        'agents made by defineAgent, or programs = [...], made by defineProgram',
    );
    expect(await problem('')).toContain('(it exports: nothing)');
    expect(await problem('export const agents = [];')).toContain('exports no agents and no programs');
  });

  test('if its "agents" are not a list of agents', async () => {
    expect(await problem(`export const agents = ${AGENT('a')};`)).toContain('"agents" of the agents module "PATH" is not a list');
    expect(await problem(`export const agents = [${AGENT('a')}, {name: 'b'}];`)).toContain(
      '"agents[1]" of the agents module "PATH" is not an agent',
    );
  });

  test('if its providers, resources or payload store are of another type', async () => {
    expect(await problem(`export const agents = [${AGENT('a')}]; export const providers = [];`)).toContain(
      '"providers" of the agents module',
    );
    expect(await problem(`export const agents = [${AGENT('a')}]; export const providers = { p: {} };`)).toContain(
      '"providers.p" of the agents module',
    );
    expect(await problem(`export const agents = [${AGENT('a')}]; export const resources = 3;`)).toContain(
      '"resources" of the agents module',
    );
    expect(await problem(`export const agents = [${AGENT('a')}]; export const payloadStore = { name: 's' };`)).toContain(
      '"payloadStore" of the agents module "PATH" is not a payload store',
    );
    expect(await problem(`export const agents = [${AGENT('a')}]; export const archive = 'folder';`)).toContain(
      '"archive" of the agents module "PATH" is not an archive',
    );
  });

  test('if it throws, or imports a missing module: the message gives the cause and the place', async () => {
    expect(await problem("const setting = 1;\nthrow new Error('no database');")).toMatch(
      /^The agents module "PATH" cannot be loaded: no database \(at PATH:2\)$/,
    );
    expect(await problem("import './missing.js';")).toContain('Cannot find module');
    expect(await problem('export const agents = [;')).toContain('cannot be loaded');
  });
});

describe('in a package of "npm init -y"', () => {
  const inCommonJs = async (written: Record<string, string>, name: string): Promise<string> => {
    const folder = await mkdtemp(join(directory, 'commonjs-'));
    await writeFile(join(folder, 'package.json'), '{"name": "consumer", "type": "commonjs"}');
    for (const [file, code] of Object.entries(written)) await writeFile(join(folder, file), code);
    const loaded = await loadAgentsModule(join(folder, name)).catch((error: unknown) => error);
    if (!(loaded instanceof Error)) return 'loaded';
    expect(loaded.name).toBe('UsageError');
    return loaded.message.replaceAll(folder, 'FOLDER');
  };

  test.each(['agents.ts', 'agents.js'])('an ES module %s is refused with the remedy', async (name) => {
    expect(await inCommonJs({ [name]: `import 'node:fs';\nexport const agents = [${AGENT('a')}];` }, name)).toBe(
      `The agents module "FOLDER/${name}" cannot be loaded: "FOLDER/${name}" is an ES module, but "FOLDER/package.json" has ` +
        `"type": "commonjs", as "npm init -y" writes it: run npm pkg set type=module next to it, or name the file "${name.replace('.', '.m')}"`,
    );
  });

  test('an ES module named .mts and a CommonJS module are accepted', async () => {
    expect(await inCommonJs({ 'agents.mts': `export const agents = [${AGENT('a')}];` }, 'agents.mts')).toBe('loaded');
    expect(await inCommonJs({ 'agents.js': `exports.agents = [${AGENT('a')}];` }, 'agents.js')).toBe('loaded');
    const text = 'export nothing';
    expect(await inCommonJs({ 'agents.js': `exports.agents = [${AGENT('a')}];\nconst help = \`\n${text}\`;` }, 'agents.js')).toBe('loaded');
  });

  test('the error names the module that is imported', () => {
    const error = new SyntaxError("Unexpected token 'export'");
    error.stack = `/project/tools.ts:3\nexport const tools = [];\n^^^^^^\n\nSyntaxError: Unexpected token 'export'\n    at node:internal`;
    expect(importProblem('agents.mts', '.mts', error)).toBe(
      'The agents module "agents.mts" cannot be loaded: "/project/tools.ts" is an ES module, but "package.json" has "type": "commonjs", ' +
        'as "npm init -y" writes it: run npm pkg set type=module next to it, or name the file "tools.mts"',
    );
  });
});

describe('TypeScript', () => {
  test('gives an error with the remedy if Node does not load it', () => {
    const error = Object.assign(new TypeError('Unknown file extension ".ts"'), { code: 'ERR_UNKNOWN_FILE_EXTENSION' });
    expect(importProblem('agents.ts', '.ts', error)).toContain('use Node 22.18, or 24 and newer');
    expect(importProblem('agents.tsx', '.tsx', error)).toContain('name it ".ts"');
    expect(importProblem('agents.yaml', '.yaml', error)).toContain('Unknown file extension');
  });

  test('gives an error if it needs more than stripping of types', () => {
    const error = Object.assign(new SyntaxError('TypeScript enum is not supported in strip-only mode'), {
      code: 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX',
    });
    expect(importProblem('agents.ts', '.ts', error)).toContain('without enums');
  });
});
