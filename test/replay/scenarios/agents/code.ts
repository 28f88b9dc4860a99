import { callTool, say, type ScriptedReply, type ScriptEntry, together } from '../../../../src/testing/index.ts';
import { until } from '../../../server/testbed/until.ts';
import { type AgentScenario, waiting } from '../../scenario.ts';

let cells = 0;

function cell(code: string): ScriptedReply {
  return callTool('run_code', { code }, `c${(cells += 1)}`);
}

function block(code: string): ScriptEntry {
  return say(`\`\`\`javascript\n${code}\n\`\`\``);
}

const COURSE = (): ScriptEntry[] => [
  cell("const found = await Promise.all(['a', 'b'].map((query) => tools.search({ query })));\nprint(found.length);"),
  cell("for (const text of found) note({ text });\nprint(search({ query: 'c' }), Math.random() < 1);"),
  cell("found.push('more');\nsearch({ query: 4 });"),
  cell('print(found.length);\nfinal_answer(found);'),
  say('done'),
];

const PAID = `const paid = [];
for (const amount of [1, 2, 3, 4]) {
  try {
    paid.push(refund({ amount }));
  } catch (error) {
    paid.push(error.message);
  }
}
print(paid.join('; '), mail({ to: 'x@example.org' }));`;

/** Runs of agents whose model answers with code, or with JSON. */
export const code: Record<string, AgentScenario> = {
  'code-in-sequence-and-together': { agent: 'coder', script: COURSE() },
  'code-in-remote-segments': { agent: 'remote_coder', script: COURSE() },
  'code-over-executions': {
    agent: 'coder',
    script: [...COURSE().slice(0, 2), cell('print(refund({ amount: found.length }));'), cell('print(found.join());'), say('done')],
    continueAt: 20,
    meanwhile: async (run) => {
      const { pending } = await waiting(run, 1);
      await run.approve(pending[0]?.callId ?? '', { id: 'd1' });
    },
  },
  'code-in-remote-segments-over-executions': { agent: 'remote_coder', script: COURSE(), continueAt: 20 },
  'code-decided-in-every-way': {
    agent: 'coder',
    script: [cell(PAID), say('done')],
    meanwhile: async (run) => {
      for (const [index, decide] of [
        (id: string) => run.approve(id, { id: 'd1', by: 'ann' }),
        (id: string) => run.reject(id, { id: 'd2', reason: 'too much' }),
        (id: string) => run.approve(id, { id: 'd3', arguments: { amount: 30 } }),
        (id: string) => run.respond(id, 'paid by hand', { id: 'd4' }),
      ].entries()) {
        let id = '';
        await until(
          async () => {
            id = (await run.approvals()).pending[0]?.callId ?? '';
            return id.endsWith(`.${index + 1}`);
          },
          `call ${index + 1} waits`,
        );
        await decide(id);
      }
    },
  },
  'code-cancelled-while-it-waits': {
    agent: 'coder',
    script: [cell("search({ query: 'a' });\nrefund({ amount: 1 });")],
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.cancel('recorded');
    },
  },
  'code-steered-while-it-waits': {
    agent: 'coder',
    script: [cell('let before = 1;'), cell('refund({ amount: before });'), cell('print(before);'), say('done')],
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.send('leave that', { id: 'm1', mode: 'steer' });
    },
  },
  'code-that-took-too-long': {
    agent: 'coder',
    script: [cell('let kept = 7;'), cell("search({ query: 'a' });\nfor (;;);"), cell('print(kept);'), say('done')],
  },
  'code-asked-at-its-limit': {
    agent: 'bounded_coder',
    script: [cell("for (const query of ['a', 'b', 'c']) search({ query });\nprint('all');"), say('done')],
    meanwhile: async (run) => {
      const { pending } = await waiting(run, 1);
      await run.approve(pending[0]?.callId ?? '', { id: 'd1', arguments: { toolCalls: 10 } });
    },
  },
  'code-beside-other-calls': {
    agent: 'coder',
    script: [together(cell("print(search({ query: 'a' }));"), callTool('search', { query: 'b' }, 'other'), cell('print(1);')), say('done')],
  },
  'code-as-the-answer': {
    agent: 'block_coder',
    script: [say('Let me think.'), block("store('k', search({ query: 'a' }));"), block("final_answer(recall('k').length);")],
  },
  'json-as-the-answer': {
    agent: 'json_replier',
    script: [say('{"tool":"search","arguments":{"query":"a"}}'), say('not JSON'), say('{"answer":"done"}')],
  },
};
