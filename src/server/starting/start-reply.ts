import type { z } from 'zod';
import type { ErrorCode } from '../../core/domain/errors.ts';
import type { Reply, ResponseDefinition } from '../routing/route.ts';
import type { StartOutcome } from './start-once.ts';

/** The refusals of a start. */
export const START_PROBLEMS: readonly ErrorCode[] = [
  'run_exists',
  'run_not_found',
  'run_open',
  'invalid_input',
  'unknown_agent',
  'agent_not_found',
  'key_reused',
  'payload_too_large',
  'history_removed',
];

const LOCATION = { Location: 'The path of what was started.' };

/** The responses of a start: that of the first request, and that of each repetition. */
export function started(schema: z.ZodType): Readonly<Record<number, ResponseDefinition>> {
  return {
    200: { description: 'It had been started before.', schema, headers: LOCATION },
    201: { description: 'It was started.', schema, headers: LOCATION },
  };
}

/** Answers a start. `path` is that of the collection, with a slash at its end. */
export function startReply({ runId, repeated }: StartOutcome, path: string, notice?: string): Reply {
  const body = { runId, repeated, ...(notice === undefined ? {} : { notice }) };
  return { status: repeated ? 200 : 201, headers: { location: `${path}${encodeURIComponent(runId)}` }, body };
}
