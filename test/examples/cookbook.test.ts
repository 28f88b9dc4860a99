import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { isSigned } from '../../examples/cookbook/github-issue-triage.ts';
import { type Library, librarian } from '../../examples/cookbook/rag-by-a-tool.ts';
import { importer, type Warehouse } from '../../examples/cookbook/long-import.ts';
import { reviews } from '../../examples/cookbook/map-over-1000-items.ts';
import { type Bank, bookkeeper, type Receipt } from '../../examples/cookbook/once-only-payment.ts';
import { masked, support } from '../../examples/cookbook/redaction.ts';
import { refundDesk } from '../../examples/cookbook/refund-with-approval.ts';
import { clerk, providers } from '../../examples/cookbook/two-providers.ts';
import type { ModelClient } from '../../src/index.ts';
import { nodeListener } from '../../src/server/index.ts';
import {
  approve,
  callTool,
  dropCompletion,
  effectsLedger,
  failWith,
  killWorker,
  reject,
  respond,
  say,
  scriptedModel,
  structured,
  testAgent,
  testProgram,
} from '../../src/testing/index.ts';

const folder = new URL('../../examples/cookbook/', import.meta.url);
const recipes = readdirSync(folder);

test('there are 26 recipes of at most 60 lines, each with its purpose in the first line', () => {
  expect(recipes.filter((name) => name.endsWith('.ts'))).toHaveLength(26);
  for (const name of recipes) {
    const lines = readFileSync(new URL(name, folder), 'utf8').trimEnd().split('\n');
    expect({ name, fits: lines.length <= 60 }).toEqual({ name, fits: true });
    expect(lines[0]).toMatch(/^(?:\/\/ |""").{40,}/);
  }
});

test('a refund over $100 waits, is paid with the amount that the clerk has edited, and is rejected after a day', async () => {
  const model = () => scriptedModel([callTool('refund', { order: 42, amount: 150 }), say('Done.')]);
  const paid = await testAgent(refundDesk, {
    input: 'Order 42 came back',
    model: model(),
    decide: ({ reason, arguments: args }) =>
      reason === '$150 is over $100' ? approve({ arguments: { ...args, amount: 120 } }) : undefined,
  });
  expect(paid.steps[0]?.toolCalls[0]?.result).toMatch(/^paid \$120 for order 42 \(/);
  const late = await testAgent(refundDesk, { input: 'Order 42 came back', model: model() });
  expect(late.steps[0]?.toolCalls[0]?.result).toContain('nobody decided before the deadline');
});

test('an answer of the librarian cites sources that it has read, and an answer that cites anything else is blocked', async () => {
  const library = {
    search: async (query: string) => (query === 'holidays' ? [{ source: 'handbook/7', text: '30 days' }] : []),
  } satisfies Library['library'];
  const answer = (source: string) =>
    testAgent(librarian, {
      input: 'How many days off?',
      model: scriptedModel([
        callTool('search', { query: 'days off' }),
        callTool('search', { query: 'holidays' }),
        structured({ answer: '30 days', sources: [source] }),
      ]),
      resources: { library },
    });
  const { result, steps } = await answer('handbook/7');
  expect(result.output).toEqual({ answer: '30 days', sources: ['handbook/7'] });
  expect(steps[0]?.toolCalls[0]?.result).toBe('Nothing found: try other words');
  expect((await answer('handbook/8')).result).toMatchObject({ status: 'error', stopReason: 'guardrail' });
});

test('neither the provider nor the record sees personal data of a result', async () => {
  const { requests, events } = await testAgent(support, {
    input: 'What colour does customer 7 prefer?',
    model: scriptedModel([callTool('look_up', { customer: 7 }), say('Blue.')]),
  });
  const seen = JSON.stringify([requests, events]);
  expect(seen).toContain('[e-mail]');
  for (const personal of ['ada@acme.example', 'CH93', '668 18 00']) expect(seen).not.toContain(personal);
  expect(masked('to bob.b+x@mail.example.com, DE89370400440532013000')).toBe('to [e-mail], [iban]');

  const leaking = await testAgent(support, { input: 'Mail?', model: scriptedModel([say('Write to ada@acme.example')]) });
  expect(leaking.result).toMatchObject({ stopReason: 'guardrail' });
});

test('a thousand reviews are read, an unreadable one fails no other, and the verdicts are counted', async () => {
  const asked: string[] = [];
  const model: ModelClient = {
    capabilities: { structuredOutput: true },
    call: async (request) => {
      const text = JSON.stringify(request.conversation.at(-1)?.content);
      asked.push(text);
      const [, number = '0'] = /review (\d+)/.exec(text) ?? [];
      const mood = Number(number) % 4 === 0 ? 'bad' : 'good';
      const content = number === '13' ? 'What?' : JSON.stringify({ mood, about: `item ${number}` });
      return { content, toolCalls: [], finishReason: 'stop', usage: { inputTokens: 20, outputTokens: 8, totalTokens: 28 } } as never;
    },
  };
  const all = Array.from({ length: 1_000 }, (_, index) => `review ${index}`);
  const { result } = await testProgram(reviews, { input: { reviews: all }, model });
  expect(result).toMatchObject({ status: 'completed', output: { counts: { good: 749, bad: 250, failed: 1 } } });
  expect(asked).toHaveLength(1_001); // the failed one was asked twice
}, 60_000);

/** A bank that keeps its payments by reference. */
function bank(isDown = false): Bank & { paid: Map<string, Receipt> } {
  const paid = new Map<string, Receipt>();
  return {
    paid,
    bank: {
      pay: async (reference, _iban, amount) => {
        const receipt = { number: `r${paid.size + 1}`, amount };
        paid.set(reference, receipt);
        return receipt;
      },
      find: async (reference) => {
        if (isDown) throw new Error('The bank is closed');
        return paid.get(reference);
      },
    },
  };
}

test('a payment whose answer is lost is looked up, and is not paid twice', async () => {
  const own = bank();
  const { steps } = await testAgent(bookkeeper, {
    input: 'Pay the bill',
    model: scriptedModel([callTool('pay', { iban: 'CH93', amount: 70 }), say('Paid.')]),
    resources: { bank: own.bank },
    faults: [dropCompletion('pay')],
  });
  expect(own.paid.size).toBe(1);
  expect(steps[0]?.toolCalls[0]).toMatchObject({ result: '{"number":"r1","amount":70}', verified: { happened: true } });
});

test('if the bank does not know either, a person is asked for the outcome', async () => {
  const own = bank(true);
  const { steps } = await testAgent(bookkeeper, {
    input: 'Pay the bill',
    model: scriptedModel([callTool('pay', { iban: 'CH93', amount: 70 }), say('Paid.')]),
    resources: { bank: own.bank },
    faults: [dropCompletion('pay')],
    decide: ({ kind }) => (kind === 'outcome' ? respond('The statement shows it as paid') : reject('not asked')),
  });
  expect(own.paid.size).toBe(1);
  expect(steps[0]?.toolCalls[0]?.result).toBe('The statement shows it as paid');
});

test('the second provider answers while the first one is down, and the record says so', async () => {
  expect(Object.keys(providers)).toEqual(['openai', 'mistral']);
  const { steps } = await testAgent(clerk, {
    input: 'Where is order 42?',
    model: {
      'openai/gpt-5-mini': scriptedModel([failWith('model_server_error')]),
      'mistral/mistral-large-latest': scriptedModel([say('On its way.')]),
    },
  });
  expect(steps[0]).toMatchObject({
    answeredBy: 'mistral/mistral-large-latest',
    tried: [{ model: 'openai/gpt-5-mini', code: 'model_server_error' }],
  });
});

test('an import continues after its worker has died, and every row arrives', async () => {
  const table = Array.from({ length: 950 }, (_, index) => `row ${index}`);
  const written = new Map<number, string>();
  const ledger = effectsLedger();
  const warehouse: Warehouse['warehouse'] = {
    rows: async (_table, from, limit) => table.slice(from, from + limit),
    write: async (_table, from, rows) => {
      ledger.act(String(from), 'page');
      rows.forEach((row, index) => written.set(from + index, row));
    },
  };
  const { steps } = await testAgent(importer, {
    input: 'Import orders',
    model: scriptedModel([callTool('import_table', { table: 'orders' }), say('950 rows.')]),
    resources: { warehouse },
    faults: [killWorker({ tool: 'import_table' })],
  });
  expect([...written.values()]).toEqual(table);
  expect(steps[0]?.toolCalls[0]?.result).toBe('{"table":"orders","rows":950}');
});

test('the signature of a webhook is checked as GitHub documents it', () => {
  const [body, key] = ['Hello, World!', "It's a Secret to Everybody"];
  const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
  expect(isSigned(body, key, signature)).toBe(true);
  expect(isSigned(body, key, signature.replace('7571', '7572'))).toBe(false);
  expect(isSigned(`${body} `, key, signature)).toBe(false);
  expect(isSigned(body, key, null)).toBe(false);
});

test('the seller reads deals with the token of the worker, and closes one only after a decision', async () => {
  const [tokens, called]: [(string | null)[], string[]] = [[], []];
  const { fetch: answer } = createMcpHandler(() => {
    const server = new McpServer({ name: 'crm', version: '1' });
    const inputSchema = z.object({ id: z.string() });
    for (const name of ['find_deal', 'close_deal', 'delete_deal']) {
      server.registerTool(name, { inputSchema }, ({ id }) => {
        called.push(`${name} ${id}`);
        return { content: [{ type: 'text', text: `deal ${id}` }] };
      });
    }
    return server;
  });
  const listening = createServer(
    nodeListener((request) => {
      tokens.push(request.headers.get('authorization'));
      return answer(request);
    }),
  );
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void listening.close());
  vi.stubEnv('CRM_URL', `http://127.0.0.1:${(listening.address() as AddressInfo).port}/mcp`);
  const { seller } = await import('../../examples/cookbook/mcp-with-a-secret.ts');

  const { requests, steps, events } = await testAgent(seller, {
    input: 'Close deal d7',
    model: scriptedModel([callTool('find_deal', { id: 'd7' }), callTool('close_deal', { id: 'd7' }), say('Closed.')]),
    secrets: { 'crm-token': 'the-token-of-the-crm' },
    decide: ({ reason }) => (reason === 'closes deal "d7"' ? approve() : reject('what is this?')),
  });
  expect(steps.flatMap(({ toolCalls }) => toolCalls.map(({ result }) => result))).toEqual(['deal d7', 'deal d7']);
  expect(called).toEqual(['find_deal d7', 'close_deal d7']);
  expect(new Set(tokens)).toEqual(new Set(['Bearer the-token-of-the-crm']));
  const seen = JSON.stringify([requests, events]);
  expect(seen).not.toContain('the-token-of-the-crm');
  expect(seen).not.toContain('delete_deal');
});
