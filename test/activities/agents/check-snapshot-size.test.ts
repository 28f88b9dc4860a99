import { expect, test } from 'vitest';
import { z } from 'zod';
import { buildSnapshot, checkSnapshotSize } from '../../../activities/agents/build-snapshot.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import type { AgentSnapshot } from '../../../src/core/domain/agent.ts';
import { BYTE_BUDGETS, jsonBytes } from '../../../src/core/domain/byte-budgets.ts';

function snapshot(instructions: string, description = 'Searches.'): AgentSnapshot {
  const search = defineTool({ name: 'search', description, parameters: z.object({}), execute: () => 'found' });
  const agent = defineAgent({ name: 'clerk', model: 'scripted/model-1', instructions, tools: [search] });
  return buildSnapshot(agent, {
    instructions: [instructions],
    capabilities: { structuredOutput: true },
    heartbeatMs: 5_000,
    searchAttributes: false,
  });
}

const room = BYTE_BUDGETS.snapshot - jsonBytes(snapshot(''));

test.each([
  ['one byte below the budget', room - 1],
  ['at the budget', room],
])('an agent %s is accepted', (_, length) => {
  expect(() => checkSnapshotSize(snapshot('x'.repeat(length)))).not.toThrow();
});

test.each([
  [
    snapshot('x'.repeat(room + 1)),
    /^Agent "clerk" is 400001 bytes of JSON, over 400000; most of it is its instructions \(\d+ bytes\): shorten that/,
  ],
  [snapshot('Answer.', 'x'.repeat(room + 10)), /most of it is its tool "search" \(\d+ bytes\)/],
])('an agent above the budget is refused, and the error names its largest part', (large, message) => {
  expect(() => checkSnapshotSize(large)).toThrow(
    expect.objectContaining({ code: 'payload_too_large', message: expect.stringMatching(message) }),
  );
});

test('the tools of an MCP server are counted together', () => {
  const half = snapshot('Answer.', 'x'.repeat(room / 2)).tools.map((tool) => ({ ...tool, mcp: { server: 'crm', tool: tool.name } }));
  const large = { ...snapshot('Answer.', 'x'.repeat(1_000)), tools: [...half, ...half, ...half] };
  expect(() => checkSnapshotSize(large)).toThrow(/most of it is its tools of MCP server "crm" \(\d+ bytes\)/);
});
