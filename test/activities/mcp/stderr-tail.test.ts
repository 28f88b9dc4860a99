import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { stderrTail } from '../../../activities/mcp/open-connection.ts';

/** The tail of a process that has written these pieces. */
async function said(...pieces: string[]): Promise<string[]> {
  const stream = new PassThrough();
  const words = stderrTail(stream, (text) => text.replaceAll('hunter22', '[secret]'));
  for (const piece of pieces) stream.write(piece);
  await new Promise((resolve) => stream.end(resolve));
  return words();
}

test('the last lines are kept whole', async () => {
  const lines = Array.from({ length: 2_000 }, (_, index) => `line ${index} of many\n`);
  expect(await said(...lines)).toEqual(lines.slice(-10).map((line) => line.trim()));
});

test('escape sequences of terminals are removed, and a long line is cut', async () => {
  expect(await said('\u001b[2Jhello\u0007\n', `${'x'.repeat(700)}\n`)).toEqual(['[2Jhello', 'x'.repeat(500)]);
});

test('a secret is removed, even if it arrived in two pieces', async () => {
  expect(await said('password hunt', 'er22\n')).toEqual(['password [secret]']);
});

test('an unfinished line that is longer than the limit is dropped', async () => {
  expect(await said('hunter22'.repeat(1_000))).toEqual([]);
});

test('the tail of a server that is not a process is empty', () => {
  expect(stderrTail(null, String)()).toEqual([]);
});
