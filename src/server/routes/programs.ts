import { z } from 'zod';
import type { AnyProgram } from '../../define/program/program-definition.ts';
import { requireStart } from '../auth/access/reach.ts';
import { requireScope } from '../auth/access/scopes.ts';
import { defineRoute, type Route } from '../routing/route.ts';
import { component } from '../schemas/component.ts';
import { jsonObject } from '../schemas/json.ts';
import { runStarted, startProgramBody } from '../schemas/start-requests.ts';
import { noticeOfUnseen } from '../starting/known-agent.ts';
import { START_PROBLEMS, started } from '../starting/start-reply.ts';
import { startRequested } from '../starting/start-requested.ts';
import { ok } from './route-parts.ts';

const ID = 'startProgram';

const programEntry = component(
  'ProgramEntry',
  z.object({ name: z.string(), units: z.array(z.string()), input: jsonObject.exactOptional().describe('The JSON Schema of the input.') }),
);

const list = defineRoute(
  {
    method: 'GET',
    path: '/v1/programs',
    id: 'listPrograms',
    tag: 'programs',
    summary: 'List the programs that the service knows and the caller may start',
    scope: 'runs:read',
    responses: ok(component('Programs', z.object({ programs: z.array(programEntry) })), 'The programs.'),
    problems: [],
  },
  async ({ caller: { agents }, settings }) => {
    const programs = settings.programs.filter(({ name }) => agents === undefined || agents.includes(name));
    return { status: 200, body: { programs: programs.map(entryOf) } };
  },
);

const start = defineRoute(
  {
    method: 'POST',
    path: '/v1/programs',
    id: ID,
    tag: 'programs',
    summary: 'Start a program',
    description:
      'Its run is read, followed, decided and cancelled at `/v1/runs/{runId}`, as that of an agent: the header `Location` has the path. ' +
      '`GET /v1/runs/{runId}/trace` shows its units and steps.',
    scope: 'runs:write',
    counts: 'starts',
    body: startProgramBody,
    idempotencyKey: 'The same key with the same body is the same run: 201 at first, 200 for each repetition. With another body: 422.',
    responses: started(runStarted),
    problems: [...START_PROBLEMS, 'invalid_program'],
  },
  async (request) => {
    const { body, caller, client, settings } = request;
    const { program } = body;
    requireStart(caller, typeof program === 'string' ? program : undefined);
    // A document calls any tool that the workers have.
    if (typeof program !== 'string') requireScope(caller, 'admin');
    const isListed = settings.programs.some(({ name }) => name === program);
    return startRequested(
      request,
      ID,
      ({ program: _, ...options }) => client.startProgram(program, options),
      (runId) =>
        noticeOfUnseen(
          client.temporal,
          caller,
          typeof program === 'string' && !isListed ? { kind: 'program', name: program, runId } : undefined,
        ),
    );
  },
);

function entryOf({ name, document: { input, units } }: AnyProgram): z.input<typeof programEntry> {
  return { name, units: units.map((unit) => unit.name), ...(input === undefined ? {} : { input }) };
}

/** The routes of programs. */
export const PROGRAM_ROUTES: readonly Route[] = [list, start];
