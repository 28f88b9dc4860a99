import { expect, test } from 'vitest';
import { capabilityPage } from './capabilities.ts';

test('the page of providers says what each package does: `npm run capabilities` writes the table', async () => {
  const { is, due } = await capabilityPage();
  expect(is).toBe(due);
});
