import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, resource } from '../../../src/index.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { createWorker } from '../../../worker/index.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';

/** A connection of these tests: its text must not be in a history. */
class Ledger {
  readonly password: string;
  broken = false;

  constructor(password: string) {
    this.password = password;
  }

  ask(): string {
    return this.broken ? 'broken' : 'balanced';
  }
}

const audit = defineTool({
  name: 'audit',
  description: 'Asks how things stand',
  parameters: z.object({}),
  execute: (_, { resources }) => {
    const open = resources['ledger'] as Ledger;
    const answer = open.ask();
    // The next use finds the connection broken.
    open.broken = true;
    return answer;
  },
});

const auditor = defineAgent({ name: 'auditor', model: 'scripted/m', tools: [audit] });

/** A ledger with a health check before each use. */
function ledger(happened: string[]) {
  return resource({
    open: async ({ secret }) => {
      happened.push('open');
      return new Ledger(await secret('ledger-password'));
    },
    health: ({ broken }) => {
      happened.push('check');
      return !broken;
    },
    close: ({ broken }) => happened.push(broken ? 'close broken' : 'close'),
    healthEvery: 1,
  });
}

test('a worker opens a resource, repairs it before a tool uses it, closes it after draining, and writes no part of it to the history', async () => {
  const happened: string[] = [];
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('audit', {}, 'c1'), callTool('audit', {}, 'c2'), say('done')]);
  const worker = await testbed.work({
    agents: [auditor],
    providers: { scripted },
    resources: { ledger: ledger(happened) },
    secrets: (name) => Promise.resolve(name === 'ledger-password' ? 'correct horse battery' : undefined),
  });
  expect(happened).toEqual(['open']);
  expect(await worker.health()).toMatchObject({ ready: true, state: 'RUNNING', resources: { ledger: { state: 'open' } } });

  const result = await testbed.client.run(auditor, { input: 'Q', taskQueue: testbed.taskQueue, steps: true });
  expect(result.steps?.flatMap(({ toolCalls }) => toolCalls).map((call) => call.result)).toEqual(['balanced', 'balanced']);
  expect(happened.filter((one) => one !== 'check')).toEqual(['open', 'close broken', 'open']);
  expect(happened.indexOf('check')).toBeLessThan(happened.indexOf('close broken'));

  await testbed.stopWorkers();
  expect(happened.filter((one) => one !== 'check')).toEqual(['open', 'close broken', 'open', 'close broken']);
  expect(await worker.health()).toEqual({
    ready: false,
    degraded: false,
    state: 'STOPPED',
    resources: { ledger: { state: 'closed' } },
    stores: {},
  });
  const history = JSON.stringify(await historyOf(testbed, result.runId)).replaceAll(/"data":"([^"]*)"/g, (_, data: string) => atob(data));
  expect(history).toContain('balanced');
  for (const trace of ['ledger', 'correct horse battery']) expect(history).not.toContain(trace);
});

test('creating a worker fails if a resource cannot be opened, and the error names the resource', async () => {
  await using testbed = await Testbed.open();
  const options = { address: testbed.address, taskQueue: testbed.taskQueue, agents: [auditor], providers: { scripted: scriptedModel([]) } };
  const closed: string[] = [];
  const making = createWorker({
    ...options,
    resources: {
      cache: resource({ open: () => 'cache', close: (name) => closed.push(name) }),
      ledger: resource({ open: () => Promise.reject(new Error('the ledger is locked')) }),
    },
  });
  await expect(making).rejects.toMatchObject({
    code: 'resource_unavailable',
    message: expect.stringContaining('Resource "ledger" of the worker cannot be opened: the ledger is locked'),
  });
  expect(closed).toEqual(['cache']);
});

test('if a lazy resource cannot be opened, the model reads the error, and the next call gets the resource', async () => {
  const browse = defineTool({
    name: 'browse',
    description: 'Reads a page',
    parameters: z.object({}),
    resources: ['browser'],
    maxAttempts: 1,
    execute: (_, { resources }) => resources['browser'],
  });
  const reader = defineAgent({ name: 'reader', model: 'scripted/m', tools: [browse] });
  let opened = 0;
  const open = (): string => {
    opened += 1;
    if (opened === 1) throw new Error('no display');
    return `browser ${opened}`;
  };
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('browse', {}, 'c1'), callTool('browse', {}, 'c2'), say('done')]);
  await testbed.work({ agents: [reader], providers: { scripted }, resources: { browser: resource({ open, lazy: true }) } });
  const result = await testbed.client.run(reader, { input: 'Q', taskQueue: testbed.taskQueue, steps: true });
  const [failed, read] = result.steps?.flatMap(({ toolCalls }) => toolCalls) ?? [];
  expect(failed).toMatchObject({
    isError: true,
    result: expect.stringContaining('Resource "browser" of the worker cannot be opened: no display'),
  });
  expect(read).toMatchObject({ isError: false, result: 'browser 2' });
});
