import { expect, test } from 'vitest';
import { ToolSemaphore } from '../../../activities/tool-calls/execute-tool.ts';

const NEVER = new AbortController().signal;

test('as many calls run at a time as a tool allows, and the others follow in order', async () => {
  const turns = new ToolSemaphore();
  const began: string[] = [];
  const take = async (call: string): Promise<() => void> => {
    const over = await turns.take('t', 2, NEVER);
    began.push(call);
    return over;
  };
  const [first, second] = await Promise.all([take('a'), take('b')]);
  const third = take('c');
  const fourth = take('d');
  expect(began).toEqual(['a', 'b']);
  first();
  first();
  (await third)();
  await fourth;
  expect(began).toEqual(['a', 'b', 'c', 'd']);
  second();
});

test('tools do not wait for each other', async () => {
  const turns = new ToolSemaphore();
  await turns.take('t', 1, NEVER);
  await expect(turns.take('u', 1, NEVER)).resolves.toBeTypeOf('function');
});

test('a call that is aborted while it waits takes no slot', async () => {
  const turns = new ToolSemaphore();
  const over = await turns.take('t', 1, NEVER);
  const controller = new AbortController();
  const waiting = turns.take('t', 1, controller.signal);
  const next = turns.take('t', 1, NEVER);
  controller.abort(new Error('given up'));
  await expect(waiting).rejects.toThrow('given up');
  over();
  await expect(next).resolves.toBeTypeOf('function');
});
