import { activityInfo, getClient } from '@temporalio/activity';
import type { ArchiveBatch, ArchiveSink } from '../../src/stores/archive/archive-sink.ts';
import { readExecution, type ReadExecution } from '../../src/history/read-run.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { Event } from '../../src/core/domain/record/event.ts';
import { recordsInOrder } from '../../src/core/domain/record/run-record.ts';
import type { StepResult } from '../../src/core/domain/record/step.ts';
import { identityOf, type Principal } from '../../src/core/domain/run/principal.ts';
import { type ArchiveEventsInput, type ContextPage, QUERIES, type StepsPage } from '../../src/core/protocol.ts';
import { boundedAttempt } from '../attempts/bounded-attempt.ts';
import { queryRun, runIdOf } from '../run-queries/access.ts';
import { dataFor } from '../run-queries/data.ts';
import type { ActivityRuntime } from '../runtime.ts';

/**
 * Creates the activity that hands the record of an execution to the worker's archive. A failed attempt is retried for
 * `archiveTimeout`: the run waits for it.
 */
export function archiveEventsActivity(runtime: ActivityRuntime): (input: ArchiveEventsInput) => Promise<void> {
  const { archive, archiveTimeoutMs } = runtime;
  return (input) =>
    boundedAttempt(runtime, { totalMs: archiveTimeoutMs, code: 'archive_failed' }, async () => {
      if (archive !== undefined) return archiveExecution(runtime, archive, input);
      throw new LonghaulError('archive_failed', 'This worker has no archive, but the run was started by a worker that has one');
    });
}

async function archiveExecution(runtime: ActivityRuntime, archive: ArchiveSink, input: ArchiveEventsInput): Promise<void> {
  const { workflowNamespace } = activityInfo();
  const { principal } = await dataFor(runtime, { ...input, principal: true });
  const runId = runIdOf(input);
  const history = readOnce(input);
  const events = await readEvents(input, history);
  const { firstIndex, steps } = await readSteps(input, history);
  const records = [...recordsInOrder({ firstOffset: input.from, events, firstStep: firstIndex, steps })];
  const run = { namespace: workflowNamespace ?? '', runId };
  await archive.append({ run, ...actingFor(principal), from: input.from, through: input.through, records });
}

/** Returns the tenant and the user of a run, which never change. Claims are no part of it. */
function actingFor({ tenant, user }: Principal = {}): Pick<ArchiveBatch, 'principal'> {
  return tenant === undefined && user === undefined ? {} : { principal: identityOf({ tenant, user }) };
}

/** Reads the execution from its own history, which has the events and steps that are too large for the answer of a query. */
type History = () => Promise<ReadExecution>;

function readOnce({ run }: ArchiveEventsInput): History {
  let reading: Promise<ReadExecution | undefined> | undefined;
  return async () => {
    const { workflowExecution } = activityInfo();
    if (run === undefined) reading ??= readExecution(getClient(), workflowExecution?.workflowId ?? '', workflowExecution?.runId ?? '');
    const read = await reading;
    if (read !== undefined) return read;
    throw new LonghaulError('payload_too_large', `Run "${run}" inside a workflow has a step that is too large to be archived`);
  };
}

async function readEvents(input: ArchiveEventsInput, history: History): Promise<Event[]> {
  const events: Event[] = [];
  for (let offset = input.from; offset < input.through; offset = input.from + events.length) {
    const page = await queryRun<ContextPage>(input, QUERIES.context, { from: offset });
    events.push(...(page.events.length > 0 ? page.events : [await largeEvent(offset, page, history)]));
  }
  return events.slice(0, input.through - input.from);
}

async function largeEvent(offset: number, { nextId }: ContextPage, history: History): Promise<Event> {
  const { firstOffset, events } = await history();
  const event = events[offset - firstOffset];
  if (event !== undefined) return nextId === undefined ? event : { ...event, id: nextId };
  throw new LonghaulError('archive_failed', `Event ${offset} of the run cannot be read`);
}

async function readSteps(input: ArchiveEventsInput, history: History): Promise<{ firstIndex: number; steps: StepResult[] }> {
  const first = await queryRun<StepsPage>(input, QUERIES.steps, { from: 0 });
  const { firstIndex, total } = first;
  const steps = [...first.steps];
  while (firstIndex + steps.length < total) {
    const page = await queryRun<StepsPage>(input, QUERIES.steps, { from: firstIndex + steps.length });
    const large = page.steps.length > 0 ? undefined : (await history()).steps[steps.length];
    if (page.steps.length === 0 && large === undefined) {
      throw new LonghaulError('archive_failed', `Step ${firstIndex + steps.length + 1} of the run cannot be read`);
    }
    steps.push(...(large === undefined ? page.steps : [large]));
  }
  return { firstIndex, steps };
}
