import { callTool, rateLimit, say } from '../../../src/testing/index.ts';
import { memoryNamespace, type MemoryStore } from '../../../src/memory/memory-store.ts';
import { type FakeMemory, fakeMemory } from '../../fakes/fake-memory.ts';
import { agentWith, type Scenario, scenario, type ScenarioParts } from './scenario.ts';

const principal = { tenant: 'acme', user: 'ada' };
const namespace = memoryNamespace({ principal, agent: 'agent' });
const colour = { namespace, key: 'colour', value: 'Go for green' };
const both = agentWith([], { memory: true });
const filled = (): FakeMemory => fakeMemory([colour]);

/** Makes a scenario with a separate memory for each kit. */
function remembering(name: string, agent: Scenario['agent'], memory: () => MemoryStore, parts: Omit<ScenarioParts, 'memory'>): Scenario {
  const one = scenario(name, agent, { principal, ...parts });
  return { ...one, options: () => ({ ...one.options(), memory: memory() }) };
}

const keep = callTool('remember', { key: 'size', value: 'L' });
const RECALLED = /^memory: Entries from memory .*\n\{"key":"colour","value":"Go for green","when":"[^"]*"\}$/s;

/** Memories of agents: what the model gets, and what it does itself. */
export const MEMORY: readonly Scenario[] = [
  remembering('the model is given what its memory has, and uses its tools', both, filled, {
    script: [keep, callTool('recall', { query: 'size' }), callTool('forget', { key: 'colour' }), say('Done.')],
    timeline: [
      RECALLED,
      /calls remember/,
      'remember: {"remembered":"size"}',
      /calls recall/,
      /^recall: \{"entries":\[\{"key":"size","value":"L"/,
      /calls forget/,
      'forget: {"forgotten":"colour"}',
      'agent: Done.',
    ],
  }),
  remembering('what another user has stored is not recalled', both, filled, {
    principal: { tenant: 'acme', user: 'eve' },
    script: [callTool('recall', { query: 'green' }), say('Nothing.')],
    timeline: [/calls recall/, 'recall: {"entries":[]}', 'agent: Nothing.'],
  }),
  remembering('permissions deny a tool of the memory', agentWith([], { memory: true, permissions: { deny: ['forget'] } }), filled, {
    script: [callTool('forget', { key: 'colour' }), say('Kept.')],
    timeline: [RECALLED, /calls forget/, /^forget failed: The permissions of this run do not allow this call/, 'agent: Kept.'],
  }),
  remembering('a retried call is given the entries again, and the record has them once', both, filled, {
    script: [say('Green.')],
    faults: [rateLimit(1)],
    timeline: [RECALLED, 'agent: Green.'],
  }),
  remembering(
    'a memory that fails is noted, and the model answers without it',
    both,
    () => ({ ...filled(), recall: () => Promise.reject(new Error('no connection')) }),
    { script: [say('Hello.')], timeline: ['the memory is not available: no connection', 'agent: Hello.'] },
  ),
  remembering(
    'a memory that is too slow is noted, and the model answers without it',
    both,
    () => ({ ...filled(), recall: () => new Promise(() => {}) }),
    {
      script: [say('Hello.')],
      timeline: ['the memory is not available: it took more than 2 s', 'agent: Hello.'],
    },
  ),
  remembering(
    'a full window loses what was recalled before it is summarized',
    agentWith([], { memory: true, window: { maxBytes: 20_000 } }),
    filled,
    {
      script: [
        callTool('remember', { key: 'a', value: 'x'.repeat(7_000) }),
        callTool('remember', { key: 'b', value: 'y'.repeat(7_000) }),
        callTool('remember', { key: 'c', value: 'z'.repeat(7_000) }),
        say('A summary.'),
        say('Done.'),
      ],
      timeline: [
        RECALLED,
        /calls remember/,
        'remember: {"remembered":"a"}',
        /calls remember/,
        'remember: {"remembered":"b"}',
        /calls remember/,
        'remember: {"remembered":"c"}',
        'what was recalled is removed from the window',
        /\(a summary\)$/,
        'agent: Done.',
      ],
    },
  ),
];
