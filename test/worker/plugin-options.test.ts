import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { keyOfRun } from '../../activities/run-queries/query-run.ts';
import { TranscriptCache } from '../../activities/run-queries/transcript.ts';
import { UsageError } from '../../src/core/domain/errors.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { connect, LonghaulClient } from '../../src/client/index.ts';
import { fakeSink } from '../fakes/fake-sink.ts';
import { createWorker, inMemory, LonghaulPlugin, type LonghaulPluginOptions } from '../../worker/index.ts';

function pluginWith(options: object): LonghaulPlugin {
  return new LonghaulPlugin({ agents: [], providers: {}, ...options } satisfies LonghaulPluginOptions);
}

describe('invalid prices are refused where the worker is created', () => {
  test.each([
    [{ 'gpt-4o': { input: 1, output: 1 } }, '"prices" has "gpt-4o": write "provider/model"'],
    [{ 'p/m': 2 }, '"prices" of "p/m" are 2: write {input, output, cachedInput} in US dollars per million tokens'],
    [{ 'p/m': { input: 1 } }, '"prices" of "p/m": "output" is undefined: write US dollars per million tokens'],
    [{ 'p/m': { input: -1, output: 1 } }, '"prices" of "p/m": "input" is -1: write US dollars per million tokens'],
    [{ 'p/m': { input: 1, output: 1, cachedInput: '0' } }, '"prices" of "p/m": "cachedInput" is "0": write US dollars per million tokens'],
    [
      { 'p/m': { input: 1, output: 1, cacheWrite: -1 } },
      '"prices" of "p/m": "cacheWrite" is -1: write a factor on the price, such as 1.25',
    ],
    [
      { 'p/m': { input: 1, output: 1, cached: 0 } },
      '"prices" of "p/m" has an unknown option "cached" (known: input, output, cachedInput, cacheWrite, batch, hosted)',
    ],
  ])('%j', (prices, problem) => {
    expect(() => pluginWith({ prices })).toThrow(new UsageError(`the worker: ${problem}`));
  });

  test('and prices of zero are accepted', () => {
    expect(pluginWith({ prices: { 'ollama/llama': { input: 0, output: 0 } } })).toBeInstanceOf(LonghaulPlugin);
  });
});

test.each(['authorize', 'notify'])('"%s" has to be a function', (name) => {
  expect(() => pluginWith({ [name]: { as: 'me' } })).toThrow(new UsageError(`the worker: "${name}" is {"as":"me"}: write a function`));
});

test('"embed" has to be a function, and needs a memory', () => {
  expect(() => pluginWith({ embed: [], memory: inMemory() })).toThrow('the worker: "embed" is []: write a function');
  expect(() => pluginWith({ embed: async () => [[1]] })).toThrow('the worker has "embed" but no "memory"');
  expect(pluginWith({ embed: async () => [[1]], memory: inMemory() })).toBeInstanceOf(LonghaulPlugin);
});

test('"streams" has to be a sink', () => {
  for (const bad of ['redis', {}, { name: 'mine' }])
    expect(() => pluginWith({ streams: bad })).toThrow('the worker: "streams" is not a sink');
  expect(pluginWith({ streams: fakeSink() })).toBeInstanceOf(LonghaulPlugin);
});

test('heartbeats reach the server at the pace of the worker, or of its sink if that is faster', () => {
  const throttle = (options: object): unknown =>
    pluginWith({ heartbeatEvery: '5s', ...options }).configureWorker({ taskQueue: 't' }).maxHeartbeatThrottleInterval;
  expect(throttle({})).toBe(5_000);
  expect(throttle({ streams: fakeSink() })).toBe(5_000);
  expect(throttle({ streams: { ...fakeSink(), heartbeatEveryMs: 500 } })).toBe(500);
  expect(throttle({ streams: { ...fakeSink(), heartbeatEveryMs: 60_000 } })).toBe(5_000);
});

test.each(['archiveTimeout', 'heartbeatEvery'])('"%s" has to be a duration that a timer can hold', (name) => {
  for (const bad of [0, -1, Number.NaN, '5 minutes', {}]) {
    expect(() => pluginWith({ [name]: bad })).toThrow(
      `the worker: "${name}" is ${typeof bad === 'number' ? bad : JSON.stringify(bad)}: write milliseconds (at least 1), or a text`,
    );
  }
  expect(() => pluginWith({ [name]: '25d' })).toThrow(`the worker: "${name}" is "25d": write at most 2147483647 milliseconds ("24d")`);
  expect(pluginWith({ [name]: '5m' })).toBeInstanceOf(LonghaulPlugin);
});

