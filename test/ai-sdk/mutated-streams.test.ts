import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ModelCallError } from '../../src/core/domain/errors.ts';
import type { ModelResponse } from '../../src/core/domain/model.ts';
import { aiSdk } from '../../worker/index.ts';
import { request } from './fake-model.ts';
import type { Answer } from './families.ts';
import { FakeServer } from './fake-server.ts';
import { type Package, PACKAGES } from './packages.ts';

const server = new FakeServer();
let url = '';
beforeAll(async () => {
  url = await server.start();
});
afterAll(() => server.close());

/** Values that no API sends where another is due. */
const VALUES = ['null', '7', '""', '[]', '{}', '"x"', '-1', 'true', '[null]', '{"type":"x"}'];

const mutation = fc.record({
  how: fc.constantFrom('drop' as const, 'repeat' as const, 'swap' as const, 'cut' as const, 'value' as const, 'byte' as const),
  at: fc.nat(60),
  place: fc.nat(400),
  value: fc.constantFrom(...VALUES),
});
type Mutation = typeof mutation extends fc.Arbitrary<infer Value> ? Value : never;

function mutated(chunks: readonly Buffer[], { how, at, place, value }: Mutation): Buffer[] {
  const index = at % chunks.length;
  const chunk = chunks[index] ?? Buffer.alloc(0);
  const replaced = (...others: Buffer[]): Buffer[] => [...chunks.slice(0, index), ...others, ...chunks.slice(index + 1)];
  switch (how) {
    case 'drop':
      return replaced();
    case 'repeat':
      return replaced(chunk, chunk);
    case 'swap':
      return [...chunks.slice(0, index), ...chunks.slice(index, index + 2).toReversed(), ...chunks.slice(index + 2)];
    case 'cut':
      return replaced(chunk.subarray(0, place % (chunk.length + 1)));
    case 'byte': {
      const changed = Buffer.from(chunk);
      if (chunk.length > 0) changed[place % chunk.length] = place % 256;
      return replaced(changed);
    }
    case 'value': {
      const text = chunk.toString('latin1');
      const members = [...text.matchAll(/:("[^"]*"|-?\d+|null|true|false|\[\]|\{\})/g)];
      const member = members[place % Math.max(1, members.length)];
      if (member === undefined) return replaced(chunk);
      const changed = `${text.slice(0, member.index + 1)}${value}${text.slice(member.index + member[0].length)}`;
      return replaced(Buffer.from(changed, 'latin1'));
    }
  }
}

/** The longest that an answer may take. */
const PATIENCE_MS = 10_000;

/** Asks a package whose server sends these chunks. */
async function outcomeOf({ family, model, modelId }: Package, chunks: Buffer[]): Promise<ModelResponse | Error> {
  server.script({ family, chunks });
  // A stream that makes no sense must not hold a slot of a worker until its connection has been idle for long: the signal comes first, and
  // its last error is not an error of a model call.
  const client = aiSdk((id) => model(url, id), { idleTimeout: '1m' });
  const signal = AbortSignal.timeout(PATIENCE_MS);
  return client.call(request({ model: modelId }), { signal }).catch((error: unknown) => error as Error);
}

const wholeOf = ({ family }: Package): Buffer[] => {
  const call = { call: 'look_up', id: family.id(1), input: '{"q":"moon"}' };
  const thought = family.thinks ? [{ thinking: 'Hmm, look.' }] : [];
  const answer: Answer = { parts: [...thought, { search: 'moon' }, { text: 'I look.' }, call] };
  return family.chunks(answer, { model: 'm' }).map((chunk) => Buffer.from(chunk));
};

/** Streams for each package; the matrix of all is `MUTATED_STREAMS=10000`. */
const STREAMS = Number(process.env['MUTATED_STREAMS'] ?? 60);

test.each(PACKAGES)(
  'a stream of $name ($spec) that is not a stream of its API is an answer or a ModelCallError, and ends',
  async (one) => {
    const whole = wholeOf(one);
    expect(await outcomeOf(one, whole)).toMatchObject({ content: 'I look.' });
    await fc.assert(
      fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 3 }), async (mutations) => {
        const chunks = mutations.reduce(mutated, whole);
        const outcome = await outcomeOf(one, chunks);
        expect(outcome instanceof ModelCallError || typeof (outcome as ModelResponse).content === 'string').toBe(true);
      }),
      { numRuns: STREAMS },
    );
  },
  600_000,
);
