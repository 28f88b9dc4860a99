import { describe, expect, test } from 'vitest';
import type { KnownSearchAttributes } from '../../activities/runtime.ts';
import { ensureSearchAttributes, type SearchAttributeAccess } from '../../worker/plugin.ts';

const KEYWORD = 2;
const DATETIME = 6;
const KEYWORD_LIST = 7;
const TEXT = 1;
const ALL = {
  LonghaulAgent: KEYWORD,
  LonghaulStatus: KEYWORD,
  LonghaulWaitingFor: KEYWORD_LIST,
  LonghaulTag: KEYWORD_LIST,
  LonghaulSession: KEYWORD,
  LonghaulTenant: KEYWORD,
  LonghaulUser: KEYWORD,
  LonghaulStarted: DATETIME,
};

interface Namespace {
  attributes: Record<string, number>;
  /** Types that the server has no room for. */
  full?: number[];
  /** The operator service refuses workers. */
  closed?: boolean;
}

/** A server with one namespace, with only the methods about search attributes. */
function server({ attributes, full = [], closed = false }: Namespace): SearchAttributeAccess {
  const refuse = (code: number, message: string): never => {
    throw Object.assign(new Error(message), { code, details: message, metadata: {} });
  };
  const operatorService = {
    listSearchAttributes: async () => {
      if (closed) refuse(7, 'PERMISSION_DENIED');
      return { customAttributes: { ...attributes } };
    },
    addSearchAttributes: async ({ searchAttributes = {} }: { searchAttributes?: Record<string, number> | null }) => {
      for (const [name, type] of Object.entries(searchAttributes ?? {})) {
        if (full.includes(type)) refuse(9, `no room for type ${type}`);
        attributes[name] ??= type;
      }
      return {};
    },
  };
  const workflowService = {
    countWorkflowExecutions: async ({ query }: { query?: string | null }) => {
      const [name = '', operator = '', value = ''] = (query ?? '').replaceAll("'", '').split(' ');
      const type = attributes[name];
      const isTime = !Number.isNaN(Date.parse(value));
      const takes =
        type === KEYWORD ? ['STARTS_WITH', 'IN', '='] : type === KEYWORD_LIST ? ['IN'] : type === DATETIME && isTime ? ['='] : [];
      return takes.includes(operator) ? { count: 0 } : refuse(3, `${operator} is not for ${name}`);
    },
  };
  return { operatorService, workflowService } as unknown as SearchAttributeAccess;
}

async function ensured(namespace: Namespace): Promise<{ has: KnownSearchAttributes; warnings: string[] }> {
  const warnings: string[] = [];
  const has = await ensureSearchAttributes(server(namespace), 'team', (line) => warnings.push(line));
  return { has, warnings };
}

test('a namespace without search attributes gets all of them, each with its type', async () => {
  const attributes = {};
  expect(await ensured({ attributes })).toEqual({
    has: { agentAndStatus: true, waitingFor: true, tag: true, started: true },
    warnings: [],
  });
  expect(attributes).toEqual(ALL);
});

test('a namespace with those for agent and status, and no room for lists, works with these two', async () => {
  const { LonghaulWaitingFor: _, LonghaulTag: __, ...two } = ALL;
  const { has, warnings } = await ensured({ attributes: two, full: [KEYWORD_LIST] });
  expect(has).toEqual({ agentAndStatus: true, waitingFor: false, tag: false, started: true });
  expect(warnings).toEqual([
    'Runs in namespace "team" cannot be found by what they wait for or tag: search attributes are missing (no room for type 7). ' +
      'An administrator can add them: temporal operator search-attribute create --namespace team --name LonghaulWaitingFor --type KeywordList --name LonghaulTag --type KeywordList',
  ]);
});

test('a namespace where one attribute has another type is reported, and gets the others', async () => {
  const { has, warnings } = await ensured({ attributes: { LonghaulStatus: TEXT } });
  expect(has).toEqual({ agentAndStatus: false, waitingFor: true, tag: true, started: true });
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain('cannot be found by agent or status');
  expect(warnings[0]).toMatch(/--namespace team --name LonghaulStatus --type Keyword$/);
});

describe('if the operator service refuses workers, each attribute is tried by a search', () => {
  test.each([
    [ALL, { agentAndStatus: true, waitingFor: true, tag: true, started: true }],
    [
      { ...ALL, LonghaulStarted: KEYWORD },
      { agentAndStatus: true, waitingFor: true, tag: true, started: false },
    ],
    [
      { LonghaulAgent: KEYWORD, LonghaulStatus: KEYWORD },
      { agentAndStatus: true, waitingFor: false, tag: false, started: false },
    ],
    [
      { ...ALL, LonghaulWaitingFor: KEYWORD },
      { agentAndStatus: true, waitingFor: false, tag: true, started: true },
    ],
    [
      { ...ALL, LonghaulWaitingFor: TEXT },
      { agentAndStatus: true, waitingFor: false, tag: true, started: true },
    ],
    [
      { ...ALL, LonghaulAgent: KEYWORD_LIST },
      { agentAndStatus: false, waitingFor: true, tag: true, started: true },
    ],
    [{}, { agentAndStatus: false, waitingFor: false, tag: false, started: false }],
  ])('%j', async (attributes, expected) => {
    const { has, warnings } = await ensured({ attributes, closed: true });
    expect(has).toEqual(expected);
    expect(warnings).toHaveLength(Object.values(expected).every(Boolean) ? 0 : 1);
  });
});
