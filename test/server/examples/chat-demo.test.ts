import { expect, test } from 'vitest';
import { demo, isOpen, ownServer } from './demo-process.ts';

test('the demo talks to an agent that remembers, and whose refund is approved on the way', async () => {
  const { text, exitCode } = await demo(ownServer(), { script: 'chat', flags: ['--exit'] });
  expect({ text, exitCode }).toMatchObject({ exitCode: 0 });
  const told = [
    '> Order 42 arrived broken.',
    'ann approves refund {"order":42,"amount":80}',
    'You get your money back within three days.',
    '> What did I say first?',
    'The first thing you said was: "Order 42 arrived broken."',
    '(turn 2: completed)',
    '[completed] clerk | 2 turns | 3 steps | 1 tool call',
  ];
  let from = 0;
  for (const line of told) {
    const found = text.indexOf(line, from);
    expect({ line, text: found < 0 ? text.slice(from) : '' }).toEqual({ line, text: '' });
    from = found + line.length;
  }
  expect(await isOpen(/server is at ([\d.]+:\d+)/.exec(text)?.[1] ?? '')).toBe(false);
});
