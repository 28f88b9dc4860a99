import { expect, test } from 'vitest';
import { visibilityQuery } from '../../src/client/list.ts';
import type { RunStatus } from '../../src/core/domain/run.ts';

test('a list with an unknown status is refused before the server is asked, with the right name', () => {
  expect(() => visibilityQuery({ status: 'runing' as RunStatus })).toThrow(
    /the list: "status" is "runing": write one of .*"running".*Did you mean "running"\?/,
  );
});
