import { z } from 'zod';
import type { ProgramOptions } from '../../client/start/start-program.ts';
import type { AnyProgram } from '../../define/program/program-definition.ts';
import { requestDigest, runIdOfKey } from '../requests/idempotency-key.ts';
import { requireScope, requireStartable } from '../routing/check-access.ts';
import { defineRoute, type Route } from '../routing/route.ts';
import { component } from '../schemas/component.ts';
import { jsonObject } from '../schemas/json.ts';
import { runStarted, startProgramBody } from '../schemas/start-requests.ts';
import { startOnce } from '../starting/start-once.ts';
import { memoWith, requireOwnFields, searchAttributePairs } from '../starting/start-options.ts';
import { START_PROBLEMS, started, startReply } from '../starting/start-reply.ts';
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
    description: 'Its run is at `/v1/runs`, as that of an agent.',
    scope: 'runs:write',
    body: startProgramBody,
    idempotencyKey: 'The same key with the same body is the same run: 201 at first, 200 for each repetition. With another body: 422.',
    responses: started(runStarted),
    problems: [...START_PROBLEMS, 'invalid_program'],
  },
  async ({ body, caller, client, idempotencyKey, settings }) => {
    const { program, runId: given, ifExists = 'fail', memo, searchAttributes, ...rest } = body;
    requireStartable(caller, typeof program === 'string' ? program : program.name);
    // A document calls any tool that the workers have.
    if (typeof program !== 'string') requireScope(caller, 'admin');
    requireOwnFields(caller, body);
    const runId = given ?? (idempotencyKey === undefined ? undefined : runIdOfKey(caller.principal, idempotencyKey));
    const digest = idempotencyKey === undefined ? undefined : requestDigest(ID, idempotencyKey, body);
    const options = {
      ...rest,
      ...memoWith(memo, digest),
      ...searchAttributePairs(searchAttributes),
      ...(runId === undefined ? {} : { runId }),
    } as ProgramOptions;
    const startAs = async (choice: 'fail' | 'return' | 'restartFailed'): Promise<string> => {
      const { runId: id } = await client.startProgram(program, { ...options, ifExists: choice });
      return id;
    };
    const again = ifExists === 'fail' ? (digest === undefined ? undefined : 'return') : ifExists;
    const outcome = await startOnce({
      client: client.temporal,
      runId,
      isOfKey: given === undefined,
      digest,
      start: () => startAs('fail'),
      existing: again === undefined ? undefined : () => startAs(again),
    });
    return startReply(outcome, `${settings.prefix}/v1/runs/`);
  },
);

function entryOf({ name, document: { input, units } }: AnyProgram): z.input<typeof programEntry> {
  return { name, units: units.map((unit) => unit.name), ...(input === undefined ? {} : { input }) };
}

/** The routes of programs. */
export const PROGRAM_ROUTES: readonly Route[] = [list, start];
