import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { streamStorm } from '../../../stream-storm/storm.ts';
import { REDIS_MISSING, redisProgram } from '../../../streams/redis-server.ts';

test.skipIf(redisProgram === undefined)(
  `readers that stop at any item and continue in another process get the record while processes are killed at any time${REDIS_MISSING}`,
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 1_000 }), async (seed) => {
        const place = {
          address: inject('temporalAddress'),
          namespace: inject('temporalNamespace'),
          taskQueue: `killed-${randomUUID()}`,
          bundlePath: inject('workflowBundlePath'),
          workers: 2,
        };
        const { checks, figures } = await streamStorm(place, { runs: 4, seed, say: () => undefined });
        expect({ figures, problems: checks.flatMap(({ name, problems }) => problems.map((problem) => `${name}: ${problem}`)) }).toEqual({
          figures,
          problems: [],
        });
      }),
      // A storm that fails says what failed: a smaller seed would not be simpler.
      { numRuns: 2, seed: 7, endOnFailure: true },
    );
  },
  400_000,
);
