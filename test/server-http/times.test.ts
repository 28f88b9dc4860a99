import { expect, test } from 'vitest';
import { createHandler } from '../../src/server/index.ts';
import { documentOf } from './checked-handler.ts';
import { clientWithRun } from './requests.ts';

/** The names of members that are points in time. */
const OF_TIMES = /^(?:timestamp|at|since|until|.*(?:At|Since|Time|_time|_at))$/;

/** Members of OpenAI's protocol, whose clients read seconds. */
const OF_OPENAI = new Set(['created_at', 'completed_at']);

interface Property {
  path: string;
  name: string;
  schema: unknown;
}

/** The step of a program that waits has the same name as a time. */
const OF_A_STEP = '/components/schemas/Approval/properties at';

/** Yields every member that a schema of the document describes, at any depth. */
function* propertiesOf(value: unknown, path: string): Generator<Property> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    const at = `${path}/${key}`;
    if (key === 'properties' && typeof member === 'object' && member !== null)
      for (const [name, schema] of Object.entries(member)) yield { path: at, name, schema };
    yield* propertiesOf(member, at);
  }
}

test('every time in the OpenAPI document is ISO 8601', async () => {
  const document = await documentOf(createHandler(clientWithRun({})));
  const times = [...propertiesOf(document, '')].filter(
    ({ path, name }) => OF_TIMES.test(name) && !OF_OPENAI.has(name) && `${path} ${name}` !== OF_A_STEP,
  );
  expect(times.length).toBeGreaterThan(15);
  expect(times.filter(({ schema }) => !JSON.stringify(schema).includes('"format":"date-time"'))).toEqual([]);
});
