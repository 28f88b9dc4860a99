import type { Client } from '@temporalio/client';
import { describe, expect, it, test } from 'vitest';
import { LonghaulClient } from '../../src/client/longhaul-client.ts';
import { UsageError } from '../../src/core/domain/errors.ts';
import type { Principal } from '../../src/core/domain/run.ts';
import { assistant } from '../server/testbed/agents.ts';

const CLIENT = new LonghaulClient({ options: { namespace: 'default' } } as Client);

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

describe('a client that acts for a principal', () => {
  it.each<[unknown, string]>([
    [undefined, '"principal" is missing: give "tenant", "user" or both'],
    [null, '"principal" is missing'],
    [{ tenant: 'acme', user: undefined }, '"user" of "principal" is undefined: give the user, or leave "user" out'],
    [{ tenant: undefined, user: 'ada' }, '"tenant" of "principal" is undefined'],
    [{}, '"principal" has no tenant and no user'],
    [{ principle: 'x' }, 'principle'],
  ])('is not made for %o', (principal, message) => {
    const clients = [CLIENT, CLIENT.as({ tenant: 'acme' })];
    for (const client of clients) {
      const error = thrownBy(() => client.as(principal as Principal));
      expect(error).toBeInstanceOf(UsageError);
      expect(String(error)).toContain(message);
    }
  });

  it('is made for a tenant, a user, or both', () => {
    for (const principal of [{ tenant: 'acme' }, { user: 'ada' }, { tenant: 'acme', user: 'ada', claims: { role: 'clerk' } }])
      expect(CLIENT.as(principal).principal).toEqual(principal);
  });
});

test('a start and a session for a user that is undefined are refused', async () => {
  const principal = { tenant: 'acme', user: undefined } as unknown as Principal;
  const message = '"user" of "principal" is undefined';
  await expect(CLIENT.start(assistant, { input: 'Q', principal })).rejects.toThrow(message);
  await expect(CLIENT.startProgram('note', { principal })).rejects.toThrow(message);
  expect(() => CLIENT.session(assistant, { id: 's', principal })).toThrow(message);
});

test('an identity that is undefined is refused where its absence would mean another identity, or the runs of all', () => {
  const missing = undefined as never;
  expect(() => new LonghaulClient({ options: { namespace: 'default' } } as Client, { principal: missing })).toThrow(
    'the client: "principal" is undefined: give it, or leave "principal" out for a client that reaches all runs',
  );
  const nobody = 'is undefined: give it, or leave "user" out for a session of nobody in particular';
  expect(() => CLIENT.session(assistant, { id: 's', user: missing })).toThrow(`the session: "user" ${nobody}`);
  expect(() => CLIENT.session(assistant, { id: 's', principal: missing })).toThrow('the session: "principal" is undefined');
  for (const filter of [{ user: missing }, { tenant: missing }]) {
    const [name = ''] = Object.keys(filter);
    for (const list of [() => CLIENT.list(filter), () => CLIENT.approvals(filter), () => CLIENT.sessions(filter)])
      expect(list).toThrow(`the filter: "${name}" is undefined: give it, or leave "${name}" out to list the runs of all`);
  }
  // A client of a principal reaches no more without them.
  expect(CLIENT.as({ user: 'ada' }).session(assistant, { id: 's', user: missing })).toBeDefined();
});

test('a start for a principal that is undefined is refused', async () => {
  const missing = undefined as never;
  const message = 'the start: "principal" is undefined: give it, or leave "principal" out for a run of nobody in particular';
  await expect(CLIENT.start(assistant, { input: 'Q', principal: missing })).rejects.toThrow(message);
  await expect(CLIENT.startProgram('note', { principal: missing })).rejects.toThrow(message);
});

test('a start of nothing says what is missing', async () => {
  const nothing = undefined as never;
  const agent = 'the agent is undefined: give the agent that "defineAgent" returned, or its name';
  await expect(CLIENT.start(nothing, { input: 'Q' })).rejects.toThrow(agent);
  await expect(CLIENT.run(nothing, { input: 'Q' })).rejects.toThrow(agent);
  expect(() => CLIENT.session(nothing, { id: 's' })).toThrow(agent);
  await expect(CLIENT.start('' as never, { input: 'Q' })).rejects.toThrow('the agent is ""');
  await expect(CLIENT.start(7 as never, { input: 'Q' })).rejects.toThrow('the agent is a number');
  await expect(CLIENT.startProgram(nothing)).rejects.toThrow('the program is undefined: give the program that "defineProgram" returned');
  await expect(CLIENT.start('clerk', nothing)).rejects.toThrow('the options for agent "clerk" are missing');
  expect(() => CLIENT.session('clerk', nothing)).toThrow('the options for agent "clerk" are missing');
});
