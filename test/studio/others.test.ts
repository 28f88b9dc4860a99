import { expect, test } from 'vitest';
import { readOthers } from '../../studio/others.ts';

test('the agents that an agent may lead to are read from one to the next, each once, also in a circle', async () => {
  const all: Record<string, string[]> = { first: ['second', 'hidden'], second: ['third', 'first'], third: ['second'] };
  const read: string[] = [];
  const found = await readOthers({ name: 'first', agents: all['first'] ?? [] }, async (name) => {
    read.push(name);
    const agents = all[name];
    return agents === undefined ? undefined : { name, agents };
  });
  expect([...found.keys()]).toEqual(['second', 'third']);
  expect(read).toEqual(['second', 'hidden', 'third']);
});

test('of an endless chain of agents, a bounded number is read', async () => {
  const found = await readOthers({ name: '0', agents: ['1'] }, async (name) => ({ name, agents: [String(Number(name) + 1)] }));
  expect(found.size).toBe(39);
});
