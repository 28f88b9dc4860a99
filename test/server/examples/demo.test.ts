import { connect as connectClient } from 'longhaul/client';
import { expect, inject, test } from 'vitest';
import { startScriptedModel } from '../../../examples/kipchoge/scripted-model.ts';
import { demo, isOpen, ownServer } from './demo-process.ts';

function found(text: string, pattern: RegExp): string {
  const match = pattern.exec(text)?.[1];
  if (match === undefined) throw new Error(`No ${String(pattern)} in:\n${text}`);
  return match;
}

test('the demo names its model, prints the events as they happen, the answer, the summary and a link, and ends its processes', async () => {
  const { text, exitCode } = await demo(ownServer(), { flags: ['--exit'] });

  expect({ text, exitCode }).toMatchObject({ exitCode: 0 });
  expect(text).toMatch(/^No OPENAI_API_KEY: using a scripted model on http:\/\/127\.0\.0\.1:\d+ that speaks the OpenAI API\n/);
  const story = [
    /^ +0\.00s {2}user {14}How long would it take Kipchoge/,
    /^ +\d+\.\d\ds {2}kipchoge {10}First I need/,
    /→ search_web\(query: "Kipchoge marathon world record pace"\)$/,
    /^ +\d+ tokens \(\d+ in; \d+ out\)$/,
    /search_web {8}← Eliud Kipchoge's marathon world record/,
    /→ search_wikipedia\(query: "Moon perigee"\)$/,
    /search_wikipedia {2}← Moon: .*Earth/,
    /→ calculator\(expression: "356500 \/ \(42\.195 \/ \(2 \+ 1\/60 \+ 9\/3600\)\)"\)$/,
    /calculator {8}← 17059\.673342$/,
    /^Approximately 17,000 hours/,
    /^\[completed\] kipchoge \| 4\/10 steps \| 3 tool calls .* tokens \| \d+\.\d\ds$/,
    /^In the Temporal UI: http:\/\/.*\/namespaces\/default\/workflows\/kipchoge-/,
  ];
  const lines = text.split('\n');
  let from = 0;
  for (const pattern of story) {
    expect(lines.slice(from).join('\n')).toMatch(new RegExp(pattern, 'm'));
    from += lines.slice(from).findIndex((line) => pattern.test(line)) + 1;
  }
  expect(await isOpen(found(text, /server is at ([\d.]+:\d+)/))).toBe(false);
  expect(await isOpen(found(text, /scripted model on http:\/\/([\d.]+:\d+)/))).toBe(false);
});

test('with a key, the demo calls the real model; on a server that is already running, Ctrl-C cancels the run and leaves the server', async () => {
  const model = await startScriptedModel({ pauseMs: 60_000 });
  const env = {
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: inject('temporalNamespace'),
    OPENAI_API_KEY: 'none',
    OPENAI_BASE_URL: model.baseURL,
    OPENAI_MODEL: 'some-model',
  };
  const { text, exitCode } = await demo(env, { interruptAt: /user +How long/ });
  await model.stop();

  expect({ text, exitCode }).toMatchObject({ exitCode: 130 });
  expect(text).toContain(`OPENAI_API_KEY is set: using the model "some-model" at ${model.baseURL}`);
  const client = await connectClient({ address: inject('temporalAddress'), namespace: inject('temporalNamespace') });
  const result = await client.handle(found(text, /Run "(kipchoge-[^"]+)"/)).result({ timeout: 5_000 });
  await client.close();
  expect(result.status).toBe('cancelled');
  expect(result.cancelReason).toBe('the demo was ended');
});
