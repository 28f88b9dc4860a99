import { expect, test } from 'vitest';
import { readOutcome } from './outcome.ts';

const nothing = { passed: 0, failed: 0, skipped: [], failures: [], unstable: [] };

test('a closing line says how much has passed, wherever it is', () => {
  expect(readOutcome({ code: 0, output: 'ok a\n12 passed, 0 failed\n[worker] stopped\n' }, 'closing line')).toEqual({
    ...nothing,
    passed: 12,
  });
  expect(readOutcome({ code: 1, output: 'FAILED b\n    why\n11 passed, 1 failed\n' }, 'closing line')).toEqual({
    ...nothing,
    passed: 11,
    failed: 1,
    failures: ['exit code 1', 'FAILED b'],
  });
});

test('a test that a command reports as failed and then passes is unstable', () => {
  expect(readOutcome({ code: 0, output: 'FAILED b\nok b, second try\n2 passed, 0 failed\n' }, 'closing line')).toEqual({
    ...nothing,
    passed: 2,
    unstable: ['FAILED b'],
  });
});

test('skipped tests of a command are named', () => {
  expect(readOutcome({ code: 0, output: 'SKIPPED a (2): no python\n1 passed, 0 failed, 2 skipped\n' }, 'closing line')).toEqual({
    ...nothing,
    passed: 1,
    skipped: ['SKIPPED a (2): no python'],
  });
});

test.each([
  ['it fails without a failed part', { code: 1, output: '3 passed, 0 failed' }, 'closing line'],
  ['it does not come to its closing line', { code: 0, output: 'ok a' }, 'closing line'],
  ['a part is named as failed', { code: 1, output: 'ok     build\nFAILED types' }, 'lines'],
  ['its exit code is not 0', { code: 124, output: '' }, 'exit code'],
  ['its figures are not those expected', { code: 0, output: '{"gaps":1}' }, (output: string) => output.includes('"gaps":0')],
] as const)('a command has failed if %s', (_, result, reading) => {
  expect(readOutcome(result, reading)).toMatchObject({
    failed: 1,
    failures: [`exit code ${result.code}`, ...(result.output.match(/FAILED .*/g) ?? [])],
  });
});
