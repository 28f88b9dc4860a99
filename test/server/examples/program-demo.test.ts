import { expect, test } from 'vitest';
import { demo, isOpen, ownServer } from './demo-process.ts';

test('the demo shows how three contracts are read at once, an anchor is breached and healed, and a letter is reviewed', async () => {
  const { text, exitCode } = await demo(ownServer(), { script: 'programs' });

  expect({ text, exitCode }).toMatchObject({ exitCode: 0 });
  const told = [
    /^No OPENAI_API_KEY: a scripted model answers$/,
    /^Run "renewals-[0-9a-f-]+" of program "renewals" has begun/,
    /read\.Term\[2\] {6}It renews for 24 months on 15 January, at €95 a month\.$/,
    /✗ attempt 1: RequiresCitation: Citation Breach/,
    /read\.Term\[2\] {6}It renews for 24 months .* at €95 a$/,
    /choose\.Choice {5}\{"contract":"Phone line".*"confidence":0\.6\}$/,
    /✗ attempt 1: Confidence 0\.60 is below the floor of 0\.80\.$/,
    /find_address {6}← Nordwest Telecom/,
    /ann {15}rejected write\.Letter\.review .*: Name the date/,
    /ann {15}approved write\.Letter\.review/,
    /^renewals · openai · \d+\.\d\ds · \d+ events$/,
    /^├─ unit:read · /,
    /^│ {2}├─ forEach:Terms · /,
    /^│ {2}│ {2}├─ \d+\.\d\ds Term\[2\] anchor_breach \{"anchor":"RequiresCitation"/,
    /^└─ unit:write · /,
    /Please confirm that it ends on 15 January/,
    /^\[completed\] renewals \| units: 3 completed \| steps: 4 completed \| 5 attempts \| 8 model calls \| 1 tool call/,
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
