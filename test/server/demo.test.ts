import { spawn } from 'node:child_process';
import { createConnection } from 'node:net';
import { connect as connectClient } from 'longhaul/client';
import { expect, inject, test } from 'vitest';
import { startScriptedModel } from '../../examples/kipchoge/scripted-model.ts';

interface EndedDemo {
  text: string;
  exitCode: number | null;
}

/** Runs the demo as a process of its own, and sends it a SIGINT as soon as its output matches. */
async function demo(
  env: Record<string, string>,
  { flags = [], interruptAt }: { flags?: string[]; interruptAt?: RegExp },
): Promise<EndedDemo> {
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(OPENAI|TEMPORAL)_/.test(name)));
  const child = spawn(process.execPath, ['examples/kipchoge/demo.ts', ...flags], {
    env: { ...clean, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  let interrupted = false;
  const read = (chunk: Buffer): void => {
    text += chunk.toString();
    if (interrupted || interruptAt === undefined || !interruptAt.test(text)) return;
    interrupted = true;
    child.kill('SIGINT');
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { text, exitCode };
}

/** What makes the demo start a server of its own: the CLI of the tests. */
function ownServer(): Record<string, string> {
  const cliPath = inject('temporalCliPath');
  return cliPath === undefined ? {} : { TEMPORAL_CLI_PATH: cliPath };
}

function found(text: string, pattern: RegExp): string {
  const match = pattern.exec(text)?.[1];
  if (match === undefined) throw new Error(`No ${String(pattern)} in:\n${text}`);
  return match;
}

async function isOpen(address: string): Promise<boolean> {
  const [host, port] = address.split(':');
  return await new Promise((resolve) => {
    const socket = createConnection({ host: host ?? '', port: Number(port) });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

test('the demo says which model answers, prints the events as they happen, the answer, the summary and a link, and leaves nothing running', async () => {
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

test.each([
  ['while the server is looked for', /No OPENAI_API_KEY.*\n/, 130],
  ['while the worker starts', /starting a worker/, 130],
  ['during the run', /→ search_web/, 130],
  ['after a completed run', /Ctrl-C ends them/, 0],
])('Ctrl-C %s ends all that was started', async (_moment, interruptAt, expected) => {
  const { text, exitCode } = await demo(ownServer(), { interruptAt });

  expect({ text, exitCode }).toMatchObject({ exitCode: expected });
  expect(text).not.toMatch(/error|warn/i);
  const address = /server is at ([\d.]+:\d+)/.exec(text)?.[1];
  expect(address !== undefined && (await isOpen(address))).toBe(false);
});

test('with a key it asks that model, on a server that runs already, where Ctrl-C cancels the run and leaves the server', async () => {
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
  const result = await client.handle(found(text, /Run "(kipchoge-[^"]+)"/)).result({ timeoutMs: 5_000 });
  await client.close();
  expect(result.status).toBe('cancelled');
  expect(result.cancelReason).toBe('the demo was ended');
});
