import { createInterface } from 'node:readline';

/**
 * A program that speaks the protocol of `custom`, without any boundary: for tests alone. Its cells are lines, each a command with an
 * argument of JSON: `print`, `answer`, `call`, `fail`, and ways to misbehave: `say`, `exit`, `spin`, `murmur`, `flood`.
 */

const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function received(): Promise<Record<string, unknown>> {
  const { value, done } = await input.next();
  if (done === true) process.exit(0);
  return JSON.parse(value) as Record<string, unknown>;
}

const kept: Record<string, unknown> = {};

async function run({ token, code, injected }: { token: string; code: string; injected: [string, string][] }): Promise<void> {
  const send = (frame: object): void => void process.stdout.write(`${JSON.stringify({ token, ...frame })}\n`);
  const figures = { durationMs: 0, memoryUsedBytes: process.memoryUsage.rss() };
  let answer: string | undefined;
  for (const [name, json] of injected) kept[name] = JSON.parse(json) as unknown;
  send({ type: 'began' });
  for (const line of code.split('\n').filter((one) => one !== '')) {
    const [, command, json] = /^(\w+) ?(.*)$/.exec(line) ?? [];
    const given: unknown = JSON.parse(json === undefined || json === '' ? 'null' : json);
    if (command === 'print') send({ type: 'output', text: `${String(given)}\n` });
    else if (command === 'answer') answer = JSON.stringify(given === 'kept' ? kept : given);
    else if (command === 'call') {
      send({ type: 'calls', calls: given, durationMs: 0 });
      const { results } = await received();
      kept['results'] = results;
    } else if (command === 'fail') return send({ type: 'failed', kind: 'runtime', message: String(given), ...figures });
    else if (command === 'say') process.stdout.write(`${String(given)}\n`);
    else if (command === 'frame') send(given as object);
    else if (command === 'exit') process.exit(Number(given));
    else if (command === 'spin') while (performance.now() > 0);
    else if (command === 'murmur') for (let count = 0; count < Number(given); count += 1) send({ type: 'output', text: '' });
    else if (command === 'flood')
      for (;;) if (!process.stdout.write('x'.repeat(65_536))) await new Promise((drained) => process.stdout.once('drain', drained));
  }
  send({
    type: 'done',
    ...figures,
    ...(answer === undefined ? {} : { answer }),
    namespace: { kept: { type: 'object', json: JSON.stringify(kept) } },
  });
}

await received();
for (;;) await run((await received()) as Parameters<typeof run>[0]);
