import { canonicalJson, type JsonValue } from '../../../src/core/domain/json.ts';
import type { Decide, TestedRecord, TestedRun, Waiting } from '../../../src/testing/index.ts';

/** The part of a tested run, of an agent or a program, that both kits must give alike. */
type ObservedRun = Omit<TestedRecord, 'steps'> & Pick<TestedRun<unknown>, 'trace'> & { result: { runId: string } };

/** Returns the options of a test that also notes every pending decision, as the test is asked about it. */
export function asking<Options extends { decide?: Decide }>(options: Options): { options: Options; asked: Waiting[] } {
  const asked: Waiting[] = [];
  const { decide } = options;
  if (decide === undefined) return { options, asked };
  const noting: Decide = (waiting) => {
    asked.push(structuredClone(waiting));
    return decide(waiting);
  };
  return { options: { ...options, decide: noting }, asked };
}

/** Fields that differ between two equal runs. */
const OWN_FIELDS = /^(executionId|digest|timestamp|duration\w*|.*Time|.*_time|.*At|at)$/;

/** Ids of events, of runs, and the random ends of the ids of children. */
const IDS = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64}|\.[0-9a-f]{8}(?=[/"\\ .])/g;

/** The ids of events of programs, which are short. */
const SHORT_ID = /^[\w-]{8}$/;

/** Returns everything that a test sees of a run except ids and times: result, record, trace, requests, and what it was asked. */
export function observed({ result, events, deps, state, trace, requests }: ObservedRun, asked: readonly Waiting[]): unknown {
  return bare(result.runId, { result, events, deps, state, trace, requests, asked });
}

/** As `observed`, for a program, whose steps may run in parallel: their events, requests and decisions have no order, and the trace has none of its own. */
export function observedProgram({ result, events, deps, state, requests }: ObservedRun, asked: readonly Waiting[]): unknown {
  const sorted = (values: readonly object[]): string[] => values.map((value) => canonicalJson(bare(result.runId, value))).toSorted();
  const seen = bare(result.runId, { result, deps, state });
  return { seen, events: sorted(events), requests: sorted(requests), asked: sorted(asked) };
}

function bare(runId: string, seen: object): JsonValue {
  const text = JSON.stringify(seen).replaceAll(runId, 'the run').replaceAll(IDS, 'an id');
  return JSON.parse(text, function (this: Record<string, unknown>, key: string, value: unknown) {
    if (key === 'id' && typeof value === 'string' && SHORT_ID.test(value)) return 'an id';
    // The place of a step in a program is no time.
    const isPlace = key === 'at' && typeof value === 'string' && !Number.isFinite(Date.parse(value));
    return OWN_FIELDS.test(key) && !isPlace ? undefined : value;
  }) as JsonValue;
}
