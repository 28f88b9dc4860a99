import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { studioTypes, TYPES_FILE } from './studio-types.ts';

test('the types that Studio is compiled against match the OpenAPI document', () => {
  expect(readFileSync(new URL(`../../${TYPES_FILE}`, import.meta.url), 'utf8'), 'run npm run docs').toBe(studioTypes());
});
