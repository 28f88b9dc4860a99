import { defaultPayloadConverter } from '@temporalio/common';
import { expect, test } from 'vitest';
import type { RunInput } from '../../src/core/protocol.ts';
import { recordedChains } from '../history/recorded-histories.ts';

const PRINCIPAL = { tenant: 'acme', user: 'ada', claims: { role: 'clerk' } };

test('the recorded histories of a run for a user and of its child both begin with the principal', async () => {
  const chains = [...(await recordedChains())].filter(([runId]) => runId.startsWith('sub-agents-of-a-user'));
  const started = chains.flatMap(([, [first]]) => {
    const [payload] = first?.events[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    return payload === undefined ? [] : [defaultPayloadConverter.fromPayload<RunInput>(payload)];
  });
  expect(started.map(({ agent, principal }) => ({ agent, principal }))).toEqual([
    { agent: 'leader', principal: PRINCIPAL },
    { agent: 'editor', principal: PRINCIPAL },
  ]);
});
