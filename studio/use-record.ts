import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { follow, Refused } from './api.ts';
import type { StreamItem } from './api-types.ts';
import { RunRecord } from './record.ts';
import { TEXTS } from './texts.ts';

/** A record that grows while the part that uses it is shown. `version` changes with it. */
export interface FollowedRecord {
  record: RunRecord;
  version: number;
  error: unknown;
}

/** The pause in which what a stream brings is put together before it is drawn, in milliseconds. */
const TOGETHER = 30;

/** Follows the record of a run or a session. Undefined until there is one. */
export function useRecord(runId: string | undefined): FollowedRecord {
  const record = useRef(new RunRecord());
  const [version, setVersion] = useState(0);
  const [error, setError] = useState<unknown>();
  // It is on its way before the part is painted.
  useLayoutEffect(() => {
    // What a stream before this one still brings is not of this run.
    const own = (record.current = new RunRecord());
    setError(undefined);
    setVersion((before) => before + 1);
    if (runId === undefined) return undefined;
    const gone = new AbortController();
    let soon: ReturnType<typeof setTimeout> | undefined;
    const draw = (): void => {
      soon ??= setTimeout(() => {
        soon = undefined;
        setVersion((before) => before + 1);
      }, TOGETHER);
    };
    const take = (items: StreamItem[]): void => {
      own.take(items);
      draw();
    };
    follow('GET /v1/runs/{runId}/stream', { params: { runId }, signal: gone.signal }, take).catch((failure: unknown) => {
      if (gone.signal.aborted) return;
      own.outside = endedFromOutside(failure);
      // Its stream is over, and says nothing of a status any more.
      if (own.outside === undefined) setError(failure);
      else own.status = 'error';
      draw();
    });
    return () => {
      gone.abort();
      clearTimeout(soon);
    };
  }, [runId]);
  return { record: record.current, version, error };
}

/** Returns how the server has ended a run, if that is why its record has no end: `terminated`, `timed out`. */
function endedFromOutside(error: unknown): RunRecord['outside'] {
  if (!(error instanceof Refused)) return undefined;
  const status = TEXTS.outside[error.problem.code];
  return status === undefined ? undefined : { status, text: error.message };
}