describe('a tool that names a resource', () => {
  const audit = defineTool({
    name: 'audit',
    description: 'Audits',
    parameters: z.object({}),
    resources: ['ledger', 'flags'],
    execute: () => 'balanced',
  });
  const agents = [defineAgent({ name: 'auditor', model: 'p/m', tools: [audit] })];
  const options = { agents, providers: { p: scriptedModel([]) } };

  test('is refused by a worker without the resource, with the list of its resources', () => {
    expect(() => pluginWith({ ...options, resources: { flags: {}, db: {} } })).toThrow(
      new UsageError(
        'tool "audit" of agent "auditor" needs the resource "ledger", but the worker has no resource of that name (it has: "flags", "db"): add it to "resources"',
      ),
    );
  });

  test('is accepted by a worker with the resource', () => {
    expect(pluginWith({ ...options, resources: { flags: {}, ledger: {} } })).toBeInstanceOf(LonghaulPlugin);
  });
});

describe('unknown options are refused with the nearest name', () => {
  const parts = { agents: [], providers: {} };

  test.each<[() => unknown, RegExp]>([
    [() => pluginWith({ agent: [] }), /^the plugin has an unknown option "agent" \(known: agents, .*\)\. Did you mean "agents"\?$/],
    [() => pluginWith({ heartbeatMs: 5_000 }), /Did you mean "heartbeatEvery"\?$/],
    [() => pluginWith({ agents: undefined }), /^the plugin: "agents" is missing: write a list of what defineAgent returned$/],
    [() => pluginWith({ agents: [{ name: 'clerk' }] }), /^the plugin: "agents" has an element that is not an agent/],
    [() => pluginWith({ providers: { p: {} } }), /^the plugin: "providers\.p" is not a model client/],
    [() => pluginWith({ codec: { encrypt: 'environment' } }), /^codec has an unknown option "encrypt" .*\. Did you mean "encryption"\?$/],
    [
      () => pluginWith({ versioning: { deployment: 'a', buildId: 'b', behavior: 'PINNED' } }),
      /^the plugin: "versioning" has an unknown option "deployment"/,
    ],
    [
      () => createWorker({ ...parts, taskqueue: 'q' } as never),
      /^the worker has an unknown option "taskqueue" .*\. Did you mean "taskQueue"\?$/,
    ],
    [() => createWorker({ ...parts, shutdownGraceMs: 5 } as never), /Did you mean "shutdownGrace"\?$/],
    [() => createWorker({ ...parts, taskQueue: '' }), /^the worker: "taskQueue" is "": write a text$/],
    [() => createWorker({ ...parts, logLevel: 'loud' as never }), /^the worker: "logLevel" is "loud": write "TRACE"/],
    [() => connect({ adress: 'localhost:7233' } as never), /^connect has an unknown option "adress" .*\. Did you mean "address"\?$/],
    [() => connect({ address: '' }), /^connect: "address" is "": write a text$/],
    [
      () => new LonghaulClient({} as never, { taskQeue: 'q' } as never),
      /^the client has an unknown option "taskQeue" .*\. Did you mean "taskQueue"\?$/,
    ],
  ])('%s', async (make, message) => {
    const failure = await Promise.resolve()
      .then(make)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UsageError);
    expect((failure as Error).message).toMatch(message);
  });

  test('and none is suggested if no name is similar', () => {
    expect(() => pluginWith({ colour: 'red' })).toThrow(/unknown option "colour" \(known: [^)]*\)$/);
  });
});

test('a plugin is for the workers of one namespace', () => {
  const plugin = pluginWith({});
  const worker = (namespace?: string) => ({ taskQueue: 'q', ...(namespace === undefined ? {} : { namespace }) });
  plugin.configureWorker(worker());
  plugin.configureWorker(worker('default'));
  expect(() => plugin.configureWorker(worker('other'))).toThrow(
    'this LonghaulPlugin serves the namespace "default" already, and a worker of "other" was given it too: make one plugin for each namespace',
  );
});

test('the conversation of a run is forgotten when its trace ends, and not before', () => {
  const forget = vi.spyOn(TranscriptCache.prototype, 'forget');
  try {
    const { traced } = pluginWith({}).configureWorker({ taskQueue: 't' }).sinks?.['longhaul'] ?? {};
    const info = { namespace: 'n', workflowId: 'w', runId: 'e', historyLength: 3 };
    const notify = (part: object): unknown => traced?.fn(info as never, '', { events: [], steps: [], ...part }, 0);
    notify({});
    expect(forget).not.toHaveBeenCalled();
    notify({ end: { type: 'continued' } });
    expect(forget).toHaveBeenCalledExactlyOnceWith(keyOfRun({ namespace: 'n', workflowId: 'w', runId: 'e', key: '' }));
  } finally {
    forget.mockRestore();
  }
});
