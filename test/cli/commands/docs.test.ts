import { request } from 'node:http';
import { expect, test } from 'vitest';
import { Interruption } from '../../../src/cli/terminal.ts';
import { callCli } from '../call-cli.ts';

test('with words and --print, the best page is printed as Markdown', async () => {
  const { exitCode, stdout } = await callCli(['docs', 'refund', 'with', 'approval', '--print']);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^# A refund that waits for a person\n/);
  const asJson = await callCli(['docs', 'unknown_agent', '--print', '--json']);
  expect(JSON.parse(asJson.stdout)).toMatchObject({
    file: 'errors.md',
    title: 'Errors',
    markdown: expect.stringMatching(/^# Errors/) as string,
  });
});

test('without words, --print prints the list of pages', async () => {
  expect((await callCli(['docs', '--print'])).stdout).toMatch(/^# Documentation\n/);
});

test('words that no page has are refused', async () => {
  expect(await callCli(['docs', 'xylophone', '--print'])).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: 'longhaul: No page of the guide has "xylophone": without words, "docs" shows all pages\n',
  });
});

test('the guide is served on this machine until the command ends, and to no page of another site', async () => {
  const controller = new AbortController();
  const read: Promise<string>[] = [];
  const foreign: Promise<number | undefined>[] = [];
  const { exitCode, stdout } = await callCli(['docs', 'unknown_agent', '--json'], {
    signal: controller.signal,
    onStdout: (text) => {
      const { pages } = JSON.parse(text) as { pages: { url: string }[] };
      const page = fetch(pages[0]!.url).then((response) => response.text());
      read.push(page);
      foreign.push(statusFor(pages[0]!.url, { host: 'rebound.example' }), statusFor(pages[0]!.url, { origin: 'https://other.example' }));
      void Promise.all([page, ...foreign]).finally(() => controller.abort(new Interruption('SIGINT')));
    },
  });
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/$/) as string });
  expect(await read[0]).toContain('id="unknown_agent"');
  expect(await Promise.all(foreign)).toEqual([403, 403]);
});

/** Unlike `fetch`, this sends the headers that only a browser sets. */
function statusFor(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { headers }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });
}
