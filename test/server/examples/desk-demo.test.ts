import { expect, test } from 'vitest';
import { demo, isOpen, ownServer } from './demo-process.ts';

test('the demo shows how a customer is handed over, agents delegate to agents, a call is denied, and a refund is approved at the root', async () => {
  const { text, exitCode } = await demo(ownServer(), { script: 'support-desk' });

  expect({ text, exitCode }).toMatchObject({ exitCode: 0 });
  const told = [
    /^Run "triage-[0-9a-f-]+" has begun/,
    /triage +→ transfer_to_agent\(agent: "refund_desk"\)/,
    /load_skill +← ## Skill: refunds/,
    /order_reader +← A lamp for €80/,
    /^The tree while it waits/,
    /^triage pending_confirmation · /,
    /cashier pending_confirmation · .* waits for refund$/,
    /ann +approved refund/,
    /refund +← refunded €80 for order 42/,
    /delete_order +← error: The permissions of this run do not allow this call of "delete_order"/,
    /refund_desk +We are sorry/,
    /^The tree at its end/,
    /^triage completed · .* · tree: 2860 tokens/,
    /order_reader completed/,
    /cashier completed/,
    /^\[completed\] triage \| 5\/10 steps \| 5 tool calls/,
  ];
  const lines = text.split('\n');
  let from = 0;
  for (const pattern of told) {
    const found = lines.slice(from).findIndex((line) => pattern.test(line));
    expect({ pattern, text: found < 0 ? lines.slice(from).join('\n') : '' }).toEqual({ pattern, text: '' });
    from += found + 1;
  }
  expect(await isOpen(/server is at ([\d.]+:\d+)/.exec(text)?.[1] ?? '')).toBe(false);
});
