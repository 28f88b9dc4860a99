import { memberOf, UsageError } from '../../core/domain/errors.ts';
import { SHARED_OPTIONS } from '../../define/all-parts.ts';
import { type OptionTable, requireKnown, requireList } from '../../define/option-checks.ts';
import type { DurableTestOptions, ProgramTestOptions, ServerOptions, TestOptions } from '../tested-run.ts';

/** The options of every test by name: the compiler reports one that is added to the types and missing here. */
const COMMON = {
  runId: true,
  model: true,
  agents: true,
  secrets: true,
  decide: true,
  meanwhile: true,
  faults: true,
  ledger: true,
  timeout: true,
  payloadStore: true,
  memory: true,
  prices: true,
  authorize: true,
  notify: true,
  notifyEnded: true,
  streams: true,
  ...SHARED_OPTIONS,
  state: true,
  principal: true,
  limits: true,
  deadline: true,
  tags: true,
  input: true,
  deps: true,
  resources: true,
} as const;

const ON_SERVER: OptionTable<ServerOptions> = { address: true, namespace: true, heartbeatEvery: true, worker: true };

const OF_AGENTS: OptionTable<TestOptions> = { ...COMMON, messages: true, settings: true };
const OF_PROGRAMS: OptionTable<ProgramTestOptions> = { ...COMMON, anchors: true };
const OF_DURABLE_AGENTS: OptionTable<DurableTestOptions> = { ...OF_AGENTS, ...ON_SERVER };
const OF_DURABLE_PROGRAMS: OptionTable<ProgramTestOptions & ServerOptions> = { ...OF_PROGRAMS, ...ON_SERVER };

/** The functions that test something, with what they test, the function that makes it, and their options. */
const TESTS = {
  testAgent: { kinds: ['longhaul.agent'], made: 'an agent or a flow: give what defineAgent or defineFlow returned', known: OF_AGENTS },
  testProgram: { kinds: ['longhaul.program'], made: 'a program: give what defineProgram returned', known: OF_PROGRAMS },
  durableTest: {
    kinds: ['longhaul.agent', 'longhaul.program'],
    made: 'an agent, a flow or a program: give what defineAgent, defineFlow or defineProgram returned',
    known: OF_DURABLE_AGENTS,
  },
} as const;

/** Throws a UsageError for a value that cannot be tested so, and for options that are unknown or have the wrong shape. */
export function checkTest(name: keyof typeof TESTS, tested: unknown, options: unknown): void {
  const { kinds, made, known } = TESTS[name];
  const kind = memberOf(tested, 'kind');
  if (!kinds.some((one) => one === kind)) throw new UsageError(`${name}: the first argument is not ${made}${otherTest(kind)}`);
  const owner = `${name} of ${kind === 'longhaul.program' ? 'program' : 'agent'} "${String(memberOf(tested, 'name'))}"`;
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new UsageError(`${owner}: the second argument is no object: write { input: 'Hello', model: scriptedModel([say('Hi')]) }`);
  const all = name === 'durableTest' && kind === 'longhaul.program' ? OF_DURABLE_PROGRAMS : known;
  requireKnown(owner, options as TestOptions, all as OptionTable<TestOptions>);
  checkShapes(owner, options as TestOptions & ProgramTestOptions);
}

/** Returns which function tests what was given, if there is one. */
function otherTest(kind: unknown): string {
  if (kind === 'longhaul.program') return '. A program is tested by testProgram';
  return kind === 'longhaul.agent' ? '. An agent is tested by testAgent' : '';
}

function checkShapes(
  owner: string,
  { agents = [], meanwhile = [], faults = [], anchors = [], decide }: TestOptions & ProgramTestOptions,
): void {
  requireList(`${owner}: "agents"`, agents, 'agents: [billing], of what defineAgent returned');
  requireList(`${owner}: "meanwhile"`, meanwhile, 'such as meanwhile: [cancelRun()]');
  requireList(`${owner}: "faults"`, faults, "such as faults: [delay('search', '200ms')]");
  requireList(`${owner}: "anchors"`, anchors, 'anchors: [polite], of what defineAnchor returned');
  if (decide !== undefined && typeof decide !== 'function')
    throw new UsageError(`${owner}: "decide" is no function: write decide: () => approve()`);
}
