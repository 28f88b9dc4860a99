import { expect, test } from 'vitest';
import { LonghaulClient } from '../../../../src/client/index.ts';
import { friendly, leave, models, parts } from './left-by-users.ts';
import { redisProgram } from '../../../streams/redis-server.ts';
import { cliPath, OwnServer } from './own-server.ts';

test.skipIf(cliPath === undefined)(
  'nothing of a user is left in the database of the server, the payload store, the archive, the memory and the sink of live output, and everything of another is',
  async () => {
    await using server = await OwnServer.open();
    await server.work({ ...parts, providers: models, continueAsNew: { events: 30 } });
    const [ada, eve] = [server.client.as({ tenant: 'acme', user: 'ada' }), server.client.as({ tenant: 'acme', user: 'eve' })];
    const left = await leave(ada, 'ada');
    await leave(eve, 'eve');
    // A session recalls the entries of an earlier one of the same user.
    expect(friendly.asked.find((text) => text.includes('Which size') && text.includes('MARK-of'))).toContain('not instructions');
    const all = ['archive', 'database', 'memory', 'payloads', ...(redisProgram === undefined ? [] : ['streams'])];
    for (const mark of ['MARK-of-ada', 'MARK-of-eve']) {
      expect(await server.placesOf(mark)).toEqual(all);
    }
    expect(await server.runsIn('payloads', 'ada')).toEqual(['dump-ada', 'past-ada', 'report-ada']);
    expect(await server.runsIn('archive', 'ada')).toEqual(expect.arrayContaining(['past-ada', 'report-ada']));

    const broken = { ...server.stores.archive, deleteRun: () => Promise.reject(new Error('the disk went away')) };
    const interrupted = new LonghaulClient(server.client.temporal, { ...server.stores, archive: broken });
    await expect(interrupted.forget({ tenant: 'acme', user: 'ada' })).rejects.toThrow('the disk went away');
    const forgotten = await server.client.forget({ tenant: 'acme', user: 'ada' });
    expect(forgotten).toMatchObject({ memoryEntries: 0, kept: [], without: [] });
    const below = forgotten.runs.filter((runId) => runId.includes('/'));
    expect(forgotten.runs.filter((runId) => !below.includes(runId))).toEqual([...left, 'past-ada'].toSorted());
    expect(below).toEqual([expect.stringMatching(/^kept-ada\//), expect.stringMatching(/^open-ada\//)]);
    const nothing = { runs: [], executions: 0, memoryEntries: 0, kept: [], without: [] };
    expect(await server.client.forget({ tenant: 'acme', user: 'ada' })).toEqual(nothing);
    expect((await eve.handle('open-eve').status()).status).toBe('running');
    expect(await server.placesOf('MARK-of-ada')).toEqual(['database']);
    for (const place of ['payloads', 'archive'] as const) expect(await server.runsIn(place, 'ada')).toEqual([]);

    await server.stop();
    expect(await server.placesOf('MARK-of-ada')).toEqual([]);
    expect(await server.placesOf('MARK-of-eve')).toEqual(all);
  },
  240_000,
);
