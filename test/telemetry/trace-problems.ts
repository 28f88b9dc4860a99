import type { ReceivedSpan } from './otlp-receiver.ts';

/**
 * Returns the problems of the spans of one or several traces: each has one root, and no span lacks its parent or has two contents.
 * `callers`: the spans of others that runs are below.
 */
export function traceProblems(spans: readonly ReceivedSpan[], callers: ReadonlySet<string> = new Set()): string[] {
  const problems: string[] = [];
  const traces = Map.groupBy(spans, ({ traceId }) => traceId);
  for (const [traceId, all] of traces) {
    const byId = Map.groupBy(all, ({ spanId }) => spanId);
    for (const [spanId, same] of byId) {
      const contents = new Set(same.map(contentOf));
      if (contents.size > 1) problems.push(`span ${spanId} has ${contents.size} contents:`, ...[...contents].map((one) => `  ${one}`));
    }
    const isRoot = ({ parentSpanId }: ReceivedSpan): boolean => parentSpanId === undefined || callers.has(parentSpanId);
    const roots = [...byId.values()].flatMap(([span]) => (span !== undefined && isRoot(span) ? [span.name] : []));
    if (roots.length !== 1) problems.push(`trace ${traceId} has ${roots.length} roots: ${roots.join(', ')}`);
    for (const [span] of byId.values()) {
      if (span === undefined || isRoot(span) || byId.has(span.parentSpanId ?? '')) continue;
      problems.push(`span "${span.name}" of run "${runOf(span)}" has no parent`);
    }
  }
  return traces.size === 0 ? ['there are no spans'] : problems;
}

function contentOf({ resource: _, attributes: __, values, ...span }: ReceivedSpan): string {
  const sorted = Object.entries(values).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify({
    ...Object.fromEntries(Object.entries(span).toSorted(([one], [other]) => (one < other ? -1 : 1))),
    values: sorted,
  });
}

/** The tokens that a run has used according to the spans of its model calls, and according to its result. */
interface CountedTokens {
  /** Of the attempts that ended as the run knows: of each call, the last attempt. */
  spans: number;
  /** Of all attempts. */
  allSpans: number;
  result: number;
}

/**
 * Returns the runs whose model calls have other tokens than their results. `wasKilled`: processes have died, which take with them what they have
 * not sent yet, and whose answers a run may never have got: its model calls then have at most the tokens of the result.
 */
export function tokenProblems(spans: readonly ReceivedSpan[], { wasKilled }: { wasKilled: boolean }): string[] {
  const unique = [...new Map(spans.map((span) => [`${span.traceId}/${span.spanId}`, span])).values()];
  const counted = tokensByRun(unique);
  return [...counted].flatMap(([runId, tokens]) => {
    const isRight = wasKilled ? tokens.spans <= tokens.result : tokens.allSpans === tokens.result;
    return isRight ? [] : [`the model calls of run "${runId}" have ${tokens.allSpans} tokens, and its result ${tokens.result}`];
  });
}

function tokensByRun(spans: readonly ReceivedSpan[]): Map<string, CountedTokens> {
  const byRun = Map.groupBy(spans, runOf);
  return new Map(
    [...byRun.keys()].map((runId) => {
      const own = byRun.get(runId) ?? [];
      const ends = own.filter(isEnd);
      // The result of a program includes all its descendants.
      const isWhole = ends.some(({ name }) => name.startsWith('invoke_workflow'));
      const counted = isWhole ? spans.filter((span) => runOf(span) === runId || runOf(span).startsWith(`${runId}/`)) : own;
      const chats = counted.filter(({ name }) => name.startsWith('chat '));
      return [runId, { spans: sumOf(lastAttempts(chats)), allSpans: sumOf(chats), result: sumOf(ends) }];
    }),
  );
}

/** The end of a run. A session of callers has no end, but the ends of its turns. A session that a run keeps has both. */
function isEnd({ name, values, parentSpanId }: ReceivedSpan, _: number, own: readonly ReceivedSpan[]): boolean {
  if (!/^invoke_(?:agent|workflow) /.test(name)) return false;
  return values['longhaul.turn'] === undefined || !own.some(({ spanId }) => spanId === parentSpanId);
}

/** Returns the last attempt of each step's model call. Other calls have no number that would distinguish attempts. */
function lastAttempts(chats: readonly ReceivedSpan[]): ReceivedSpan[] {
  const steps = Map.groupBy(
    chats.filter(({ values }) => values['longhaul.step'] !== undefined),
    (span) => `${runOf(span)} ${String(span.values['longhaul.step'])}`,
  );
  return [...steps.values()].flatMap((attempts) => {
    const last = Math.max(...attempts.map(attemptOf));
    return attempts.filter((span) => attemptOf(span) === last);
  });
}

function attemptOf({ values }: ReceivedSpan): number {
  return Number(values['longhaul.attempt'] ?? 1);
}

function runOf({ values }: ReceivedSpan): string {
  return String(values['longhaul.run.id']);
}

function sumOf(spans: readonly ReceivedSpan[]): number {
  const tokens = ['gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens'];
  return spans.reduce((total, { values }) => total + tokens.reduce((sum, name) => sum + Number(values[name] ?? 0), 0), 0);
}
