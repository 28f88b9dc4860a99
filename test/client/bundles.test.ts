import { build } from 'esbuild';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const source = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** The entries of the package that a service loads, from their sources. */
const ENTRIES = {
  longhaul: 'src/index.ts',
  'longhaul/client': 'src/client/index.ts',
  'longhaul/server': 'src/server/index.ts',
  'longhaul/ai-sdk': 'src/server/protocols/ai-sdk/index.ts',
};
const alias = Object.fromEntries(Object.entries(ENTRIES).map(([name, path]) => [name, source(path)]));

/** A service that starts runs and answers requests, with and without encryption. No server answers it. */
const SERVICE = `
import { Client, Connection } from '@temporalio/client';
import { defineAgent } from 'longhaul';
import { connect, LonghaulClient } from 'longhaul/client';
import { toUIMessageStream } from 'longhaul/ai-sdk';
import { createHandler } from 'longhaul/server';
import { withCodec } from ${JSON.stringify(source('src/codec/with-codec.ts'))};

async function main() {
  const agent = defineAgent({ name: 'clerk', model: 'p/m' });
  const lazy = { connection: Connection.lazy({ address: '127.0.0.1:1' }) };
  const client = new LonghaulClient(new Client(lazy));
  const response = await createHandler({ client, agents: [agent], authenticate: false })(new Request('http://localhost/livez'));
  const keys = { k1: new Uint8Array(32) };
  const dataConverter = withCodec({}, { encryption: { activeKeyId: 'k1', keys } });
  const { failureConverter, payloadCodecs } = new Client({ ...lazy, dataConverter }).options.loadedDataConverter;
  const failure = failureConverter.errorToFailure(new Error('secret'), dataConverter.payloadConverter);
  // What a client loads when it is used is in the bundle.
  const refused = await client.handle('run-1').retry({ from: 1 }).catch((error) => error.message);
  const unsent = await toUIMessageStream(client.session(agent, { id: 's' }), { posted: {} }).catch((error) => error.code);
  const failed = await connect({ address: '127.0.0.1:1', codec: { encryption: { activeKeyId: 'k1', keys } } }).catch((error) => error.code);
  console.log(JSON.stringify([agent.name, response.status, payloadCodecs.length, failure.message, refused, failed, unsent]));
  process.exit(0);
}
main();
`;

let folder: string;
beforeAll(async () => (folder = await mkdtemp(join(tmpdir(), 'longhaul-bundles-'))));
afterAll(() => rm(folder, { recursive: true }));

/** Runs a program with Node, in a folder without packages. */
async function run(file: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: folder });
  return stdout.trim();
}

const BANNER = "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);";

describe('a service is bundled by esbuild', { timeout: 120_000 }, () => {
  test.each([
    ['for CommonJS', { format: 'cjs' }],
    ['for CommonJS, minified', { format: 'cjs', minify: true }],
    ['for modules, with "require" for the packages in CommonJS', { format: 'esm', banner: { js: BANNER } }],
  ] as const)('%s, and runs without the package', async (_, options) => {
    const { format } = options;
    const outfile = join(folder, `${expect.getState().currentTestName?.length}.${format === 'cjs' ? 'cjs' : 'mjs'}`);
    const stdin = { contents: SERVICE, resolveDir: source('test'), loader: 'js' as const };
    await build({ ...options, stdin, alias, outfile, bundle: true, platform: 'node', logLevel: 'error' });
    const refused = expect.stringContaining('"retry" has an unknown option "from"') as string;
    expect(JSON.parse(await run(outfile))).toEqual(['clerk', 200, 2, 'Encoded failure', refused, 'server_unreachable', 'invalid_request']);
  });
});

describe('a service in CommonJS', { timeout: 60_000 }, () => {
  test.each(Object.entries(ENTRIES))('requires %s: no module that it loads waits at its top', async (_, path) => {
    const file = join(folder, `${path.replaceAll('/', '-')}.cjs`);
    await writeFile(file, `console.log(Object.keys(require(${JSON.stringify(source(path))})).length > 2)`);
    expect(await run(file)).toBe('true');
  });
});
