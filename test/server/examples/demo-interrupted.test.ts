import { expect, test } from 'vitest';
import { demo, isOpen, ownServer } from './demo-process.ts';

test.each([
  ['while the server is looked for', /No OPENAI_API_KEY.*\n/, 130],
  ['while the worker starts', /starting a worker/, 130],
  ['during the run', /→ search_web/, 130],
  ['after a completed run', /Ctrl-C ends them/, 0],
])('Ctrl-C %s ends every process that the demo started', async (_moment, interruptAt, expected) => {
  const { text, exitCode } = await demo(ownServer(), { interruptAt });

  expect({ text, exitCode }).toMatchObject({ exitCode: expected });
  expect(text).not.toMatch(/error|warn/i);
  const address = /server is at ([\d.]+:\d+)/.exec(text)?.[1];
  expect(address !== undefined && (await isOpen(address))).toBe(false);
});
