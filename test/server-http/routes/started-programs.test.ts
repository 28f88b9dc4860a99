import { expect, test } from 'vitest';
import { z } from 'zod';
import { LonghaulClient } from '../../../src/client/index.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { ask, defineProgram, tool, unit } from '../../../src/define/program/index.ts';
import type { Caller, HandlerOptions } from '../../../src/server/index.ts';
import { checkedHandler } from '../checked-handler.ts';
import { answer } from '../requests.ts';

const search = defineTool({ name: 'search', description: 'Searches', parameters: z.object({ query: z.string() }), execute: () => 'found' });
const triage = defineProgram({
  name: 'triage',
  model: 'p/m',
  input: z.object({ ticket: z.string() }),
  units: [unit('u', {}, [ask('Sort', 'Sort {{input.ticket}}.')])],
});

/** The answer to a start, by a service whose server accepts every start, and the inputs of the started workflows. */
async function started(
  body: object,
  options: HandlerOptions = {},
): Promise<{ status: number; code?: string; detail?: string; starts: unknown[] }> {
  const starts: unknown[] = [];
  const temporal = {
    options: { namespace: 'default' },
    workflow: {
      start: async (_: string, { args }: { args: unknown[] }): Promise<object> => {
        starts.push(args[0]);
        return { workflowId: 'r', firstExecutionRunId: 'e' };
      },
      count: async () => ({ count: 1 }),
    },
  };
  const handler = await checkedHandler(new LonghaulClient(temporal as never, { taskQueue: 'q' }), options);
  const { status, body: said } = await answer(handler, 'POST', '/v1/programs', { body });
  return { ...said, status, starts };
}

test('a program that the service does not list is refused, with the nearest name that the caller may start', async () => {
  const options = { programs: [triage] };
  const input = { ticket: 'No light' };
  expect(await started({ program: 'traige', input }, options)).toMatchObject({
    status: 404,
    code: 'program_not_found',
    detail: 'The service has no program "traige". Did you mean "triage"?',
    starts: [],
  });
  const caller: Caller = { id: 'c', principal: 'all', scopes: ['runs:write'], agents: ['traige'] };
  expect((await started({ program: 'traige', input }, { ...options, authenticate: () => caller })).detail).toBe(
    'The service has no program "traige"',
  );
});

test('an input that does not fit the program is refused before anything starts', async () => {
  const refused = await started({ program: 'triage', input: { ticket: 5 } }, { programs: [triage] });
  expect(refused).toMatchObject({ status: 422, code: 'invalid_input', starts: [] });
  expect(refused.detail).toContain('ticket');
  expect(await started({ program: 'triage', input: { ticket: 'No light' } }, { programs: [triage] })).toMatchObject({
    status: 201,
    starts: [{ program: 'triage', input: { ticket: 'No light' } }],
  });
});

test('a service that lists no programs starts any, by name', async () => {
  expect(await started({ program: 'other', input: {} })).toMatchObject({ status: 201, starts: [{ program: 'other' }] });
});

test.each([
  ['a tool', { tool: { name: 'serch', arguments: { query: 'x' } } }, '"serch"'],
  ['a tool with other arguments', { tool: { name: 'search', arguments: { query: 5 } } }, 'query'],
  ['an agent', { agent: { name: 'clrek', input: 'Go' } }, '"clrek"'],
  ['a program', { program: { name: 'traige', input: { ticket: 'x' } } }, '"traige"'],
])('a document that names %s which the service lacks is refused', async (_, step, problem) => {
  const document = { version: 1, name: 'own', model: 'p/m', units: [{ name: 'u', steps: [{ name: 'S', ...step }] }] };
  const options = { agents: [defineAgent({ name: 'clerk', model: 'p/m' })], programs: [triage], tools: [search] };
  const refused = await started({ program: document }, options);
  expect(refused).toMatchObject({ status: 422, code: 'invalid_program', starts: [] });
  expect(refused.detail).toContain(problem);
  // A service that lists nothing leaves the check to the worker.
  expect(await started({ program: document })).toMatchObject({ status: 201, starts: [{}] });
});

test('a document may call the tools of the listed programs', async () => {
  const searching = defineProgram({ name: 'searching', units: [unit('u', {}, [tool('Find', search, { query: 'x' })])] });
  const document = { ...searching.toJSON(), name: 'own' };
  expect((await started({ program: document }, { programs: [searching], tools: [] })).status).toBe(201);
});
