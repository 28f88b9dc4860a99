import { expect, test } from 'vitest';
import { buildSnapshot } from '../../activities/build-snapshot.ts';
import { defineAgent } from '../../src/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';

const agent = defineAgent({ name: 'one', model: 'p/m' });
const circumstances = {
  instructions: [],
  capabilities: scriptedModel([]).capabilities,
  heartbeatMs: 5_000,
  searchAttributes: false,
};

test('a run learns from its snapshot that it is to move where it continues as new', () => {
  expect(buildSnapshot(agent, { ...circumstances, upgradeOnContinueAsNew: true })).toHaveProperty('upgradeOnContinueAsNew', true);
});

test('the snapshot of a worker without that wish is the one of a worker without versions', () => {
  expect(buildSnapshot(agent, { ...circumstances, upgradeOnContinueAsNew: false })).toEqual(buildSnapshot(agent, circumstances));
});
