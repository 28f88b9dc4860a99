import { z } from 'zod';
import { defineAgent, defineTool, type RunContext } from '../../../src/index.ts';
import {
  agent,
  type AnyProgram,
  ask,
  branch,
  defineProgram,
  forEach,
  human,
  parallel,
  program,
  recall,
  remember,
  repeat,
  sleep,
  tool,
  unit,
} from '../../../src/define/program/index.ts';
import { ofTopRun } from '../points/points.ts';
import type { Act } from '../processes/ledger.ts';
import { isToolCall } from '../../../src/core/domain/content.ts';
import type { ModelClient, ModelRequest, ModelResponse, RawToolCall } from '../../../src/core/domain/model.ts';

/** The name of the program whose runs are disturbed. */
export const PROGRAM = 'errand';

/** The value that a run stores in the memory. */
export const KEPT = 'refund';

/** Attempts that are lost with their worker are made again soon. */
const TRIED_OFTEN = { maxAttempts: 10, backoff: { initial: 50 } };

/** Options of a tool of the program that differ from the others. */
interface Special {
  tier?: 'local';
  approval?: 'always';
  parameters?: z.ZodObject;
  gives?: (context: RunContext) => unknown;
}

/** The program of the disturbed runs: steps of every kind, an agent and another program as children. `act` records the effect of a tool. */
export function errand(act: (act: Act) => void): AnyProgram {
  const made = (name: string, { gives = () => `${name}: done`, parameters = z.object({}), ...special }: Special = {}) =>
    defineTool({
      name,
      description: `Does ${name}`,
      parameters,
      ...TRIED_OFTEN,
      ...special,
      execute: (_args, context: RunContext) => {
        const { runId, point: effect } = ofTopRun(context.runId, `${name} ${context.callId}`);
        act({ runId, effect, key: context.idempotencyKey });
        return gives(context);
      },
    });
  const desk = defineAgent({
    name: 'desk',
    instructions: 'You write letters.',
    model: 'errand/scripted',
    output: z.object({ letter: z.string() }),
    tools: [made('look'), made('seal', { approval: 'always' })],
  });
  const audit = defineProgram({
    name: 'audit',
    model: 'errand/scripted',
    input: z.object({ item: z.string() }),
    units: [unit('all', {}, [tool('Weighed', made('weigh')), ask('Verdict', 'Audit the {{input.item}}. {{Weighed}}')])],
  });
  const round = made('count_rounds', { tier: 'local', gives: ({ callId }) => roundOf(callId) });
  return defineProgram({
    name: PROGRAM,
    model: 'errand/scripted',
    input: z.object({ order: z.string() }),
    units: [
      unit('gather', { persona: 'You sort orders.', needs: [] }, [
        recall('Known', '{{input.order}}'),
        tool('Order', made('find_order', { gives: () => ({ item: 'lamp' }) })),
        tool('Stamp', made('stamp', { tier: 'local' })),
        ask('Kind', 'Sort the order of a {{Order.item}}. {{Stamp}}', {
          output: z.object({ kind: z.string(), parts: z.array(z.string()) }),
        }),
      ]),
      unit('check', { needs: [], anchors: ['RequiresCitation'] }, [
        sleep('Nap', '300ms'),
        ask('Claim', 'Check the claim', { refine: { maxAttempts: 3, backoff: 'linear' } }),
      ]),
      unit('work', { needs: ['gather', 'check'] }, [
        parallel('Both', [
          [agent('Letter', desk, 'Write about a {{gather.Kind.kind}}')],
          [
            forEach('Packed', '{{gather.Kind.parts}}', { as: 'part', atOnce: 2 }, [
              ask('Part', 'Describe the {{part}}'),
              tool('Pack', made('pack', { parameters: z.object({ part: z.string() }) }), { part: '{{part}}' }),
            ]),
            repeat('Polish', { until: { of: 'Polished.score', is: { minimum: 1 } }, atMost: 4 }, [
              tool('Round', round),
              ask('Polished', 'Polish, round {{Round}}', { output: z.object({ score: z.number() }) }),
            ]),
          ],
        ]),
        branch('Way', [
          { when: { of: 'gather.Kind.kind', is: { const: KEPT } }, steps: [remember('Keep', '{{input.order}}', '{{gather.Kind.kind}}')] },
        ]),
        recall('Kept', '{{input.order}}', { topK: 1 }),
        program('Audit', audit, { item: '{{gather.Order.item}}' }),
        human('Who', 'Who signs the {{Letter.letter}}?'),
      ]),
      unit('close', { needs: ['work'] }, [
        ask('Send', 'Send it, signed by {{work.Who}}', { approval: true, review: true, refine: { maxAttempts: 2 } }),
      ]),
    ],
    output: { letter: '{{work.Letter}}', kept: '{{work.Kept[0].value}}', packed: '{{work.Packed}}', sent: '{{close.Send}}' },
  });
}

/** The number of the round in the id of a call such as `work.Round[2]`. */
function roundOf(callId: string): number {
  return Number(/\[(\d+)\]$/.exec(callId)?.[1]) + 1;
}

/** The usage of every answer. */
const USAGE = { promptTokens: 20, completionTokens: 5, totalTokens: 25 };

/** The answers by text in the prompt. The first match is given. */
const ANSWERS: readonly [prompt: RegExp, answer: string | object][] = [
  [/^Sort the order of a lamp\. stamp: done$/, { kind: 'refund', parts: ['lid', 'bulb', 'foot'] }],
  [/^Check the claim\n\nPrevious attempt failed: .*citation/is, 'It is broken [1].'],
  [/^Check the claim$/, 'It is broken.'],
  [/^Describe the (lid|bulb|foot)$/, 'It is fine.'],
  [/^Polish, round 3$/, { score: 1 }],
  [/^Polish, round [12]$/, { score: 0.5 }],
  [/^Audit the lamp\. weigh: done$/, 'It is right.'],
  [/^Send it by post\n\nPrevious attempt failed: .*Name the price/s, 'Sent for 30 euros.'],
  [/^Send it by post$/, 'Sent.'],
];

/** The calls of the agent, step by step. The step after these is its answer. */
const LETTER: readonly RawToolCall[] = [call('look', 'd1'), call('seal', 'd2')];

/** A model whose answer depends on the conversation alone. `asked` is called at the beginning of each call. */
export function errandModel(asked: () => void): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: (request) => {
      asked();
      return Promise.resolve(respond(request));
    },
  };
}

function respond({ conversation }: ModelRequest): ModelResponse {
  const [first] = conversation.flatMap(({ content }) => content);
  const prompt = first?.type === 'message' && typeof first.content === 'string' ? first.content : '';
  if (prompt === 'Write about a refund') return letter(conversation);
  const [, answer] = ANSWERS.find(([fitting]) => fitting.test(prompt)) ?? [];
  if (answer === undefined) throw new Error(`The program asked for what no other run of it asks: ${prompt}`);
  return said(answer);
}

function letter(conversation: ModelRequest['conversation']): ModelResponse {
  const toolCall = LETTER[conversation.filter(({ content }) => content.some(isToolCall)).length];
  if (toolCall === undefined) return said({ letter: 'Dear Ann' });
  return { content: '', toolCalls: [toolCall], usage: USAGE, finishReason: 'tool_calls' };
}

function said(answer: string | object): ModelResponse {
  const content = typeof answer === 'string' ? answer : JSON.stringify(answer);
  return { content, toolCalls: [], usage: USAGE, finishReason: 'stop' };
}

function call(name: string, id: string): RawToolCall {
  return { id, name, arguments: {} };
}
