import { expect, test } from 'vitest';
import { z } from 'zod';
import { agentTool, defineAgent, defineTool } from '../../../../src/index.ts';
import { LonghaulClient } from '../../../../src/client/index.ts';
import type { ModelClient } from '../../../../src/core/domain/model/model.ts';
import { callTool, hang, say, scriptedModel } from '../../../../src/testing/index.ts';
import { until } from '../../testbed/testbed.ts';
import { cliPath, OwnServer } from './own-server.ts';

const dump = defineTool({
  name: 'dump',
  description: 'Says much',
  parameters: z.object({ text: z.string() }),
  maxResultBytes: 2_000,
  overflow: 'spill',
  execute: ({ text }) => `${text} `.repeat(400),
});
const dumper = defineAgent({ name: 'dumper', model: 'dumping/m', tools: [dump] });
const friend = defineAgent({ name: 'friend', model: 'friendly/m', memory: true });
const helper = defineAgent({ name: 'helper', description: 'Helps', model: 'hanging/m' });
const chief = defineAgent({ name: 'chief', model: 'chief/m', tools: [agentTool(helper)] });

/** A model that answers every request by the same script, made of the text of the request. */
function scriptedBy(script: (text: string, count: number) => ReturnType<typeof say>): ModelClient & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    capabilities: { structuredOutput: true },
    call: (request, context) => {
      const text = JSON.stringify(request.conversation);
      asked.push(text);
      const results = text.split('"tool_result"').length - 1;
      return scriptedModel([script(/MARK-of-\w+/.exec(text)?.[0] ?? '', results)]).call(request, context);
    },
  };
}

const friendly = scriptedBy((mark, results) =>
  mark === '' || results > 0 ? say('Noted') : callTool('remember', { key: 'size', value: mark }),
);

function models(): Record<string, ModelClient> {
  return {
    dumping: scriptedBy((mark, results) => (results < 2 ? callTool('dump', { text: mark }, `c${results}`) : say(mark))),
    friendly,
    chief: scriptedBy((mark) => callTool('helper', { request: mark })),
    hanging: { capabilities: { structuredOutput: true }, call: (request, context) => scriptedModel([hang()]).call(request, context) },
  };
}

/** Leaves a text of a user in each place: runs that have ended and that go on, sessions, a child, spilled results, an archive and a memory. */
async function leave(client: LonghaulClient, user: string): Promise<void> {
  // Ids of runs stay in queues of the server until its retention is over: they are no content.
  const mark = `MARK-of-${user}`;
  await client.run(dumper, { input: mark, runId: `dump-${user}`, deps: { note: mark }, tags: [mark] });
  const first = client.session(friend, { id: `talk-${user}`, title: mark });
  await first.ask(`I wear ${mark}`);
  await client.session(friend, { id: `ended-${user}` }).ask('Which size do I wear?');
  await client.session(friend, { id: `ended-${user}` }).close();
  const run = await client.start(chief, { input: mark, runId: `open-${user}` });
  await until(async () => ((await run.status()).children ?? []).length === 1, 'the child', 20);
}

test.skipIf(cliPath === undefined)(
  'nothing of a user is left in the database of the server, the payload store, the archive and the memory, and everything of another is',
  async () => {
    await using server = await OwnServer.open();
    await server.work({ agents: [dumper, friend, chief, helper], providers: models(), continueAsNew: { events: 30 } });
    const [ada, eve] = [server.client.as({ tenant: 'acme', user: 'ada' }), server.client.as({ tenant: 'acme', user: 'eve' })];
    await leave(ada, 'ada');
    await leave(eve, 'eve');
    // A session recalls what an earlier one of the same user has stored.
    expect(friendly.asked.find((text) => text.includes('Which size') && text.includes('MARK-of'))).toContain('not instructions');
    for (const mark of ['MARK-of-ada', 'MARK-of-eve']) {
      expect(await server.placesOf(mark)).toEqual(['archive', 'database', 'memory', 'payloads']);
    }

    const broken = { ...server.stores.archive, deleteRun: () => Promise.reject(new Error('the disk went away')) };
    const interrupted = new LonghaulClient(server.client.temporal, { ...server.stores, archive: broken });
    await expect(interrupted.forget({ tenant: 'acme', user: 'ada' })).rejects.toThrow('the disk went away');
    const forgotten = await server.client.forget({ tenant: 'acme', user: 'ada' });
    expect(forgotten).toMatchObject({ memoryEntries: 0, without: [] });
    expect(forgotten.runs.slice(0, 4)).toEqual(['dump-ada', 'ended-ada', 'open-ada', expect.stringMatching(/^open-ada\//)]);
    expect(forgotten.runs).toHaveLength(5);
    expect(await server.client.forget({ tenant: 'acme', user: 'ada' })).toEqual({ runs: [], executions: 0, memoryEntries: 0, without: [] });
    expect((await eve.handle('open-eve').status()).status).toBe('running');
    expect(await server.placesOf('MARK-of-ada')).toEqual(['database']);

    await server.stop();
    expect(await server.placesOf('MARK-of-ada')).toEqual([]);
    expect(await server.placesOf('MARK-of-eve')).toEqual(['archive', 'database', 'memory', 'payloads']);
  },
  180_000,
);
