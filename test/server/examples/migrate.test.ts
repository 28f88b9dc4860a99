import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { refundModel } from '../../examples/refund-model.ts';

const folder = fileURLToPath(new URL('../../../examples/migrate/temporal', import.meta.url));

test.skipIf(!existsSync(`${folder}/node_modules/@temporalio/ai-sdk`))(
  "the programs of Temporal's plugins look up the order and refund it (npm ci --prefix examples/migrate/temporal)",
  async () => {
    await using model = await refundModel();
    const args = [`${folder}/run.ts`, inject('temporalAddress'), model.url, inject('temporalNamespace')];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder });
    expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toEqual({ aiSdk: 'Refunded $120.', openaiAgents: 'Refunded $120.' });
    expect(model.requests).toBe(6);
  },
  120_000,
);
