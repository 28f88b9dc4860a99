import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { LonghaulClient } from '../../../../src/client/index.ts';
import { ask, defineProgram, unit } from '../../../../src/define/program/index.ts';
import { defineAgent } from '../../../../src/index.ts';
import { say, scriptedModel } from '../../../../src/testing/index.ts';
import { historyOf, Testbed, until } from '../../testbed/testbed.ts';
import { refusalOf, RUN_CALLS, SESSION_CALLS } from './other-users.ts';

const USERS = 50;
const SESSIONS = 20;
const AT_ONCE = 25;

const talker = defineAgent({ name: 'talker', model: 'scripted/m' });
const note = defineProgram({ name: 'note', model: 'scripted/m', units: [unit('u', {}, [ask('Note', 'Write a note')])] });

/** Methods of a session that begin one if the id is free: they do not refuse an id that does not exist. */
const BEGINS: Readonly<Record<string, string>> = { open: 'run_exists', send: 'run_exists', ask: 'run_exists' };

/** Does the work for each item, several at once. */
async function forEach<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  const one = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

/** Another user's session that a user calls a method on. Each method pairs users differently; all together call most sessions. */
function foreignTo(user: number, method: number): { owner: number; session: number } {
  const owner = (user + 1 + ((method * 7) % (USERS - 1))) % USERS;
  return { owner, session: (user + method * 3) % SESSIONS };
}

test('50 users with 20 sessions each: every call on a session of another user is refused like one on an unknown id', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [talker], providers: { scripted: scriptedModel([say('Hello')], { repeatLast: true }) } });
  const all = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue });
  const tenant = `tenant-${randomUUID()}`;
  const users = Array.from({ length: USERS }, (_, user) => {
    const sessions = Array.from({ length: SESSIONS }, () => `talk-${randomUUID()}`);
    return { user, client: all.as({ tenant, user: `user-${user}` }), sessions };
  });
  const clientOf = (user: number): LonghaulClient => users[user]?.client ?? all;
  const idOf = ({ owner, session }: { owner: number; session: number }): string => users[owner]?.sessions[session] ?? '';

  const starts = users.flatMap(({ client, sessions }) => sessions.map((id) => ({ client, id })));
  await forEach(starts, async ({ client, id }) => client.session(talker, { id }).open());
  await forEach(starts, async ({ client, id }) => {
    await until(async () => (await client.session(talker, { id }).status()).status === 'idle', `session ${id}`, 60);
  });

  const unknown = randomUUID();
  const methods: { name: string; call: (client: LonghaulClient, id: string) => Promise<unknown>; refused?: string | undefined }[] = [
    ...Object.entries(RUN_CALLS).map(([name, call]) => ({
      name: `run.${name}`,
      call: (client: LonghaulClient, id: string) => call(client.handle(id)),
    })),
    ...Object.entries(SESSION_CALLS).map(([name, call]) => ({
      name: `session.${name}`,
      call: (client: LonghaulClient, id: string) => call(client.session('talker', { id })),
      refused: BEGINS[name],
    })),
    { name: 'start', call: (client, id) => client.start(talker, { previousRunId: id, input: 'Q' }) },
    { name: 'startProgram', call: (client, id) => client.startProgram(note, { resume: { run: id } }) },
  ];
  for (const [method, { name, call, refused }] of methods.entries()) {
    // A refusal that begins with the code, or exactly the refusal for an id that does not exist.
    const like = refused === undefined ? await refusalOf(call(clientOf(0), unknown), unknown) : `${refused}: `;
    expect([name, like]).toEqual([name, expect.stringMatching(`^${refused ?? 'run_not_found'}: `)]);
    await forEach(users, async ({ user, client }) => {
      const id = idOf(foreignTo(user, method));
      const refusal = await refusalOf(call(client, id), id);
      expect([name, user, refused === undefined ? refusal : refusal.slice(0, like.length)]).toEqual([name, user, like]);
    });
  }

  await forEach(users, async ({ user, client, sessions }) => {
    const other = `user-${(user + 1) % USERS}`;
    expect((await Array.fromAsync(client.list())).map(({ runId }) => runId).toSorted()).toEqual(sessions.toSorted());
    expect((await Array.fromAsync(client.sessions())).map(({ sessionId }) => sessionId).toSorted()).toEqual(sessions.toSorted());
    expect(await Array.fromAsync(client.approvals())).toEqual([]);
    expect(() => client.list({ user: other })).toThrow('takes no "user"');
    expect(() => client.sessions({ user: other })).toThrow('takes no "user"');
    expect(() => client.approvals({ user: other })).toThrow('takes no "user"');
    await expect(client.forget({ tenant, user: other })).rejects.toThrow('names another user');
  });

  await forEach(starts, async ({ client, id }) => {
    expect(await client.session(talker, { id }).status()).toMatchObject({ status: 'idle', session: { turns: 0 } });
  });
  await forEach(users, async ({ client, sessions: [id = ''] }) => {
    expect((await client.handle(id).context()).events).toEqual([]);
    const parts = (await historyOf(testbed, id)).flatMap((event) => Object.entries(event).filter(([, part]) => part));
    expect(parts.map(([name]) => name).filter((name) => /Update|Signal|Cancel|Terminat/.test(name))).toEqual([]);
  });
}, 300_000);
