import { defineQuery, setHandler, workflowInfo } from '@temporalio/workflow';
import { answerQuery, QUERY_KINDS } from '../../src/core/queries/queries.ts';
import { QUERIES, scopedName } from '../../src/core/protocol.ts';
import type { LiveRun } from './live-run.ts';

/** Registers the queries of a run. Must be called before the first await: a query may arrive with the first task. */
export function registerQueries(run: LiveRun): void {
  for (const name of Object.keys(QUERY_KINDS) as (keyof typeof QUERIES)[]) {
    const query = defineQuery<unknown, [unknown?]>(scopedName(QUERIES[name], run.key));
    setHandler(query, (question) => ofExecution(name, answerQuery(run, name, question)), { description: QUERY_KINDS[name].description });
  }
}

/** Adds the execution to the record: a reader has to know if `retry` has put another one in its place. */
function ofExecution(name: keyof typeof QUERIES, answer: unknown): unknown {
  return name === 'record' ? { ...(answer as object), executionId: workflowInfo().runId } : answer;
}
