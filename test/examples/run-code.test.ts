import { expect, test } from 'vitest';
import { runCode } from '../../examples/executors/run-code.ts';

test('the pieces of code of the page on code end as its comments say', async () => {
  const [sum, next, endless, after] = await runCode();
  expect(sum).toMatchObject({
    success: true,
    isFinal: true,
    finalValue: 8,
    namespace: { prices: { type: 'object', value: { apple: 2, pear: 3 } }, total: { type: 'number', value: 8 } },
    emptiedBy: null,
  });
  expect(next).toMatchObject({ output: '9', isFinal: false, finalValue: null });
  expect(endless).toMatchObject({ success: false, timeout: true, error: { kind: 'timeout', message: 'Execution timed out after 0.5s' } });
  expect(after).toMatchObject({ output: 'undefined', emptiedBy: 'timeout', success: true });
});
