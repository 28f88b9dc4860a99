import { expect, test } from 'vitest';
import { shortId } from '../../../activities/tool-calls/execute-tool.ts';

test('ids have eight characters and are unique', () => {
  const ids = Array.from({ length: 2_000 }, shortId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every((id) => /^[\w-]{8}$/.test(id))).toBe(true);
});
